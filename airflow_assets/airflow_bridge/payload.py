"""What a run is told about the event or the firing that started it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.polls import Firing, PollKind
from airflow_assets.schemas.runs import EXTRA_KEY, PREFIXES

if TYPE_CHECKING:
    from airflow_assets.schemas.runs import Entry

MAX_BYTES = 16 * 1024
"""The most that Airflow's event row holds; the rest of a larger payload is fetched on demand."""


def run_id_of(entry: Entry, replay_id: str | None = None) -> str:
    """Return the id of the run that stands for an entry of the log, or for one replay of it."""
    run_id = PREFIXES[_kind(entry)] + entry.id
    return f"{run_id}__replay_{replay_id}" if replay_id else run_id


def condition_payload(entry: Entry) -> dict[str, Any]:
    """Return the variables of a trigger's ``when``."""
    if isinstance(entry, Firing):
        return {"trigger": entry.payload} if entry.kind is PollKind.SCRIPT else entry.payload
    whole = entry.to_json()
    return {
        "asset": entry.payload(),
        "event": whole["event"],
        "eventTime": whole["eventTime"],
        "changed": whole["changed"],
        "source": whole["source"],
    }


def extra_of(entry: Entry, trigger_ids: list[str]) -> dict[str, Any]:
    """Return the ``extra`` of the Airflow event that is linked to the run.

    ``asset`` or ``payload`` is None where it would not fit into 16 KiB: who asks in the run then gets it from
    the catalogue, with the rights of the task that asks.
    """
    shared = {"triggerId": trigger_ids[0], "triggerIds": trigger_ids}
    if isinstance(entry, Firing):
        content: dict[str, Any] = {
            "firingId": entry.id,
            "kind": entry.kind.value,
            **shared,
            "payload": entry.payload,
        }
    else:
        content = {"eventId": entry.id, **shared, "asset": entry.payload()}
    if len(json.dumps(content).encode()) > MAX_BYTES:
        content["payload" if isinstance(entry, Firing) else "asset"] = None
    return {EXTRA_KEY: content}


def _kind(entry: Entry) -> str:
    return entry.kind.value if isinstance(entry, Firing) else "event"
