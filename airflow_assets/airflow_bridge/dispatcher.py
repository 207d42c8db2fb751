"""Turns entries of the log, events and firings, into Dag runs: exactly one for each and Dag that follows it.

Every subscribed Dag has a position in the log. Its runs and its new position are written in one transaction,
and (dag_id, run_id) is unique in Airflow; so a kill at any point loses no run and doubles none, and two
dispatchers at once only get in each other's way. A Dag that cannot take a run at the moment waits at its
position and holds back no other.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy.exc import InterfaceError, OperationalError

from airflow_assets import config
from airflow_assets.airflow_bridge import positions
from airflow_assets.airflow_bridge.conditions import Conditions
from airflow_assets.airflow_bridge.context import give_way, orm
from airflow_assets.airflow_bridge.outcome import Batch, Outcome, apply_batch
from airflow_assets.airflow_bridge.planning import Match, Matcher, Room, writers_of
from airflow_assets.airflow_bridge.registry import Registry
from airflow_assets.airflow_bridge.runs import SerializedDags, count_runs
from airflow_assets.airflow_bridge.subscriptions import teams_of
from airflow_assets.catalog.engine import read, retrying, write
from airflow_assets.catalog.outbox import read_entries
from airflow_assets.exceptions import CatalogUnavailable
from airflow_assets.schemas.rules import DEFAULT_TENANT

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.airflow_bridge.subscriptions import SubscribedDag
    from airflow_assets.schemas.runs import Entry
    from airflow_assets.schemas.subscription import Following

log = logging.getLogger(__name__)
PAGE = 200
BATCH = 100
_SMALLEST_BATCH = 5
_SHORT, _LONG = 0.2, 0.4
"""Seconds: a transaction shorter than the first lets the next batch grow, one longer than the second shrinks
it, so that on a busy machine the scheduler never waits long: for the one writer of SQLite, or on MySQL for
the rows of the Dag that inserted runs refer to. On PostgreSQL inserts block nobody."""
STEP_SECONDS = 3.0
"""A pass ends soon after this, well within the lease of the process that makes it."""
LEVEL_EVERY = 5.0
_LONGEST_REST = 60.0


class Dispatcher:
    """Works through the log in passes; one at a time in a deployment (its caller holds a lease).

    :param batch: the most runs that one transaction makes; fewer where a transaction takes long.
    """

    name = "dispatcher"
    interval = 1.0

    def __init__(self, engine: Engine, *, batch: int = BATCH, page: int = PAGE) -> None:
        self._engine = engine
        self._largest = batch
        self._adapts = engine.dialect.name != "postgresql"
        self._batch = min(batch, 20) if self._adapts else batch
        self._page = page
        self._conditions = Conditions()
        self._matcher = Matcher(self._conditions)
        self._dags = SerializedDags()
        self.registry = Registry(engine)
        self._rest: dict[str, tuple[float, int]] = {}
        self._full: dict[str, Following] = {}
        self._served: dict[str, int] = {}
        self._turn = 0
        self._levelled = time.monotonic()

    def close(self) -> None:
        """End the process that renders conditions, and write down how far the Dags have come."""
        self._level()
        self._conditions.close()

    def step(self) -> bool:
        """Make one pass; return True if there is more to do at once.

        Raises:
            CatalogUnavailable: the database cannot be used; nothing is lost, call again later.
        """
        end = self.registry.refresh()
        self._look_for_room()
        self._turn += 1
        deadline = time.monotonic() + STEP_SECONDS
        more = False
        for seq, dags in self._groups(end):
            more = self._read_on(seq, dags, end) or more
            if time.monotonic() > deadline:
                break
        if time.monotonic() - self._levelled >= LEVEL_EVERY:
            self._level()
        return more

    def _groups(self, end: int) -> list[tuple[int, list[SubscribedDag]]]:
        """Return the Dags that have something to do, by position: level Dags share one read.

        Those that have waited longest come first, so a Dag with a long way to go holds back no other.
        """
        groups: dict[int, list[SubscribedDag]] = defaultdict(list)
        now = time.monotonic()
        for dag in self.registry.dags.values():
            seq = self.registry.seq(dag.dag_id)
            resting, _ = self._rest.get(dag.dag_id, (0.0, 0))
            if seq < end and not dag.held and resting <= now and dag.dag_id not in self._full:
                groups[seq].append(dag)
        return sorted(
            groups.items(),
            key=lambda group: (min(self._served.get(dag.dag_id, 0) for dag in group[1]), group[0]),
        )

    def _look_for_room(self) -> None:
        """Leave Dags out, at the cost of one query for all of them, while they can take no run."""
        if not self._full:
            return
        with read(self._engine) as conn, orm(conn) as session:
            counts = count_runs(session, sorted(self._full))
        limit = config.max_pending()
        self._full = {
            dag_id: subscription
            for dag_id, subscription in self._full.items()
            if self._follows(dag_id, subscription) and not Room(*counts[dag_id], limit).take(subscription)
        }

    def _follows(self, dag_id: str, subscription: Following) -> bool:
        dag = self.registry.dags.get(dag_id)
        return dag is not None and any(one.subscription == subscription for one in dag.triggers)

    def _read_on(self, seq: int, dags: list[SubscribedDag], end: int) -> bool:
        with read(self._engine) as conn:
            entries, reached = read_entries(conn, DEFAULT_TENANT, seq, end, self._page)
            with orm(conn) as session:
                teams = teams_of(session, writers_of(entries))
        more = False
        for dag in dags:
            self._served[dag.dag_id] = self._turn
            more = self._follow(dag, entries, reached, teams) or more
        return more

    def _follow(
        self, dag: SubscribedDag, entries: list[Entry], reached: int, teams: dict[str, str | None]
    ) -> bool:
        if dag.passes_over:
            self._levelled = float("-inf")  # what is passed over stays so, also if this process dies
        stopped = self.registry.stopped(dag)
        matches = self._matcher.matches(dag, entries, stopped, teams, self.registry.present_id)
        if not matches:
            self.registry.advance(dag.dag_id, reached)
            return True
        return self._start(dag, matches, reached)

    def _start(self, dag: SubscribedDag, matches: list[Match], reached: int) -> bool:
        """Make the runs of a page in batches; False if the Dag has to wait."""
        while matches:
            some, matches = matches[: self._batch], matches[self._batch :]
            batch = Batch(dag, some, some[-1].event.seq if matches else reached)
            outcome = self._try(batch)
            if outcome is None or not outcome.complete:
                return False
        return True

    def _try(self, batch: Batch) -> Outcome | None:
        dag_id = batch.dag.dag_id
        began = time.monotonic()
        expected = self.registry.stored(dag_id)
        try:
            outcome = retrying(lambda: apply_batch(self._engine, self._dags, batch, expected))
        except Exception as error:
            if not _is_of_the_dag(error):
                raise
            self._let_rest(dag_id, error)
            return None
        if outcome is None:
            self.registry.forget(dag_id)
            return None
        self._rest.pop(dag_id, None)
        self.registry.moved(dag_id, outcome.position)
        if outcome.full is not None:
            self._full[dag_id] = outcome.full
        self._adapt(time.monotonic() - began)
        return outcome

    def _let_rest(self, dag_id: str, error: Exception) -> None:
        _, failures = self._rest.get(dag_id, (0.0, 0))
        pause = min(_LONGEST_REST, 2.0**failures)
        self._rest[dag_id] = (time.monotonic() + pause, failures + 1)
        log.error(
            "No run of Dag %s can be made from its events, which wait; next try in %.0f s.",
            dag_id,
            pause,
            exc_info=error,
        )

    def _adapt(self, took: float) -> None:
        if not self._adapts:
            return
        if took > _LONG:
            self._batch = max(_SMALLEST_BATCH, self._batch // 2)
        elif took < _SHORT:
            self._batch = min(self._largest, self._batch * 2)
        give_way(self._engine, took)

    def _level(self) -> None:
        self._levelled = time.monotonic()
        levels = self.registry.unwritten()
        if not levels:
            return

        def work() -> None:
            with write(self._engine) as conn:
                for seq, dag_ids in levels.items():
                    positions.advance_positions(conn, dag_ids, seq)

        retrying(work)
        self.registry.written(levels)


def _is_of_the_dag(error: Exception) -> bool:
    """Tell errors of one Dag (parameters, what is serialized) from those of the database."""
    return not isinstance(error, (CatalogUnavailable, OperationalError, InterfaceError))
