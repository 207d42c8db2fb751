"""One Dag run for each matching event of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.subscription import Subscription
from airflow_assets.triggers.base import ScheduleTrigger

DEFAULT_EVENTS = ("CREATED", "UPDATED", "DELETED")
"""USED is left out: a Dag that reads the asset it waits for would start itself again and again."""


@dataclass(frozen=True)
class EventTrigger(ScheduleTrigger):
    """Start one Dag run for each event that matches every given member.

    The run finds the asset of its event in ``trigger_asset`` (templates; ``from airflow_assets import
    trigger_asset`` in Python). Runs are made in the order of the events. A Dag follows the log from the
    moment it is first scheduled on a trigger; changing its triggers later loses no event. The trigger fires
    by itself also where it stands in a list or in ``|`` with other assets.

    Args:
        asset_id: exact id; also matches an asset renamed from it.
        namespace: exact namespace of the asset.
        asset_type: exact type, for example ``airflow_assets.types.Table``.
        events: any of CREATED, UPDATED, DELETED, USED. Default: all but USED.
        metadata_query: conditions on top-level metadata keys, all of which must hold
            (``[{"field": "tier", "type": "EQUAL_TO", "value": 1}]``).
        when: a Jinja template over the event's payload alone (``asset``, ``event``, ``eventTime``,
            ``changed``, ``source``); the event counts unless it renders to nothing, ``false``, ``no``,
            ``off``, ``0``, ``none`` or ``null``. It is rendered in a sandbox for at most one second; one that
            fails counts as false.
        stop_after: run states (``success``, ``failed``, ...): once a run of this trigger has reached one, the
            trigger starts no further run until it is changed, or removed and added again.
        allow_concurrent: False waits with the next run until no run of the Dag is active.
        only_changes: leave out writes that changed nothing.
        on_pause: ``keep`` (default) queues runs while the Dag is paused, they start after unpausing; ``skip``
            passes over the events of that time.
        max_pending: how many queued runs of the Dag may pile up before further events wait in the log;
            default ``[airflow_assets] max_pending``.
        id: what ``trigger_asset.triggerId`` says in the run. Default ``trigger_<position in any_of>``.
        position: set by :func:`any_of`.

    Raises:
        InvalidRequest: an argument breaks a rule; the message names it and the way out.

    Example:
        >>> EventTrigger(namespace="sales", events=["UPDATED"], when="{{ asset.metadata.rows > 0 }}")
    """

    asset_id: str | None = None
    namespace: str | None = None
    asset_type: str | None = None
    events: Sequence[str] = DEFAULT_EVENTS
    metadata_query: Sequence[dict[str, Any]] | None = None
    when: str | None = None
    stop_after: Sequence[str] | None = None
    allow_concurrent: bool = True
    only_changes: bool = False
    on_pause: str = "keep"
    max_pending: int | None = None
    id: str | None = None
    position: int = 1

    def _subscription(self) -> Subscription:
        if isinstance(self.events, str) or not self.events:
            raise InvalidRequest(
                f"events={self.events!r} is not a list of events.",
                hint="Write for example events=['CREATED', 'UPDATED'].",
                field="events",
            )
        return Subscription.model_validate(
            {
                "filter": {
                    "asset_id": self.asset_id,
                    "namespace": self.namespace,
                    "asset_type": self.asset_type,
                    "events": sorted(set(self.events)),
                    "metadata_query": list(self.metadata_query or []),
                    "only_changes": self.only_changes,
                },
                **self._shared(),
            }
        )
