"""The event that started the running task's Dag run, read from the task's context."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, TypeVar

EXTRA_KEY = "airflow_assets"
RUN_ID_PREFIX = "asset_event__"
_Default = TypeVar("_Default")


class TriggerAsset(dict[str, Any]):
    """The asset as it was at the moment of the event; members by ``["name"]`` and by ``.name``.

    ``id``, ``type``, ``namespace``, ``displayName``, ``description``, ``metadata``, ``tenantId``,
    ``created``, ``updated``, ``event`` (CREATED, UPDATED, DELETED, USED) and ``eventTime``; also
    ``eventId``, and ``triggerId`` and ``triggerIds`` for a Dag with several triggers: the first that
    matched, and all. Times are ISO 8601 texts in UTC.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"trigger_asset has {', '.join(self)}, not {name!r}") from None


def current() -> TriggerAsset | None:
    """Return the event's asset of the running task's Dag run; None outside of tasks and in other runs.

    :raises AssetCatalogError: the payload is too large for Airflow's tables and cannot be fetched.
    """
    context = _context()
    return None if context is None else _of(context)


def in_task_or(outside: _Default) -> TriggerAsset | _Default | None:
    """Return :func:`current` inside a task, ``outside`` anywhere else."""
    context = _context()
    return outside if context is None else _of(context)


def _context() -> Any | None:
    # In a process that has not loaded Airflow's SDK there is no task, and nothing to import.
    if "airflow.sdk.definitions._internal.contextmanager" not in sys.modules:
        return None
    from airflow.sdk import get_current_context

    try:
        return get_current_context()
    except RuntimeError:
        return None


def _of(context: Any) -> TriggerAsset | None:
    for events in (context.get("triggering_asset_events") or {}).values():
        for event in events:
            content = (event.extra or {}).get(EXTRA_KEY)
            if isinstance(content, dict) and _started(context, content.get("eventId")):
                return TriggerAsset(
                    content["asset"] or _fetched(content["eventId"]),
                    eventId=content["eventId"],
                    triggerId=content.get("triggerId"),
                    triggerIds=content.get("triggerIds", []),
                )
    return None


def _started(context: Any, event_id: str | None) -> bool:
    """Whether the event made this run: a run of a native asset may list an event of ours beside its own."""
    return event_id is not None and str(context["run_id"]).startswith(RUN_ID_PREFIX + event_id)


@lru_cache(maxsize=8)
def _fetched(event_id: str) -> dict[str, Any]:
    """Fetch what was too large for Airflow's event row, with the rights of the running task."""
    from airflow_assets.client import get_client

    event = get_client().get_event(event_id).to_json()
    return {**event["asset"], "event": event["event"], "eventTime": event["eventTime"]}
