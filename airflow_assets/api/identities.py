"""Who may call: a person, a task, a trigger, a Dag file; what each may do, and as whom it acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any, Protocol

from airflow_assets import config
from airflow_assets.airflow_bridge import teams, users
from airflow_assets.airflow_bridge.task_instances import TaskTry
from airflow_assets.api.permissions import AIRFLOW_METHODS, OF_DAG_FILES, OF_TRIGGERS, READS, names, refused
from airflow_assets.exceptions import NotPermitted
from airflow_assets.schemas.actors import Source, SourceKind
from airflow_assets.schemas.lineage import TaskRun
from airflow_assets.schemas.operations import Action

RECORD_WINDOW = timedelta(minutes=10)
"""How long after the end of its try a task may record it: the recorder runs at the very end of a task."""
WRITING_STATES = frozenset({"running", "deferred"})
OF_PROGRAMS = {
    Action.RECORD: (
        "only a task says what it read and wrote",
        "Create or update the asset itself instead.",
    ),
    Action.REPORT: (
        "only the trigger of a polled schedule reports what it found",
        "Ask with POST /freshness/check which assets are stale.",
    ),
}
"""What only tasks and triggers do: why, and what a person does instead."""


class Identity(Protocol):
    """An authenticated caller."""

    @property
    def source(self) -> Source:
        """As whom it writes."""

    @property
    def clear_number(self) -> int | None:
        """How often the calling task's Dag run has been cleared, if that is known."""

    def check(self, action: Action) -> None:
        """Refuse what the caller may not do.

        :raises NotPermitted: naming the caller, the action and the reason.
        """

    def recorder(self, task: TaskRun) -> Source:
        """Return as whom the record of a task's try is written.

        :raises NotPermitted: the record is not the caller's to send.
        """

    def check_waits_for(self, ti_id: str, *, resume: bool) -> None:
        """Refuse who would keep or move the place of a sensor that is not its own.

        :raises NotPermitted: naming the caller and the task instance.
        """

    def is_member(self, team: str) -> bool:
        """Whether the caller belongs to a team of Airflow."""


@dataclass(frozen=True)
class TaskIdentity:
    """A task that proved with a managed token which try it is."""

    attempt: TaskTry

    @property
    def source(self) -> Source:
        """The task instance."""
        attempt = self.attempt
        return Source(
            kind=SourceKind.TASK,
            dag_id=attempt.dag_id,
            run_id=attempt.run_id,
            task_id=attempt.task_id,
            map_index=attempt.map_index,
            try_number=attempt.try_number,
            ti_id=attempt.ti_id,
        )

    @property
    def clear_number(self) -> int | None:
        """Its run's, as Airflow's tables say."""
        return self.attempt.clear_number

    def check(self, action: Action) -> None:
        """Reads are free; writes need a running or deferred try; RECORD waits ten minutes longer."""
        if action is Action.REPORT:
            raise refused(self._name, action, *OF_PROGRAMS[action])
        if action in READS or self.attempt.state in WRITING_STATES:
            return
        if action is Action.RECORD and self._ended_recently():
            return
        raise refused(
            self._name,
            action,
            f"this try is {self.attempt.state or 'not started'}, not running or deferred",
            "Write while the task runs; what it did is accepted until 10 minutes after its end.",
        )

    def recorder(self, task: TaskRun) -> Source:
        """The very try that calls, and no other."""
        own = self.attempt
        mine = (own.dag_id, own.run_id, own.task_id, own.map_index, own.try_number)
        if (task.dag_id, task.run_id, task.task_id, task.map_index, task.try_number) == mine:
            return self.source
        raise NotPermitted(
            f"{self._name} sends the record of {task.dag_id}.{task.task_id} (run {task.run_id}, map index "
            f"{task.map_index}, try {task.try_number}).",
            hint="A task records only its own try.",
            action=Action.RECORD.value,
        )

    def check_waits_for(self, ti_id: str, *, resume: bool) -> None:  # noqa: ARG002
        """A task for its own try."""
        if ti_id != self.attempt.ti_id:
            raise _not_its_own(self._name, ti_id)

    def is_member(self, team: str) -> bool:
        """The team of its Dag."""
        return self._team == team

    @cached_property
    def _team(self) -> str | None:
        return teams.team_of_dag(self.attempt.dag_id)

    def _ended_recently(self) -> bool:
        ended = self.attempt.end_date
        return ended is not None and datetime.now(timezone.utc) - ended <= RECORD_WINDOW

    @property
    def _name(self) -> str:
        own = self.attempt
        return f"The task {own.dag_id}.{own.task_id} (run {own.run_id}, try {own.try_number})"


