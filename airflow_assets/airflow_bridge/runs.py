"""Makes the Dag runs of events and firings, inside the caller's transaction."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from airflow_assets.airflow_bridge.payload import extra_of
from airflow_assets.airflow_bridge.subscriptions import Trigger
from airflow_assets.schemas.polls import Firing
from airflow_assets.schemas.runs import Entry

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Start:
    """One run to be made: of which entry, by which triggers (the first names the run)."""

    run_id: str
    event: Entry
    triggers: tuple[Trigger, ...]


class SerializedDags:
    """The Dags as the scheduler knows them, each deserialized once per version."""

    def __init__(self, limit: int = 200) -> None:
        self._limit = limit
        self._known: dict[str, tuple[tuple[Any, Any], Any]] = {}

    def get(self, session: Session, dag_id: str) -> Any | None:
        """Return the Dag, None while it has not been serialized."""
        from airflow.models.serialized_dag import SerializedDagModel

        version = session.execute(
            select(SerializedDagModel.id, SerializedDagModel.dag_hash)
            .where(SerializedDagModel.dag_id == dag_id)
            .order_by(SerializedDagModel.created_at.desc())
            .limit(1)
        ).first()
        if version is None:
            return None
        key = (version.id, version.dag_hash)
        known = self._known.get(dag_id)
        if known is None or known[0] != key:
            model = SerializedDagModel.get(dag_id, session=session)
            if model is None:
                return None
            while len(self._known) >= self._limit:
                self._known.pop(next(iter(self._known)))
            self._known[dag_id] = known = (key, model.dag)
        return known[1]


def make_runs(session: Session, dag: Any, starts: list[Start], now: datetime) -> list[str]:
    """Make the runs that are not there yet, queued, in this order; return the ids of those made.

    :param dag: a Dag of :class:`SerializedDags`. :param now: the database's clock.
    """
    there = existing_runs(session, dag.dag_id, [start.run_id for start in starts])
    made = [start for start in starts if start.run_id not in there]
    for number, start in enumerate(made):
        # Airflow starts queued runs in the order of run_after.
        _make_run(session, dag, start, now + timedelta(microseconds=number - len(made)))
    return [start.run_id for start in made]


def existing_runs(session: Session, dag_id: str, run_ids: list[str]) -> set[str]:
    """Return those of the runs that the Dag has."""
    from airflow.models.dagrun import DagRun

    found = session.scalars(select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.run_id.in_(run_ids)))
    return set(found)


def count_runs(session: Session, dag_ids: list[str]) -> dict[str, tuple[int, int]]:
    """Return how many runs of each Dag are queued, and how many are queued or running."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.state import DagRunState

    counts = dict.fromkeys(dag_ids, (0, 0))
    rows = session.execute(
        select(DagRun.dag_id, DagRun.state, func.count())
        .where(DagRun.state.in_([DagRunState.QUEUED, DagRunState.RUNNING]), DagRun.dag_id.in_(dag_ids))
        .group_by(DagRun.dag_id, DagRun.state)
    )
    for dag_id, state, count in rows:
        queued, active = counts[dag_id]
        counts[dag_id] = (queued + count if state == DagRunState.QUEUED else queued, active + count)
    return counts


def has_ended_run(session: Session, dag_id: str, trigger: Trigger) -> bool:
    """Tell whether a run that this trigger started has reached a state of its ``stop_after``."""
    from airflow.models.asset import AssetEvent
    from airflow.models.dagrun import DagRun

    return (
        session.scalar(
            select(AssetEvent.id)
            .join(AssetEvent.created_dagruns)
            .where(
                DagRun.dag_id == dag_id,
                DagRun.state.in_(trigger.subscription.stop_after),
                AssetEvent.asset_id == trigger.marker_id,
                AssetEvent.timestamp >= trigger.since,
            )
            .limit(1)
        )
        is not None
    )


def _make_run(session: Session, dag: Any, start: Start, run_after: datetime) -> None:
    from airflow.models.asset import AssetEvent
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    linked = AssetEvent(
        asset_id=start.triggers[0].marker_id,
        extra=extra_of(start.event, [trigger.subscription.trigger_id for trigger in start.triggers]),
        **_origin(start.event),
    )
    session.add(linked)
    run = dag.create_dagrun(
        run_id=start.run_id,
        logical_date=None,
        data_interval=None,
        run_after=run_after,
        run_type=DagRunType.ASSET_TRIGGERED,
        triggered_by=DagRunTriggeredByType.ASSET,
        state=DagRunState.QUEUED,
        session=session,
    )
    run.consumed_asset_events.append(linked)


def _origin(entry: Entry) -> dict[str, Any]:
    """When the entry was made, and by which task."""
    if isinstance(entry, Firing):
        return {"timestamp": entry.created}
    source = entry.source
    return {
        "source_dag_id": source.dag_id,
        "source_run_id": source.run_id,
        "source_task_id": source.task_id,
        "source_map_index": -1 if source.map_index is None else source.map_index,
        "timestamp": entry.event_time,
    }
