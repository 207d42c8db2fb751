"""The command that purges."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_assets.cli.output import show_document
from airflow_assets.cli.run import client_of, command, confirm
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.case import camel
from airflow_assets.schemas.durations import Duration
from airflow_assets.schemas.purge import COUNTS, PURGED, Purge
from airflow_assets.schemas.query_text import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from airflow_assets.client.base import CatalogClient
    from airflow_assets.schemas.purge import PurgeResult

_RECORDS = dict(zip(PURGED, ("assets", "usages", "lineage events", "events"), strict=True))


@command
def purge_command(args: argparse.Namespace) -> None:
    """Purge; ask before, with the counts of a dry run, where somebody can be asked."""
    purge = _purge(args)
    client = client_of(args)
    expected: PurgeResult | None = None
    if args.dry_run:
        expected = _run(client, purge, None)
        _show(expected, args.output)
        return
    if not args.yes and sys.stdin.isatty():
        expected = _run(client, purge.model_copy(update={"dry_run": True}), None)
    confirm(_question(purge, expected), args)
    done = _run(client, purge, expected.purged if expected else None)
    _show(done, args.output)


def _purge(args: argparse.Namespace) -> Purge:
    end = _end(args.end_date)
    return Purge(
        end_date=end,
        namespace=args.namespace,
        asset_id=args.id,
        asset_type=args.type,
        metadata_query=parse(args.where or ""),
        purge_assets=not args.no_assets,
        purge_asset_usages=not args.no_usages,
        purge_asset_lineages=not args.no_lineages,
        purge_asset_events=args.events,
        dry_run=args.dry_run,
    )


def _end(text: str) -> Any:
    """A time, or a duration before now."""
    if not text.startswith("P"):
        return text
    return Duration.parse(text).before(datetime.now(timezone.utc))


def _question(purge: Purge, expected: PurgeResult | None) -> str:
    if expected is None:
        return f"Purge what is as old as {iso(purge.end_date)}?"
    counts = [(getattr(expected, name), noun) for name, noun in _RECORDS.items()]
    what = ", ".join(f"{count:,} {noun}" for count, noun in counts if count is not None)
    return f"Purge {what or 'nothing'}, as old as {iso(purge.end_date)}?"


def _run(client: CatalogClient, purge: Purge, total: int | None) -> PurgeResult:
    done: PurgeResult | None = None
    with _bar("Counting" if purge.dry_run else "Purging", total) as progress:
        for done in client.iter_purge(purge):
            progress(done.purged)
    assert done is not None  # noqa: S101 - a purge has at least one step
    return done


@contextmanager
def _bar(verb: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; elsewhere a line would be noise."""
    if not _is_terminal():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(verb, total=total)
        yield lambda count: progress.update(task, completed=count)


def _is_terminal() -> bool:
    return sys.stderr.isatty()


def _show(done: PurgeResult, output: str) -> None:
    whole = done.to_json()
    whole.pop("nextCursor")
    counts = [(name, whole[camel(name)]) for name in COUNTS]
    show_document(
        whole,
        [[name, "" if count is None else str(count)] for name, count in counts],
        ["count", "records"],
        output,
    )
    for one in done.readers:
        print(f"Kept for the {one.kind} {one.name}, which has read up to {one.seq}.", file=sys.stderr)
    for one in done.idle_readers:
        print(
            f"Nothing is kept for the {one.kind} {one.name}: it has not read on since {iso(one.updated)}.",
            file=sys.stderr,
        )
