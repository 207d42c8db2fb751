"""What started the running task's Dag run, an event or a firing, read from the task's context."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, TypeVar

EXTRA_KEY = "airflow_assets"
_EVENT = "asset_event__"
PREFIXES = {"trigger_asset": _EVENT, "trigger_assets": "freshness__", "trigger": "script__"}
"""The names that a run has for what started it, and what its id begins with then."""
NAMES = frozenset(PREFIXES)
_Default = TypeVar("_Default")


class TriggerAsset(dict[str, Any]):
    """The asset as it was at the moment of the event; members by ``["name"]`` and by ``.name``.

    ``id``, ``type``, ``namespace``, ``displayName``, ``description``, ``metadata``, ``tenantId``,
    ``created``, ``updated``, ``event`` (CREATED, UPDATED, DELETED, USED) and ``eventTime``; also
    ``eventId``, and ``triggerId`` and ``triggerIds`` for a Dag with several triggers: the first that
    matched, and all. Times are ISO 8601 texts in UTC.
    """

    _called = "trigger_asset"

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self._called} has {', '.join(self)}, not {name!r}") from None


class CheckedAsset(TriggerAsset):
    """One of the assets that a freshness trigger fired for; members by ``["name"]`` and by ``.name``.

    ``id``, ``type``, ``namespace``, ``displayName``, ``description``, ``metadata``, ``tenantId``,
    ``created``, ``lastUpdated``, ``deleted`` (false), ``staleDuration`` (seconds), ``checkTime`` (the same
    for all) and ``state``: ``STALE``, or ``RECOVERED`` where the trigger reports transitions.
    """

    _called = "An item of trigger_assets"


class Trigger(TriggerAsset):
    """What a script trigger found: ``timestamp``, ``condition``, ``exitCode`` and ``vars``.

    Also ``triggerId``, ``triggerIds`` and ``firingId``.
    """

    _called = "trigger"


def current(name: str = "trigger_asset") -> Any | None:
    """Return what started the running task's Dag run; None outside of tasks and in other runs.

    :param name: ``trigger_asset`` (a :class:`TriggerAsset`), ``trigger_assets`` (a list of
        :class:`CheckedAsset`) or ``trigger`` (a :class:`Trigger`).
    :raises AssetCatalogError: the payload is too large for Airflow's tables and cannot be fetched.
    """
    context = _context()
    return None if context is None else _of(context, name)


def in_task_or(outside: _Default, name: str = "trigger_asset") -> Any | _Default | None:
    """Return :func:`current` inside a task, ``outside`` anywhere else."""
    context = _context()
    return outside if context is None else _of(context, name)


def _context() -> Any | None:
    # In a process that has not loaded Airflow's SDK there is no task, and nothing to import.
    if "airflow.sdk.definitions._internal.contextmanager" not in sys.modules:
        return None
    from airflow.sdk import get_current_context

    try:
        return get_current_context()
    except RuntimeError:
        return None


def _of(context: Any, name: str) -> Any | None:
    content = _content(context, PREFIXES[name])
    if content is None:
        return None
    shared = {"triggerId": content.get("triggerId"), "triggerIds": content.get("triggerIds", [])}
    if name == "trigger_asset":
        event_id = content["eventId"]
        return TriggerAsset(content["asset"] or _fetched(event_id), eventId=event_id, **shared)
    firing_id = content["firingId"]
    payload = content["payload"] or _fetched_firing(firing_id)
    if name == "trigger_assets":
        return [CheckedAsset(item) for item in payload["assets"]]
    return Trigger(payload, firingId=firing_id, **shared)


def _content(context: Any, prefix: str) -> dict[str, Any] | None:
    """Return what is linked to the run by the entry that made it.

    A run of a native asset may list an event of ours beside its own.
    """
    run_id = str(context["run_id"])
    if not run_id.startswith(prefix):
        return None
    for events in (context.get("triggering_asset_events") or {}).values():
        for event in events:
            content = (event.extra or {}).get(EXTRA_KEY)
            if isinstance(content, dict) and _made(run_id, prefix, content):
                return content
    return None


def _made(run_id: str, prefix: str, content: dict[str, Any]) -> bool:
    entry_id = content.get("eventId" if prefix == _EVENT else "firingId")
    return entry_id is not None and run_id.startswith(f"{prefix}{entry_id}")


@lru_cache(maxsize=8)
def _fetched(event_id: str) -> dict[str, Any]:
    """Fetch what was too large for Airflow's event row, with the rights of the running task."""
    from airflow_assets.client import get_client

    event = get_client().get_event(event_id).to_json()
    return {**event["asset"], "event": event["event"], "eventTime": event["eventTime"]}


@lru_cache(maxsize=8)
def _fetched_firing(firing_id: str) -> dict[str, Any]:
    from airflow_assets.client import get_client

    return get_client().get_firing(firing_id).payload
