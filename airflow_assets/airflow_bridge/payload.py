"""What a run is told about the event that started it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.schemas.events import Event

MAX_BYTES = 16 * 1024
"""The most that Airflow's event row holds; the rest of a larger payload is fetched on demand."""
EXTRA_KEY = "airflow_assets"
RUN_ID_PREFIX = "asset_event__"


def run_id_of(event_id: str, replay_id: str | None = None) -> str:
    """Return the id of the run that stands for an event, or for one replay of it."""
    run_id = RUN_ID_PREFIX + event_id
    return f"{run_id}__replay_{replay_id}" if replay_id else run_id


def trigger_asset(event: Event) -> dict[str, Any]:
    """Return the asset as the run sees it in ``trigger_asset``, with ``event`` and ``eventTime``."""
    whole = event.to_json()
    return {**whole["asset"], "event": whole["event"], "eventTime": whole["eventTime"]}


def condition_payload(event: Event) -> dict[str, Any]:
    """Return the variables of a trigger's ``when``."""
    whole = event.to_json()
    return {
        "asset": trigger_asset(event),
        "event": whole["event"],
        "eventTime": whole["eventTime"],
        "changed": whole["changed"],
        "source": whole["source"],
    }


def extra_of(event: Event, trigger_ids: list[str]) -> dict[str, Any]:
    """Return the ``extra`` of the Airflow event that is linked to the run.

    ``asset`` is None where it would not fit into 16 KiB: ``trigger_asset`` then asks the catalogue for the
    event, with the rights of the task that asks.
    """
    content: dict[str, Any] = {
        "eventId": event.id,
        "triggerId": trigger_ids[0],
        "triggerIds": trigger_ids,
        "asset": trigger_asset(event),
    }
    if len(json.dumps(content).encode()) > MAX_BYTES:
        content["asset"] = None
    return {EXTRA_KEY: content}
