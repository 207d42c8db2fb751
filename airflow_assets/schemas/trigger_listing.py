"""The triggers in the schedules of Dags, with what came of them: for pages and monitors."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Field

from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.events import EventFilter
from airflow_assets.schemas.freshness import FreshnessCheck
from airflow_assets.schemas.polls import Mode
from airflow_assets.schemas.queries import Limit
from airflow_assets.schemas.subscription import OnPause


class TriggerKind(str, Enum):
    """EventTrigger, FreshnessTrigger, ScriptTrigger."""

    EVENT = "event"
    FRESHNESS = "freshness"
    SCRIPT = "script"


class TriggerQuery(Schema):
    """One page of triggers, by Dag."""

    dag_id: Annotated[str, Field(min_length=1, max_length=250)] | None = None
    kind: TriggerKind | None = None
    limit: Limit = 100
    cursor: str | None = None


class EdgeState(Schema):
    """What the last check of a polled trigger left behind, which decides whether the next one fires.

    :param matched: of a script: whether its condition held.
    :param stale: of a freshness trigger with ``mode="transitions"``: how many assets were stale.
    """

    matched: bool | None = None
    stale: int | None = None


class PollInfo(Schema):
    """What the server knows of a polled trigger; equal triggers of several Dags share it.

    :param check: which assets a freshness trigger looks at. :param edge: a script fires when it begins to
        match, not at each check.
    :param next_check: when the next check is due. :param last_error: why the last check found nothing out.
    """

    interval: str
    mode: Mode | None = None
    check: FreshnessCheck | None = None
    edge: bool | None = None
    checks: int
    last_check: Utc
    next_check: Utc
    last_error: str | None
    edge_state: EdgeState | None


class TriggerInfo(Schema):
    """One trigger of one Dag.

    :param trigger_id: what a run calls the trigger that started it.
    :param title: what it waits for, in words.
    :param filter: of an event trigger. :param poll: of the others; null until the first check is reported.
    :param held: the Dag's file does not import at the moment, so its events wait.
    :param unread: entries of the log that the dispatcher has not looked at for this Dag.
    :param last_firing: the time of the last event or check that started a run of this Dag for this trigger.
    :param last_run_id: that run; null for a polled trigger whose run is gone.
    """

    dag_id: str
    kind: TriggerKind
    trigger_id: str
    position: int
    title: str
    since: Utc
    dag_paused: bool
    held: bool
    filter: EventFilter | None = None
    poll: PollInfo | None = None
    when: str | None
    stop_after: list[str]
    allow_concurrent: bool
    on_pause: OnPause
    max_pending: int | None
    unread: int | None
    last_firing: Utc | None
    last_run_id: str | None


class Triggers(Schema):
    """One page of triggers; it may be shorter than its limit and still carry ``next_cursor``."""

    items: list[TriggerInfo]
    next_cursor: str | None = None
