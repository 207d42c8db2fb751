"""The catalogue's service inside Airflow: it can also start runs."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from airflow_assets.airflow_bridge import log_readers, native_uris, trigger_listing, watchers
from airflow_assets.airflow_bridge.conditions import Conditions
from airflow_assets.airflow_bridge.context import orm
from airflow_assets.airflow_bridge.notes import append_note
from airflow_assets.airflow_bridge.payload import run_id_of
from airflow_assets.airflow_bridge.planning import Matcher
from airflow_assets.airflow_bridge.registry import present_ids
from airflow_assets.airflow_bridge.run_times import with_runs
from airflow_assets.airflow_bridge.runs import SerializedDags, Start, make_runs
from airflow_assets.airflow_bridge.sensor_places import SensorPlaces
from airflow_assets.airflow_bridge.subscriptions import SubscribedDag, Subscriptions, teams_of
from airflow_assets.catalog import shipping
from airflow_assets.catalog.engine import db_now, read
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import CatalogUnavailable, NotFound
from airflow_assets.schemas.actors import SourceKind
from airflow_assets.schemas.events import ReplayResult, ReplayRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.events import Event, Replay
    from airflow_assets.schemas.lineage import RecordResult, TaskRunRecord
    from airflow_assets.schemas.native import NativeNames, NativeUris
    from airflow_assets.schemas.polls import CheckReport, CheckResult, PollRef
    from airflow_assets.schemas.purge import LogReader, Purge, PurgeResult
    from airflow_assets.schemas.shipping import LineagePage, LineageRead
    from airflow_assets.schemas.trigger_listing import TriggerQuery, Triggers

log = logging.getLogger(__name__)
_OF_THE_HOUSE = frozenset({SourceKind.PARSE, SourceKind.CLI})


class AirflowService(CatalogService):
    """:class:`CatalogService` on Airflow's own database."""

    def more_readers(self, conn: Connection) -> Sequence[LogReader]:
        """Return Dags that follow events and have no position in the log yet."""
        return log_readers.new_dags(conn)

    def purge(self, caller: Caller, body: Purge) -> PurgeResult:
        """Make one step of a purge; sensors that have ended hold back nothing."""
        places = SensorPlaces(self.engine)
        while body.cursor is None and places.step():
            pass
        return super().purge(caller, body)

    def record_task_run(self, caller: Caller, body: TaskRunRecord) -> RecordResult:
        """Record a task run; with ``note``, what is missing also stands in the note of the task instance."""
        result = super().record_task_run(caller, body)
        if body.note and body.task.ti_id:
            missing = [f"{one.asset_id}: {one.problem.get('detail')}" for one in result.problems]
            self._note(body.task.ti_id, [*body.warnings, *missing])
        return result

    def read_lineage(self, caller: Caller, body: LineageRead) -> LineagePage:
        """Return the lineage events after a number, oldest first, with the times of their runs."""
        return self._read(lambda conn: with_runs(conn, shipping.read_lineage(conn, caller, body)))

    def native_uris(self, caller: Caller, body: NativeNames) -> NativeUris:
        """Return the URIs that the Dags of this Airflow give to names.

        When a Dag file asks, a chosen URI also becomes active in the place of a default.
        """
        with read(self.engine) as conn, orm(conn) as session:
            found = native_uris.native_uris(session, body.names)
            if caller.source.kind not in _OF_THE_HOUSE:
                return native_uris.without_places(found)
            wanted = native_uris.held_by_default(session, found)

        def work(conn: Connection) -> tuple[NativeUris, bool]:
            with orm(conn) as session:
                native_uris.activate(session, wanted)
                session.flush()
                return native_uris.native_uris(session, body.names), False

        return self._write(work) if wanted else found

    def _note(self, ti_id: str, lines: list[str]) -> None:
        def work(conn: Connection) -> tuple[None, bool]:
            with orm(conn) as session:
                append_note(session, ti_id, lines)
            return None, False

        if not lines:
            return
        try:
            self._write(work)
        except (SQLAlchemyError, CatalogUnavailable):  # the record stands; a note is a courtesy
            log.warning("The note of task instance %s could not be written.", ti_id, exc_info=True)

    def list_triggers(self, caller: Caller, query: TriggerQuery) -> Triggers:
        """Return one page of the triggers of the Dags of this Airflow."""

        def work(conn: Connection) -> Triggers:
            with orm(conn) as session:
                return trigger_listing.list_triggers(conn, session, caller, query)

        return self._read(work)

    def next_check(self, caller: Caller, body: PollRef) -> CheckResult:
        """Tell a trigger when its poll is due."""
        watchers.check_own(self.engine, caller, body.poll.key)
        return super().next_check(caller, body)

    def report_check(self, caller: Caller, body: CheckReport) -> CheckResult:
        """Take a trigger's report of its own poll."""
        watchers.check_own(self.engine, caller, body.poll.key)
        return super().report_check(caller, body)

    def replay_event(self, caller: Caller, body: Replay) -> ReplayResult:
        """Start another run of an old event for each Dag that follows it, or for the one that is named.

        The same ``replay_id`` starts no second run. Neither ``max_pending`` nor ``stop_after`` holds it back:
        somebody asked for this very run.

        Raises:
            EventNotFound: there is no such event, or it is hidden from the caller.
            NotFound: the named Dag does not follow the event.
        """
        event = self.get_event(caller, body.event_id)
        starts = self._starts(event, body)
        return self._write(lambda conn: (ReplayResult(runs=_make(conn, starts)), False))

    def _starts(self, event: Event, body: Replay) -> list[tuple[SubscribedDag, Start]]:
        with read(self.engine) as conn:
            known = present_ids(conn)
            with orm(conn) as session:
                dags = Subscriptions().read(session)
                teams = teams_of(session, {event.source.dag_id} if event.source.dag_id else set())
        conditions = Conditions()
        try:
            matcher = Matcher(conditions)
            run_id = run_id_of(event, body.replay_id)
            starts = [
                (dag, Start(run_id, match.event, match.triggers))
                for dag in dags.values()
                if body.dag_id in (None, dag.dag_id)
                for match in matcher.matches(
                    replace(dag, paused=False),
                    [event],
                    frozenset(),
                    teams,
                    lambda name: known.get(name, name),
                )
            ]
        finally:
            conditions.close()
        if body.dag_id is not None and not starts:
            raise NotFound(
                f"The Dag {body.dag_id!r} does not follow the event {event.id}.",
                hint="Name a Dag scheduled on an EventTrigger that the event matches, or leave the Dag out.",
                dag_id=body.dag_id,
            )
        return starts


def _make(conn: Connection, starts: list[tuple[SubscribedDag, Start]]) -> list[ReplayRun]:
    now = db_now(conn)
    runs = []
    serialized = SerializedDags()
    with orm(conn) as session:
        for dag, start in starts:
            known = serialized.get(session, dag.dag_id)
            if known is not None:
                made = make_runs(session, known, [start], now)
                runs.append(ReplayRun(dag_id=dag.dag_id, run_id=start.run_id, created=bool(made)))
    return runs
