"""Behind AssetParam: the ids its form offers, and the check of its value in a run."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.schemas.queries import AssetQuery

log = logging.getLogger(__name__)

FRESH_SECONDS = 300.0
MAX_OFFERED = 1_000
PARSE_PATIENCE = 5.0
"""Seconds; Airflow ends the parsing of a file after 30."""


def offered_ids(asset_filter: dict[str, Any]) -> list[str]:
    """Return the sorted ids for a form, read at most every five minutes on this host; [] if none can be read.

    A task does not need them, so in its process nothing is read.
    """
    from airflow_assets.client.identity import in_task_process

    if in_task_process():
        return []
    from airflow_assets.in_time import in_time
    from airflow_assets.kept import Kept

    kept = Kept(["offered_ids", asset_filter])
    ids = kept.get(FRESH_SECONDS)
    if ids is not None:
        return list(ids)

    def read() -> list[str]:
        # Kept by the thread itself: an answer that comes too late for this parse serves the next.
        found = _matching(asset_filter)
        kept.keep(found)
        return found

    try:
        return in_time(read)
    except Exception as error:  # noqa: BLE001 - a Dag file must parse whatever has happened to the catalogue
        log.warning("AssetParam offers what it knew before, since the catalogue cannot be read: %s", error)
        # Asked again in five minutes, not with every parse: the attempts would stall the Dag processor.
        ids = kept.get() or []
        if not isinstance(error, TimeoutError):
            kept.keep(ids)
        return list(ids)


def check_in_run(ids: list[str], asset_filter: dict[str, Any]) -> None:
    """Check in the process of a task that all ids are assets that match; elsewhere do nothing.

    :raises ParamValidationError: names the ids that are not.
    """
    if _runs_a_task():
        _check(tuple(ids), json.dumps(asset_filter, sort_keys=True))


@lru_cache(maxsize=64)
def _check(ids: tuple[str, ...], filter_text: str) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    from airflow_assets.client import get_client
    from airflow_assets.exceptions import InvalidRequest

    asset_filter = json.loads(filter_text)
    try:
        query = _query({**asset_filter, "ids": list(ids)})
    except InvalidRequest as error:
        raise ParamValidationError(f"{error}") from None
    known = {asset.id for asset in get_client().iter_assets(query)}
    missing = [wanted for wanted in query.ids or [] if wanted not in known]
    if missing:
        wanted = ", ".join(f"{name} {value!r}" for name, value in asset_filter.items() if value)
        raise ParamValidationError(
            f"No asset of the catalogue{' with ' + wanted if wanted else ''} has the id "
            f"{', '.join(map(repr, missing))}. Create it, or start the run with another value."
        )


def _runs_a_task() -> bool:
    """Whether params are being resolved for a run, and not for the parsing of a Dag file."""
    import sys

    from airflow_assets.client.identity import in_task_process, parsed_module

    # A task's process parses the Dag file too, and a Dag's constructor resolves the defaults of its params.
    if parsed_module() is not None:
        return False
    if in_task_process():
        return True
    runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
    # dag.test() runs tasks in the process of the test, with a supervisor that is no other process.
    return type(getattr(runner, "SUPERVISOR_COMMS", None)).__name__ == "InProcessSupervisorComms"


def _matching(asset_filter: dict[str, Any]) -> list[str]:
    from airflow_assets.client import get_client

    page = get_client(patience=PARSE_PATIENCE).query_assets(_query(asset_filter))
    return sorted(asset.id for asset in page.items)


def _query(asset_filter: dict[str, Any]) -> AssetQuery:
    from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
    from airflow_assets.schemas.queries import AssetQuery

    metadata = asset_filter.get("metadata") or {}
    return AssetQuery(
        ids=asset_filter.get("ids"),
        types=[asset_filter["type"]] if asset_filter.get("type") else None,
        namespace=asset_filter.get("namespace"),
        metadata_query=[
            MetadataCondition(field=k, type=Operator.EQUAL_TO, value=v) for k, v in metadata.items()
        ],
        limit=MAX_OFFERED,
    )
