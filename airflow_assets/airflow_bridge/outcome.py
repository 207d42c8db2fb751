"""One batch of runs of one Dag, in one transaction."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_assets import config
from airflow_assets.airflow_bridge import positions
from airflow_assets.airflow_bridge.context import orm
from airflow_assets.airflow_bridge.payload import run_id_of
from airflow_assets.airflow_bridge.planning import Match, Room
from airflow_assets.airflow_bridge.positions import Position
from airflow_assets.airflow_bridge.runs import Start, count_runs, has_ended_run, make_runs
from airflow_assets.airflow_bridge.subscriptions import SubscribedDag
from airflow_assets.catalog.engine import db_now, write
from airflow_assets.catalog.log import mark_suppressed
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.events import Event
from airflow_assets.schemas.polls import Firing
from airflow_assets.schemas.subscription import Following

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from airflow_assets.airflow_bridge.runs import SerializedDags

log = logging.getLogger(__name__)
LOOP = "loop"
_WARN_EVERY = timedelta(hours=1)


@dataclass(frozen=True)
class Batch:
    """Entries that start runs of a Dag; when all are handled, the Dag has come to ``reached``."""

    dag: SubscribedDag
    matches: list[Match]
    reached: int


@dataclass(frozen=True)
class Outcome:
    """What came of a batch.

    :param position: where the Dag is now. :param made: the runs that were made.
    :param complete: the whole batch was handled. :param full: else, the trigger for which there was no room.
    """

    position: Position
    made: list[str]
    complete: bool
    full: Following | None = None


def apply_batch(engine: Engine, dags: SerializedDags, batch: Batch, expected: int) -> Outcome | None:
    """Make the runs for which there is room, and move the Dag behind them.

    :param expected: the position the Dag has in the database, as far as the caller knows.
    :return: None if another dispatcher moved the Dag, or it was forgotten.
    """
    with write(engine) as conn:
        stored = positions.lock_position(conn, batch.dag.dag_id)
        if stored is None or stored.seq != expected:
            return None
        now = db_now(conn)
        with orm(conn) as session:
            dag = dags.get(session, batch.dag.dag_id)
            if dag is None:
                return Outcome(stored, [], complete=False)
            decided = _decide(session, batch, stored, now)
            made = make_runs(session, dag, decided.starts, now)
        if decided.loops:
            mark_suppressed(conn, decided.loops, LOOP)
        if decided.position != stored:
            positions.save_position(conn, batch.dag.dag_id, decided.position)
        return Outcome(decided.position, made, decided.full is None, decided.full)


@dataclass
class _Decided:
    starts: list[Start]
    loops: list[int]
    position: Position
    full: Following | None


def _decide(session: Session, batch: Batch, stored: Position, now: datetime) -> _Decided:
    room = Room(*count_runs(session, [batch.dag.dag_id])[batch.dag.dag_id], config.max_pending())
    limit = config.max_event_depth()
    state = _stop(session, batch, stored.state)
    starts: list[Start] = []
    loops: list[int] = []
    reached, full = batch.reached, None
    for match in batch.matches:
        triggers = tuple(one for one in match.triggers if one.key not in state.get("stopped", ()))
        if not triggers:
            continue
        if isinstance(match.event, Event) and match.event.depth > limit:
            loops.append(match.event.seq)
        elif room.take(triggers[0].subscription):
            starts.append(Start(run_id_of(match.event), match.event, triggers))
        elif isinstance(match.event, Firing) and match.event.repeats:
            continue  # the next check fires again, with what is true then
        else:
            reached, full = match.event.seq - 1, triggers[0].subscription
            break
    if loops:
        state = _warn_of_loop(batch, state, limit, now)
    return _Decided(starts, loops, replace(stored, seq=max(reached, stored.seq), state=state), full)


def _stop(session: Session, batch: Batch, state: dict[str, Any]) -> dict[str, Any]:
    """Add the triggers whose ``stop_after`` has come to those that start no more runs."""
    present = {trigger.key: trigger for trigger in batch.dag.triggers}
    stopped = [key for key in state.get("stopped", ()) if key in present]
    for key, trigger in present.items():
        if (
            trigger.subscription.stop_after
            and key not in stopped
            and has_ended_run(session, batch.dag.dag_id, trigger)
        ):
            stopped.append(key)
            log.info(
                "Trigger %r of Dag %s stops: a run of it is %s.",
                trigger.subscription.trigger_id,
                batch.dag.dag_id,
                " or ".join(trigger.subscription.stop_after),
            )
    rest = {name: value for name, value in state.items() if name != "stopped"}
    return {**rest, "stopped": stopped} if stopped else rest


def _warn_of_loop(batch: Batch, state: dict[str, Any], limit: int, now: datetime) -> dict[str, Any]:
    """Say it once per Dag and hour, whichever process dispatches."""
    last = state.get("loop_warned")
    if last is None or datetime.fromisoformat(last.replace("Z", "+00:00")) <= now - _WARN_EVERY:
        log.warning(
            "Dag %s gets no run from event %s: it is the end of a chain of more than %d runs, each "
            "started by an event of the one before, which looks like a loop. Such events are kept with "
            "suppressed=%s; [airflow_assets] max_event_depth allows longer chains.",
            batch.dag.dag_id,
            batch.matches[-1].event.id,
            limit,
            LOOP,
        )
        return {**state, "loop_warned": iso(now)}
    return state
