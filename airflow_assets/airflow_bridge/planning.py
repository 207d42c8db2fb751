"""Decides which events and firings start which runs. Knows no database."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_assets.airflow_bridge.conditions import ConditionFailed, Conditions
from airflow_assets.airflow_bridge.payload import condition_payload
from airflow_assets.airflow_bridge.subscriptions import Trigger
from airflow_assets.schemas.events import Event
from airflow_assets.schemas.matching import event_matches
from airflow_assets.schemas.polls import Firing
from airflow_assets.schemas.rules import DEFAULT_TENANT
from airflow_assets.schemas.runs import Entry
from airflow_assets.schemas.subscription import OnPause, PolledSubscription, Subscription
from airflow_assets.schemas.transfer import IMPORTED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airflow_assets.airflow_bridge.subscriptions import SubscribedDag
    from airflow_assets.schemas.subscription import Following

log = logging.getLogger(__name__)
WARN_EVERY = 3600.0


@dataclass(frozen=True)
class Match:
    """An entry that starts a run, and the triggers that it matches, the one that names the run first."""

    event: Entry
    triggers: tuple[Trigger, ...]


def writers_of(entries: Sequence[Entry]) -> set[str]:
    """Return the Dags whose tasks wrote the events among the entries."""
    events = [entry for entry in entries if isinstance(entry, Event)]
    return {event.source.dag_id for event in events if event.source.dag_id}


class Room:
    """How many runs a Dag may still get.

    :param queued: runs of the Dag that wait. :param active: runs that wait or run.
    """

    def __init__(self, queued: int, active: int, default_limit: int) -> None:
        self._queued = queued
        self._active = active
        self._default_limit = default_limit

    def take(self, subscription: Following) -> bool:
        """Take the place of one run; False when there is none."""
        full = self._queued >= (subscription.max_pending or self._default_limit)
        if full or (self._active and not subscription.allow_concurrent):
            return False
        self._queued += 1
        self._active += 1
        return True


class Matcher:
    """Tells which triggers of a Dag an entry matches."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._warned: dict[tuple[str, str], float] = {}

    def matches(
        self,
        dag: SubscribedDag,
        events: Sequence[Entry],
        stopped: frozenset[str],
        teams: dict[str, str | None],
        present_id: Callable[[str], str],
    ) -> list[Match]:
        """Return the entries that start a run of the Dag, in their order.

        :param stopped: keys of triggers that start no more runs. :param teams: of the Dags that wrote.
        :param present_id: returns the id that an asset of this id has now.
        """
        triggers = [
            trigger
            for trigger in dag.triggers
            if trigger.key not in stopped
            and not (dag.paused and trigger.subscription.on_pause is OnPause.SKIP)
        ]
        found = []
        for event in events:
            if not _may_start(dag, event, teams):
                continue
            hits = tuple(trigger for trigger in triggers if self._hits(dag, trigger, event, present_id))
            if hits:
                found.append(Match(event, hits))
        return found

    def _hits(
        self, dag: SubscribedDag, trigger: Trigger, event: Entry, present_id: Callable[[str], str]
    ) -> bool:
        subscription = trigger.subscription
        if not _concerns(subscription, event, present_id):
            return False
        if subscription.when is None:
            return True
        try:
            return self._conditions.holds(subscription.when, condition_payload(event))
        except ConditionFailed as error:
            self._warn(dag.dag_id, subscription.trigger_id, event, error)
            return False

    def _warn(self, dag_id: str, trigger_id: str, event: Entry, error: Exception) -> None:
        now = time.monotonic()
        if now - self._warned.get((dag_id, trigger_id), -WARN_EVERY) >= WARN_EVERY:
            self._warned[dag_id, trigger_id] = now
            log.warning(
                "The condition when= of trigger %r of Dag %s counts as false for %s: %s",
                trigger_id,
                dag_id,
                event.id,
                error,
            )


def _concerns(
    subscription: Subscription | PolledSubscription, entry: Entry, present_id: Callable[[str], str]
) -> bool:
    """Whether the trigger follows what the entry tells of."""
    if isinstance(entry, Firing):
        return isinstance(subscription, PolledSubscription) and subscription.poll_key == entry.poll_key
    return isinstance(subscription, Subscription) and event_matches(
        subscription.filter, entry, resolve=present_id
    )


def _may_start(dag: SubscribedDag, event: Entry, teams: dict[str, str | None]) -> bool:
    """Dags follow the default tenant, a team's Dags only what its Dags write; none what an import brought."""
    if isinstance(event, Firing):
        return True  # the check has left out what is hidden from the triggerer
    if event.asset.tenant_id != DEFAULT_TENANT or (event.suppressed or "").startswith(IMPORTED):
        return False
    return dag.team is None or teams.get(event.source.dag_id or "") == dag.team
