"""Which Dags follow which events and polls: the marker assets in the schedules of Airflow's Dags."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.schemas.declared import MARKER_GROUPS
from airflow_assets.schemas.subscription import (
    OnPause,
    PolledSubscription,
    Subscription,
    read_marker,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trigger:
    """One marker in one Dag's schedule.

    :param marker_id: the row of the marker in Airflow's table ``asset``.
    :param since: when the Dag was first scheduled on it.
    """

    marker_id: int
    subscription: Subscription | PolledSubscription
    since: datetime

    @property
    def key(self) -> str:
        """Which trigger this is, as long as the Dag keeps it: its digest and when it was added."""
        return f"{self.subscription.digest[:16]}@{self.since.isoformat()}"


@dataclass(frozen=True)
class SubscribedDag:
    """A Dag and its triggers, the one that names a run first.

    :param held: its file does not import at the moment: its events wait.
    """

    dag_id: str
    paused: bool
    held: bool
    team: str | None
    triggers: tuple[Trigger, ...]

    @property
    def passes_over(self) -> bool:
        """Whether events pass without a run because the Dag is paused."""
        return self.paused and any(one.subscription.on_pause is OnPause.SKIP for one in self.triggers)


class Subscriptions:
    """Reads the subscriptions; a marker's content never changes, so each is parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[int, str], Subscription | PolledSubscription | None] = {}

    def read(self, session: Session) -> dict[str, SubscribedDag]:
        """Return every Dag that is there (not stale) and has a marker in its schedule, by Dag id."""
        rows = list(session.execute(_statement()))
        known = {(row.id, row.uri) for row in rows}
        self._parsed = {key: value for key, value in self._parsed.items() if key in known}
        teams = teams_of(session, {row.dag_id for row in rows})
        by_dag: dict[str, list[Any]] = {}
        for row in rows:
            by_dag.setdefault(row.dag_id, []).append(row)
        found = (self._dag(dag_rows, teams) for dag_rows in by_dag.values())
        return {dag.dag_id: dag for dag in found if dag.triggers}

    def _dag(self, rows: list[Any], teams: dict[str, str | None]) -> SubscribedDag:
        triggers = [
            Trigger(row.id, subscription, row.created_at)
            for row in rows
            if (subscription := self._subscription(row)) is not None
        ]
        triggers.sort(key=lambda one: (one.subscription.position, one.subscription.trigger_id, one.marker_id))
        first = rows[0]
        return SubscribedDag(
            first.dag_id,
            bool(first.is_paused),
            bool(first.has_import_errors),
            teams.get(first.dag_id),
            tuple(triggers),
        )

    def _subscription(self, row: Any) -> Subscription | PolledSubscription | None:
        key = (row.id, row.uri)
        if key not in self._parsed:
            try:
                self._parsed[key] = read_marker(row.group, row.extra)
            except (AssetCatalogError, ValueError) as error:
                log.warning("The trigger %r of Dag %s cannot be read: %s", row.name, row.dag_id, error)
                self._parsed[key] = None
        return self._parsed[key]


def teams_of(session: Session, dag_ids: set[str]) -> dict[str, str | None]:
    """Return the team of each of the Dags; nothing unless ``[core] multi_team`` is on."""
    from airflow.configuration import conf

    if not dag_ids or not conf.getboolean("core", "multi_team", fallback=False):
        return {}
    from airflow.models.dag import DagModel

    found: dict[str, str | None] = DagModel.get_dag_id_to_team_name_mapping(sorted(dag_ids), session=session)
    return found


def _statement() -> Any:
    from airflow.models.asset import AssetModel, DagScheduleAssetReference
    from airflow.models.dag import DagModel

    reference = DagScheduleAssetReference
    return (
        select(
            AssetModel.id,
            AssetModel.name,
            AssetModel.uri,
            AssetModel.group,
            AssetModel.extra,
            reference.dag_id,
            reference.created_at,
            DagModel.is_paused,
            DagModel.has_import_errors,
        )
        .join(reference, reference.asset_id == AssetModel.id)
        .join(DagModel, DagModel.dag_id == reference.dag_id)
        .where(AssetModel.group.in_(sorted(MARKER_GROUPS)), DagModel.is_stale.is_(False))
        .order_by(reference.dag_id, AssetModel.id)
    )
