"""Which polled schedules a trigger of Airflow's triggerer watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from airflow_assets.airflow_bridge.context import orm
from airflow_assets.catalog.engine import read
from airflow_assets.exceptions import NotPermitted
from airflow_assets.schemas.actors import SourceKind
from airflow_assets.schemas.declared import MARKER_GROUPS
from airflow_assets.schemas.subscription import EXTRA_KEY

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.schemas.actors import Caller

SUBJECT = "trigger:"


def check_own(engine: Engine, caller: Caller, poll_key: str) -> None:
    """Refuse a trigger that speaks for a poll that it does not watch.

    Raises:
        NotPermitted: no marker that the trigger watches stands for this poll.
    """
    if caller.source.kind is not SourceKind.TRIGGER:
        return
    name = (caller.source.user or "").removeprefix(SUBJECT)
    if name.isdecimal() and poll_key in watched(engine, int(name)):
        return
    raise NotPermitted(
        f"The trigger {name} does not watch the poll {poll_key[:12]}.",
        hint="A trigger reports for the schedule that it was made for; it may have been changed meanwhile.",
        action="REPORT",
    )


def watched(engine: Engine, trigger_id: int) -> set[str]:
    """Return the keys of the polls that the markers watched by a trigger stand for."""
    from airflow.models.asset import AssetModel, AssetWatcherModel

    with read(engine) as conn, orm(conn) as session:
        extras = session.scalars(
            select(AssetModel.extra)
            .join(AssetWatcherModel, AssetWatcherModel.asset_id == AssetModel.id)
            .where(AssetWatcherModel.trigger_id == trigger_id, AssetModel.group.in_(sorted(MARKER_GROUPS)))
        ).all()
    return {str((extra or {}).get(EXTRA_KEY, {}).get("pollKey")) for extra in extras}
