"""Several triggers of one Dag."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.triggers.base import ScheduleTrigger

if TYPE_CHECKING:
    from airflow.sdk import CronTriggerTimetable
    from airflow.sdk.definitions.asset import Asset, BaseAsset


def any_of(*triggers: ScheduleTrigger, cron: str | None = None, timezone: str = "UTC") -> Any:
    """Return one schedule of several triggers, each of which starts its own runs.

    An event or a firing that several of them match starts one run: ``trigger_id`` is the first in the order
    given here, ``trigger_ids`` are all.

    Args:
        triggers: at least one.
        cron: also start a run at these times (``0 6 * * *``); ``trigger_asset`` is None there.
        timezone: the zone of ``cron``.

    Raises:
        InvalidRequest: no trigger is given, two have the same ``id``, or ``cron`` or ``timezone`` is none.

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
        if not isinstance(trigger, ScheduleTrigger):
            raise InvalidRequest(
                f"any_of() takes triggers, not {trigger!r}.",
                hint="Write any_of(EventTrigger(...), EventTrigger(...)), without as_schedule().",
            )
    placed = [_placed(trigger, position) for position, trigger in enumerate(triggers, 1)]
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
    from airflow.sdk import AssetOrTimeSchedule

    return AssetOrTimeSchedule(timetable=_timetable(cron, timezone), assets=condition)


def _timetable(cron: str, timezone: str) -> CronTriggerTimetable:
    """Check what Airflow would only find when the scheduler asks for the first time."""
    from zoneinfo import ZoneInfo

    from airflow.sdk import CronTriggerTimetable
    from airflow.sdk.exceptions import AirflowTimetableInvalid

    try:
        ZoneInfo(timezone)
    except (KeyError, ValueError, TypeError, OSError):
        raise InvalidRequest(
            f"any_of() has the timezone {timezone!r}, which is none.",
            hint="Write a name of the tz database: 'Europe/Berlin'.",
            field="timezone",
            value=str(timezone),
        ) from None
    timetable = CronTriggerTimetable(cron, timezone=timezone)
    try:
        timetable.validate()
    except (AirflowTimetableInvalid, AttributeError, TypeError) as error:
        raise InvalidRequest(
            f"any_of() has the cron {cron!r}, which is none: {str(error).rstrip('.')}.",
            hint="Write five fields ('0 6 * * *') or a preset ('@daily').",
            field="cron",
            value=str(cron),
        ) from None
    return timetable


def _placed(trigger: Any, position: int) -> ScheduleTrigger:
    placed: ScheduleTrigger = replace(trigger, position=position)
    return placed


def _any(markers: list[Asset]) -> BaseAsset:
    from airflow_assets.triggers.marker import AnyMarker

    return markers[0] if len(markers) == 1 else AnyMarker(*markers)