@dataclass(frozen=True)
class ReaderIdentity:
    """A trigger or a Dag file: it reads, and has no state that could make it a writer.

    :param find_dag: returns the Dag it belongs to; called when that matters: a thousand may wait.
    """

    kind: SourceKind
    user: str
    name: str
    allowed: frozenset[Action]
    find_dag: Callable[[], str | None] = lambda: None
    clear_number: int | None = None

    @classmethod
    def trigger(cls, trigger_id: str, find_dag: Callable[[], str | None]) -> ReaderIdentity:
        """A trigger in the triggerer, of the Dag whose task waits for it (none: an asset watcher's)."""
        name = f"The trigger {trigger_id}"
        return cls(SourceKind.TRIGGER, f"trigger:{trigger_id}", name, OF_TRIGGERS, find_dag)

    @classmethod
    def dag_file(cls, name: str) -> ReaderIdentity:
        """A Dag file that is being parsed."""
        return cls(SourceKind.PARSE, name, f"The Dag file {name}", OF_DAG_FILES)

    @cached_property
    def source(self) -> Source:
        """The trigger or the file."""
        return Source(kind=self.kind, dag_id=self._dag_id, user=self.user)

    def check(self, action: Action) -> None:
        """Only the reads of its kind."""
        if action not in self.allowed:
            raise refused(self.name, action, f"it may only {names(self.allowed)}", "Write from a task.")

    def recorder(self, task: TaskRun) -> Source:
        """Nobody: it is no task."""
        raise refused(self.name, Action.RECORD, f"it is not the task {task.dag_id}.{task.task_id}")

    def check_waits_for(self, ti_id: str, *, resume: bool) -> None:
        """A trigger may say that its task still waits; it carries its place itself and goes on from no other.

        That the task instance is its own is not looked up: a thousand triggers say this every 25 seconds, and
        it only moves what purge must keep.
        """
        if resume or self.kind is not SourceKind.TRIGGER:
            raise _not_its_own(self.name, ti_id)

    def is_member(self, team: str) -> bool:
        """The team of the waiting task's Dag."""
        return self._team == team

    @cached_property
    def _dag_id(self) -> str | None:
        return self.find_dag()

    @cached_property
    def _team(self) -> str | None:
        return teams.team_of_dag(self._dag_id) if self._dag_id is not None else None


@dataclass(frozen=True)
class UserIdentity:
    """A person (or a service) that Airflow's auth manager knows."""

    user: Any
    through_ui: bool
    clear_number: int | None = None

    @property
    def source(self) -> Source:
        """The user, and whether a browser's cookie or a token brought the request."""
        return Source(
            kind=SourceKind.UI if self.through_ui else SourceKind.API, user=str(self.user.get_name())
        )

    def check(self, action: Action) -> None:
        """Ask Airflow's auth manager for the right on assets that the action needs.

        Only tasks record and triggers report, so a person does not; unless the site has its tasks log in as
        users (``task_auth = user``): then whoever may create and update may do that too.
        """
        if action in OF_PROGRAMS:
            self._check_may_speak_for(action)
            return
        method = AIRFLOW_METHODS[action]
        if not users.may_access_assets(self.user, method):
            raise refused(
                self._name,
                action,
                f"Airflow's auth manager does not grant {method} on assets",
                "An administrator can give the user a role that has it (docs/permissions.md).",
            )

    def recorder(self, task: TaskRun) -> Source:
        """The task that logged in as this user; which one it is, is its own word."""
        self._check_may_speak_for(Action.RECORD)
        return Source(
            kind=SourceKind.TASK,
            user=self.source.user,
            dag_id=task.dag_id,
            run_id=task.run_id,
            task_id=task.task_id,
            map_index=task.map_index,
            try_number=task.try_number,
            ti_id=task.ti_id,
        )

    def check_waits_for(self, ti_id: str, *, resume: bool) -> None:  # noqa: ARG002
        """Nobody, unless the site has its tasks log in as users: then which one it is, is its own word."""
        if config.task_auth() != "user":
            raise _not_its_own(self._name, ti_id)

    def is_member(self, team: str) -> bool:
        """Ask Airflow's auth manager."""
        return users.is_member(self.user, team)

    def _check_may_speak_for(self, action: Action) -> None:
        if config.task_auth() != "user":
            raise refused(self._name, action, *OF_PROGRAMS[action])
        for needed in (Action.CREATE, Action.UPDATE):
            self.check(needed)

    @property
    def _name(self) -> str:
        return f"The user {self.user.get_name()}"


def _not_its_own(who: str, ti_id: str) -> NotPermitted:
    return NotPermitted(
        f"{who} may not keep the place of the task instance {ti_id}.",
        hint="Leave keepFor out: the cursor of each answer leads on.",
        action=Action.LIST.value,
    )
