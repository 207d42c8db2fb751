"""The loop of a local run: begin what can begin, hear how it ended, until nothing is left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.failures import said_of_failure, said_of_retry, say_failed
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.local.graphs import Graphs, is_mapped
from airflow_assets.authoring.local.lanes import Lanes
from airflow_assets.authoring.local.resume import Before
from airflow_assets.authoring.local.schedule import Mapped, Schedule, Unit
from airflow_assets.authoring.local.slots import Slots, doubling
from airflow_assets.authoring.local.work import WorkerDied
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage.records import RunStatus

if TYPE_CHECKING:
    from airflow_assets.authoring.engine.failures import Failures
    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.graph.plan import Plan
    from airflow_assets.authoring.local.executors import Executor
    from airflow_assets.authoring.local.journal import Journal

_HEAR = 0.2
"""Seconds for which the loop waits for a process before it looks whether the run is canceled."""

_LOOK = 0.25
"""Seconds between two looks whether the run is canceled."""


@dataclass
class Ended:
    """How a run ended; ``errors``: by node, in the order in which they happened."""

    status: RunStatus
    errors: Mapping[str, BaseException] = field(default_factory=dict)


class LocalRun:
    """One run of a plan."""

    def __init__(
        self, run: Run, plan: Plan, journal: Journal, executor: Executor, before: Before | None = None
    ) -> None:
        self.run_, self.plan, self.journal = run, plan, journal
        self.before = before or Before()
        self.lanes = Lanes(run, plan, executor)
        self.slots = Slots(journal.storage, run.run_id)
        self.schedule = Schedule(plan)
        self.graphs = Graphs(run, plan, journal)
        self.errors: dict[str, BaseException] = {}
        self._failed: set[str] = set()
        self._units: dict[str, Unit] = {}
        self._canceled, self._look_at = False, time.monotonic() + _LOOK
        self._completed = 0

    def run(self) -> Ended:
        """Run everything, record it, and return how it ended."""
        status = RunStatus.Canceled
        try:
            self._loop()
            if not self._canceled:
                status = RunStatus.Failure if self.errors else RunStatus.Success
        finally:
            self.lanes.close()
            self.journal.finish(status, self._completed, len(self.plan.steps))
            self.slots.close()
        return Ended(status, self.errors)

    def _loop(self) -> None:
        pauses = doubling()
        while self.schedule or self.lanes.busy:
            if self._is_canceled():
                self._canceled = True
                self.schedule.clear()
            begun = self._begin_some()
            ended = self.lanes.ended(_HEAR)
            for work, failures in ended:
                self._end(self._units.pop(work.name), failures)
            if begun or ended:
                pauses = doubling()
            elif self.schedule:
                time.sleep(next(pauses))

    def _is_canceled(self) -> bool:
        """Look now and then, and whenever somebody in this process may have asked for it."""
        now = time.monotonic()
        if now < self._look_at and not self.journal.was_read:
            return self._canceled
        self._look_at, self.journal.was_read = now + _LOOK, False
        return self.journal.storage.is_cancelled(self.run_.run_id)

    def _begin_some(self) -> bool:
        """Begin what there is room for; what cannot have its slots steps aside."""
        begun, aside = False, []
        while self.schedule:
            unit = self.schedule.pop()
            if not self.lanes.room(unit.planned.name):
                aside.append(unit)
                break
            if self._begin(unit):
                begun = True
            else:
                aside.append(unit)
        self.schedule.push(*aside)
        return begun

    def _begin(self, unit: Unit) -> bool:
        """Begin a step, or end it at once; false where it has to wait for slots."""
        if self._is_over_before(unit) or self._is_skipped(unit):
            return True
        if unit.suffix is None and is_mapped(unit.planned):
            self._expand(unit)
            return True
        emit = self.journal.emit_of(unit.name)
        key = self._key_of(unit)
        try:
            if not self.slots.take(unit.name, unit.planned, key, emit):
                self.journal.flush()
                return False
        except ExecutionError as error:
            self._fail(unit, error)
            return True
        self._tell_withheld(unit)
        self.graphs.tell_start(unit.planned)
        self._units[unit.name] = unit
        wait = self.slots.pause(unit.name, unit.planned, key, emit, self.journal.flush)
        self.lanes.start(self._work(unit, key), emit, wait)
        return True

    def _work(self, unit: Unit, key: PartitionKey | None) -> Any:
        step = unit.planned.step
        upstreams = {up for node in step.nodes for up in node.edges} if unit.planned.action is None else set()
        return unit.work(
            key=key,
            versions=self.journal.versions_of(sorted(upstreams)),
            collected=self.graphs.collected(unit.planned),
            started=self.graphs.has_started(unit.name),
            tries=self.before.tries.get(unit.name, 0),
        )

    def _withheld(self, unit: Unit) -> set[PartitionKey]:
        """The partitions that an action before has failed on."""
        if unit.planned.action is None or self.run_.key is None:
            return set()
        found = {one for need in unit.planned.needs for one in self.journal.failed_keys.get(need, ())}
        return found & {*self.run_.key}

    def _key_of(self, unit: Unit) -> PartitionKey | None:
        key, withheld = self.run_.key, self._withheld(unit)
        return PartitionKey.set_of([one for one in key if one not in withheld]) if key and withheld else key

    def _is_over_before(self, unit: Unit) -> bool:
        """Whether an earlier launch of the run has done with it."""
        error = self.before.failed(unit)
        if error is not None:
            self._fail(unit, error)
            return True
        if not self.before.is_done(unit.nodes):
            return False
        self._over(unit, failed=False)
        return True

    def _is_skipped(self, unit: Unit) -> bool:
        planned = unit.planned
        if unit.suffix is not None:
            return False
        cause = next((need for need in planned.needs if need in self._failed), None)
        if cause is not None:
            what = "upstream" if planned.action is None else "ordering"
            self._fail(unit, ExecutionError(f"Skipped: {what} dependency failed"))
            self.graphs.call_failure_hooks(planned, self.errors)
            return True
        withheld = self._withheld(unit)
        if self.run_.key is not None and withheld == {*self.run_.key}:
            self._fail(unit, ExecutionError("Skipped: ordering dependency failed on every key"))
            return True
        return False

    def _tell_withheld(self, unit: Unit) -> None:
        for key in sorted(self._withheld(unit), key=str):
            said = said_of_failure(ExecutionError("Skipped: ordering dependency failed on this key"))
            self.journal.emit_of(unit.name)(StepEvent(EventType.StepFailure, unit.name, key, said))

    def _fail(self, unit: Unit, error: BaseException) -> None:
        """End a step that is not begun."""
        emit = self.journal.emit_of(unit.name)
        for name in unit.nodes:
            if unit.planned.action is None:
                say_failed(self.run_, name, error, emit)
            else:
                emit(StepEvent(EventType.StepFailure, name, None, said_of_failure(error)))
            self.errors[name] = error
        self._failed.update(unit.nodes)
        self._over(unit, failed=True)

    def _end(self, unit: Unit, failures: Failures) -> None:
        """Take in how a step ended that was begun."""
        emit = self.journal.emit_of(unit.name)
        if self.slots.holds(unit.name):
            self.slots.give_back(unit.name, unit.planned, emit)
            self.journal.flush()
            self.slots.free(unit.name)
        if self._again(unit, failures):
            return
        self.errors.update(failures)
        self._failed.update(failures)
        self._over(unit, failed=bool(failures))

    def _again(self, unit: Unit, failures: Failures) -> bool:
        """Whether a step begins anew because its process died, which nobody else could try again."""
        error = next((error for error in failures.values() if isinstance(error, WorkerDied)), None)
        if error is None:
            return False
        emit = self.journal.emit_of(unit.name)
        retry = unit.planned.step.retry
        unit.deaths += 1
        if retry is None or unit.deaths > retry.max_retries or not retry.retries(error):
            for name in unit.nodes:
                say_failed(self.run_, name, error, emit)
            return False
        delay = retry.delay(unit.deaths)
        for name in unit.nodes:
            emit(StepEvent(EventType.StepRetry, name, None, said_of_retry(error, unit.deaths, delay)))
        time.sleep(delay)
        self.schedule.push(unit)
        return True

    def _over(self, unit: Unit, *, failed: bool) -> None:
        """Let those begin that have waited for it."""
        mapped = self.graphs.mapped_of(unit)
        if mapped is None:
            self._completed += not failed
            self.schedule.done(unit.planned.name)
            return
        following = mapped.ended(failed=failed)
        if following is not None:
            self.schedule.push(following)
        self._collapse(mapped)

    def _expand(self, unit: Unit) -> None:
        """Let the instances of a mapped step begin."""
        self.graphs.tell_start(unit.planned)
        try:
            mapped = self.graphs.expand(unit)
        except Exception as error:  # noqa: BLE001 - whatever its handler raises is why it failed
            self._fail(unit, error)
            return
        self.schedule.push(*mapped.first)
        self._collapse(mapped)

    def _collapse(self, mapped: Mapped) -> None:
        """End a mapped step when its last instance has ended."""
        if mapped.left:
            return
        self.graphs.tell_end(mapped)
        if mapped.failed:
            self._failed.update(mapped.planned.nodes)
        self._completed += not mapped.failed
        self.schedule.done(mapped.planned.name)
