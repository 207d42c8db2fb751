"""Commands on events, history and lineage."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, TypeVar

from airflow_assets.cli.assets import first, page_size
from airflow_assets.cli.output import Columns, show_rows
from airflow_assets.cli.run import client_of, command
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.events import Replay
from airflow_assets.schemas.queries import EventQuery, HistoryQuery, LineageQuery
from airflow_assets.schemas.query_text import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from airflow_assets.client.base import CatalogClient
    from airflow_assets.schemas.actors import Source

_T = TypeVar("_T")


def _source(source: Source) -> str:
    """Say in one word who wrote: ``task:dag.task``, ``cli:ann``."""
    who = f"{source.dag_id}.{source.task_id}" if source.task_id else source.user
    return f"{source.kind.value}:{who}" if who else source.kind.value


_EVENTS: Columns = {
    "seq": lambda event: event.seq,
    "event_time": lambda event: iso(event.event_time),
    "event": lambda event: event.event.value,
    "asset_id": lambda event: event.asset.id,
    "source": lambda event: _source(event.source),
    "depth": lambda event: event.depth,
    "suppressed": lambda event: event.suppressed,
    "id": lambda event: event.id,
}
_HISTORY: Columns = {
    "seq": lambda change: change.seq,
    "event_time": lambda change: iso(change.event_time),
    "event": lambda change: change.event.value,
    "source": lambda change: _source(change.source),
    "diff": lambda change: change.diff,
}
_LINEAGE: Columns = {
    "created": lambda event: iso(event.created),
    "dag_id": lambda event: event.task.dag_id,
    "task_id": lambda event: event.task.task_id,
    "map_index": lambda event: event.task.map_index,
    "try_number": lambda event: event.task.try_number,
    "run_id": lambda event: event.task.run_id,
    "state": lambda event: event.state.value,
    "inputs": lambda event: [asset.id for asset in event.inputs],
    "outputs": lambda event: [asset.id for asset in event.outputs],
    "warnings": lambda event: event.warnings or None,
    "error": lambda event: f"{event.error.type}: {event.error.message}" if event.error else None,
}
_RUNS: Columns = {
    "dag_id": lambda run: run.dag_id,
    "run_id": lambda run: run.run_id,
    "created": lambda run: run.created,
}


@command
def events_command(args: argparse.Namespace) -> None:
    """List events."""
    query = EventQuery(
        asset_id=args.id,
        asset_type=args.type,
        namespace=args.namespace,
        events=args.event,
        metadata_query=parse(args.where or ""),
        after=args.after,
        newest_first=args.after is None,
        limit=page_size(args.limit),
    )
    client = client_of(args)
    show_rows(_of_asset(client, args.id, first(client.iter_events(query), args.limit)), _EVENTS, args.output)


@command
def replay_command(args: argparse.Namespace) -> None:
    """Start runs for an old event."""
    replay = Replay(event_id=args.event_id, dag_id=args.dag_id, replay_id=args.replay_id or uuid.uuid4().hex)
    result = client_of(args).replay_event(replay)
    show_rows(result.runs, _RUNS, args.output)


def list_lineage(args: argparse.Namespace) -> None:
    """List lineage events."""
    limit = 100 if args.limit is None else args.limit
    query = LineageQuery(
        asset_id=args.asset_id,
        dag_id=args.dag_id,
        run_id=args.run_id,
        task_id=args.task_id,
        limit=page_size(limit),
    )
    client = client_of(args)
    rows = _of_asset(client, args.asset_id, first(client.iter_lineage(query), limit))
    show_rows(rows, _LINEAGE, args.output)


@command
def history_command(args: argparse.Namespace) -> None:
    """List the changes of an asset."""
    query = HistoryQuery(asset_id=args.asset_id, limit=page_size(args.limit))
    client = client_of(args)
    rows = _of_asset(client, args.asset_id, first(client.iter_history(query), args.limit))
    show_rows(rows, _HISTORY, args.output)


def _of_asset(client: CatalogClient, asset_id: str | None, rows: Iterator[_T]) -> Iterator[_T]:
    """Pass rows about an asset on; without any, the asset must at least exist (``get`` says the same).

    Raises:
        AssetNotFound: there is neither a row nor such an asset, present or deleted.
    """
    row = None
    for row in rows:
        yield row
    if row is None and asset_id is not None:
        client.get_asset(asset_id, include_deleted=True)
