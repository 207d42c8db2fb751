"""The parts of Airflow's task runner that the recorder leans on, in one place and found by feature."""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.declared import Declared, from_native

if TYPE_CHECKING:
    from collections.abc import Iterator


log = logging.getLogger(__name__)


class Ending(Enum):
    """How the body of a task ended."""

    WELL = "well"
    SKIPPED = "skipped"
    FAILED = "failed"
    PAUSED = "paused"
    """It goes on later, in another process, as the same try."""


def ending_of(error: BaseException) -> Ending:
    """Return how a body ended that raised ``error``: Airflow uses exceptions for good ends too."""
    from airflow.sdk import exceptions

    def is_a(*names: str) -> bool:
        kinds = tuple(kind for name in names if (kind := getattr(exceptions, name, None)) is not None)
        return isinstance(error, kinds)

    if is_a("TaskDeferred", "TaskAwaitingInput", "AirflowRescheduleException"):
        return Ending.PAUSED
    if is_a("DagRunTriggerException"):
        waits = getattr(error, "wait_for_completion", False) and getattr(error, "deferrable", False)
        return Ending.PAUSED if waits else Ending.WELL
    if is_a("DownstreamTasksSkipped"):
        return Ending.WELL
    return Ending.SKIPPED if is_a("AirflowSkipException") else Ending.FAILED


def retries(ti: Any, error: BaseException | None) -> bool:
    """Tell whether Airflow will run a failing try again (its own retry policy may decide otherwise)."""
    from airflow.sdk import exceptions

    final = (
        exceptions.AirflowFailException,
        exceptions.AirflowSensorTimeout,
        exceptions.AirflowTaskTerminated,
    )
    if isinstance(error, final):
        return False
    from_server = getattr(ti, "_ti_context_from_server", None)
    should_retry = getattr(from_server, "should_retry", None)
    return bool(ti.try_number <= ti.max_tries if should_retry is None else should_retry)


def count_problem(ti: Any, behavior: str) -> None:
    """Count one problem in Airflow's metric ``airflow_assets.record_problems``."""
    try:
        from airflow.sdk.observability import stats

        tags = {"dag_id": ti.dag_id, "task_id": ti.task_id, "behavior": behavior}
        stats.incr("airflow_assets.record_problems", tags=tags)
    except Exception:
        log.debug("The problem was not counted.", exc_info=True)


def referred(ref: Any) -> Declared | None:
    """Return the asset that ``Asset.ref(...)`` means; None if Airflow does not know it.

    Only its identity is returned: what a reference names was described where it was defined.
    """
    from airflow.sdk.execution_time import comms

    uri = getattr(ref, "uri", None)
    answer = _ask(comms.GetAssetByUri(uri=uri) if uri else comms.GetAssetByName(name=ref.name))
    if not hasattr(answer, "name"):
        return None
    return _identity(answer)


def aliased(alias_name: str) -> Iterator[Declared]:
    """Return the assets that an alias stands for so far (nothing on an Airflow that cannot tell)."""
    from airflow.sdk.execution_time import comms

    message = getattr(comms, "GetAssetsByAlias", None)
    if message is None:
        return
    for asset in getattr(_ask(message(alias_name=alias_name)), "assets", None) or ():
        yield _identity(asset)


def _identity(asset: Any) -> Declared:
    whole = from_native(asset.name, asset.uri, asset.group or "asset", asset.extra)
    return Declared(id=whole.id, type=whole.type, namespace=whole.namespace)


def _ask(message: Any) -> Any:
    from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS

    return SUPERVISOR_COMMS.send(message)


def alias_outlets(outlet_events: Any) -> Iterator[Declared]:
    """Return the assets that the body added to alias outlets, with what it said about them."""
    for accessor in getattr(outlet_events, "_dict", {}).values():
        for event in accessor.asset_alias_events:
            key = event.dest_asset_key
            found = from_native(key.name, key.uri, "asset", event.dest_asset_extra)
            yield found.with_metadata(event.extra or {})


def event_extra(outlet_events: Any, outlet: Any) -> dict[str, Any]:
    """Return the ``extra`` that the body gave to the event of one outlet: an asset, or a reference to one."""
    name, uri = getattr(outlet, "name", None), getattr(outlet, "uri", None)
    uri = None if uri == name else uri
    for key, accessor in getattr(outlet_events, "_dict", {}).items():
        key_uri = getattr(key, "uri", None)
        if key_uri is not None and name in (None, key.name) and uri in (None, key_uri):
            return dict(accessor.extra or {})
    return {}
