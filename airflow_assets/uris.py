"""One name, one URI: Airflow activates one URI a name and fails tasks that use the name with another.

A definition without ``uri=`` must therefore follow whatever URI the name has elsewhere, and two that differ
must be told before a task fails for it. :func:`remember_uri` sees what one process defines; :func:`settle`
asks, when a Dag has been parsed, what the Dags of the other files say.
"""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

from airflow_assets.places import defined_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.sdk import DAG, Asset

log = logging.getLogger(__name__)

FRESH_SECONDS = 60.0
PARSE_PATIENCE = 5.0
"""Seconds; Airflow ends the parsing of a file after 30."""

_known: dict[str, tuple[str, str]] = {}


class AssetUriConflict(UserWarning):
    """Two definitions give one asset name different URIs; Airflow would not run the tasks of one of them."""


def remember_uri(name: str, uri: str) -> None:
    """Note where ``name`` got ``uri``; warn if it got another one elsewhere in this process.

    :param name: the native name.
    :param uri: the URI as Airflow stores it.
    """
    file, line = defined_at()
    known, known_place = _known.setdefault(name, (uri, f"{file}:{line}"))
    if known != uri:
        _warn(name, uri, (file, line), known, known_place)


def settle(dag: DAG) -> None:
    """Give the assets of a parsed Dag that have no URI of their own the one their name has elsewhere.

    Asks the catalogue's API at most once a minute on a host; if it cannot be reached, what it said last
    counts, so that an outage makes no new Dag version. Does nothing in the process of a task, where it would
    be too late.
    """
    assets = list(_ours(dag))
    if not assets:
        return
    from airflow_assets.client.identity import in_task_process

    if in_task_process():
        return
    elsewhere = _elsewhere(sorted({asset.name for asset in assets}))
    for asset in assets:
        if asset.uri == asset.name:
            known = _known.get(asset.name)
            asset.uri = known[0] if known else elsewhere.get(asset.name, (asset.uri, ""))[0]
    for name in {asset.name for asset in assets if asset.name in _known}:
        _compare(name, dag, elsewhere.get(name))


def _compare(name: str, dag: DAG, other: tuple[str, str] | None) -> None:
    uri, place = _known[name]
    if other is None or other[0] == uri or other[1] == dag.fileloc:
        return
    file, _, line = place.rpartition(":")
    _warn(name, uri, (file, int(line)), *other)


def _warn(name: str, uri: str, here: tuple[str, int], other: str, there: str) -> None:
    file, line = here
    warnings.warn_explicit(
        f"The asset {name!r} has the URI {uri!r} at {file}:{line}, but {other!r} at {there}. "
        "Airflow runs only tasks with the one it met first. Give both the same uri=.",
        AssetUriConflict,
        file,
        line,
    )


def _ours(dag: DAG) -> Iterator[Asset]:
    from airflow.sdk import Asset

    from airflow_assets.schemas.declared import EXTRA_KEY, MARKER_GROUPS

    condition = getattr(dag.timetable, "asset_condition", None)
    for item in _all_of(dag, condition):
        if isinstance(item, Asset) and EXTRA_KEY in item.extra and item.group not in MARKER_GROUPS:
            yield item


def _all_of(dag: DAG, condition: Any) -> Iterator[Any]:
    for task in dag.tasks:
        yield from task.inlets or ()
        yield from task.outlets or ()
    pending = [condition]
    while pending:
        item = pending.pop()
        pending.extend(getattr(item, "objects", ()))
        yield item


def _elsewhere(names: list[str]) -> dict[str, tuple[str, str]]:
    """Return the URI that other files give to a name, and where; the newest if there are several."""
    from airflow_assets.in_time import in_time
    from airflow_assets.kept import Kept

    kept, outage = Kept(["native_uris", names]), Kept("native_uris outage")
    found = kept.get(FRESH_SECONDS)
    # One file finds out that the API is down; the time-outs of all would stall the Dag processor.
    if found is None and outage.get(FRESH_SECONDS):
        found = kept.get() or {}
    if found is None:
        try:
            found = in_time(lambda: _asked(names))
        except Exception as error:  # noqa: BLE001 - a Dag file must parse whatever has happened to the catalogue
            log.warning("The URIs of assets are taken as they were known before: %s", error)
            outage.keep(True)
            found = kept.get() or {}
        else:
            kept.keep(found)
    return {name: (uri, place) for name, (uri, place) in found.items()}


def _asked(names: list[str]) -> dict[str, list[str]]:
    from airflow_assets.client import get_client
    from airflow_assets.schemas.native import NativeNames

    found: dict[str, list[str]] = {}
    for start in range(0, len(names), 1000):
        answer = get_client(patience=PARSE_PATIENCE).native_uris(
            NativeNames(names=names[start : start + 1000])
        )
        for item in answer.items:
            if item.uri != item.name:
                found.setdefault(item.name, [item.uri, item.files[0] if item.files else item.dag_ids[0]])
    return found
