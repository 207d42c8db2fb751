"""One Dag run for each matching event of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_assets.exceptions import AssetCatalogError, InvalidRequest
from airflow_assets.places import defined_at
from airflow_assets.schemas.subscription import Subscription

if TYPE_CHECKING:
    from airflow.sdk.definitions.asset import Asset, BaseAsset

DEFAULT_EVENTS = ("CREATED", "UPDATED", "DELETED")
"""USED is left out: a Dag that reads the asset it waits for would start itself again and again."""


@dataclass(frozen=True)
class EventTrigger:
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

    def __post_init__(self) -> None:
        try:
            self.subscription()
        except AssetCatalogError as error:
            # Airflow shows the last two frames of an import error: ours. The user needs his own.
            file, line = defined_at()
            error.hint = f"{error.hint or ''} It is at {file}:{line}.".strip()
            raise error.with_traceback(None) from None

    def __and__(self, other: object) -> NoReturn:
        _not_a_schedule()

    __or__ = __rand__ = __ror__ = __and__

    def subscription(self) -> Subscription:
        """Return what the server follows."""
        from pydantic import ValidationError

        try:
            return self._subscription()
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidRequest(
                f"EventTrigger is wrong at {'.'.join(map(str, first['loc']))}: {first['msg']}.",
                hint="A metadata query is a list of conditions with field, type and value.",
                field=str(first["loc"][0]),
            ) from None

    def _subscription(self) -> Subscription:
        if isinstance(self.events, str) or not self.events:
            raise InvalidRequest(
                f"events={self.events!r} is not a list of events.",
                hint="Write for example events=['CREATED', 'UPDATED'].",
                field="events",
            )
        return Subscription.model_validate(
            {
                "trigger_id": f"trigger_{self.position}" if self.id is None else self.id,
                "position": self.position,
                "filter": {
                    "asset_id": self.asset_id,
                    "namespace": self.namespace,
                    "asset_type": self.asset_type,
                    "events": sorted(set(self.events)),
                    "metadata_query": list(self.metadata_query or []),
                    "only_changes": self.only_changes,
                },
                "when": self.when,
                "stop_after": list(self.stop_after or []),
                "allow_concurrent": self.allow_concurrent,
                "on_pause": self.on_pause,
                "max_pending": self.max_pending,
            }
        )

    def as_schedule(self) -> Asset:
        """Return the asset to schedule a Dag on; it combines with lists, ``|``, ``AssetOrTimeSchedule``."""
        from airflow_assets.triggers.marker import marker_of

        return marker_of(self.subscription())


def any_of(*triggers: EventTrigger, cron: str | None = None, timezone: str = "UTC") -> Any:
    """Return one schedule of several triggers, each of which starts its own runs.

    An event that several of them match starts one run: ``trigger_id`` is the first in the order given here,
    ``trigger_ids`` are all.

    Args:
        triggers: at least one.
        cron: also start a run at these times (``0 6 * * *``); ``trigger_asset`` is None there.
        timezone: the zone of ``cron``.

    Raises:
        InvalidRequest: no trigger is given, or two have the same ``id``.

    Example:
        >>> either = any_of(EventTrigger(asset_id="a"), EventTrigger(asset_id="b"), cron="@daily")
        >>> DAG("both", schedule=either)
    """
    if not triggers:
        raise InvalidRequest(
            "any_of() needs at least one trigger.",
            hint="Give an EventTrigger, or schedule on the cron itself.",
        )
    for trigger in triggers:
        if not isinstance(trigger, EventTrigger):
            raise InvalidRequest(
                f"any_of() takes EventTriggers, not {trigger!r}.",
                hint="Write any_of(EventTrigger(...), EventTrigger(...)), without as_schedule().",
            )
    placed = [replace(trigger, position=position) for position, trigger in enumerate(triggers, 1)]
    ids = [trigger.subscription().trigger_id for trigger in placed]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise InvalidRequest(
            f"any_of() has several triggers with the id {twice[0]!r}.",
            hint="Give each another id: triggerId tells them apart in the run.",
            field="id",
            value=twice[0],
        )
    condition = _any([trigger.as_schedule() for trigger in placed])
    if cron is None:
        return condition
    from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable

    return AssetOrTimeSchedule(timetable=CronTriggerTimetable(cron, timezone=timezone), assets=condition)


def _not_a_schedule() -> NoReturn:
    raise InvalidRequest(
        "An EventTrigger is not a schedule yet.",
        hint="Call .as_schedule() on each, or join several with any_of(...).",
    )


def _any(markers: list[Asset]) -> BaseAsset:
    from airflow_assets.triggers.marker import AnyMarker

    return markers[0] if len(markers) == 1 else AnyMarker(*markers)
