"""What one try of a step says, on its way into the storage; and what its end means for the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.failures import said_of_failure, say_failed
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.graph.plan import MATERIALIZE
from airflow_assets.authoring.storage.records import NewRun, RunStatus, StepRecorder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from airflow_assets.authoring.dags.launches import DagLaunch
    from airflow_assets.authoring.engine.failures import Failures
    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.graph.plan import PlannedStep
    from airflow_assets.authoring.storage.interface import Storage
    from airflow_assets.authoring.storage.records import StoredEvent


class Report:
    """Keeps the events of one try, and writes them; the first ones begin the run.

    :param attempt: Airflow's number of the try: an event is recorded once, however often it is sent.
    :param beside: an instance of a fan-out: it may go on after another one's failure has ended the run.
    """

    def __init__(
        self, storage: Storage, launch: DagLaunch, job: str, attempt: int, *, beside: bool = False
    ) -> None:
        self.storage, self.launch, self.job, self.attempt = storage, launch, job, attempt
        run = storage.get_run(launch.run_id)
        self._begun = run is not None and (beside or run.status == RunStatus.Started.value)
        self._recorders: dict[str, StepRecorder] = {}

    def emit_of(self, step: str) -> StepRecorder:
        """Return the ``emit`` of a step, or of an instance of a fan-out."""
        if step not in self._recorders:
            self._recorders[step] = StepRecorder(self.launch.run_id, step, attempt=self.attempt)
        return self._recorders[step]

    def flush(self) -> None:
        """Write what is kept, in one transaction."""
        events = [event for recorder in self._recorders.values() for event in recorder.drain()]
        if not events:
            return
        run_id = self.launch.run_id
        self.storage.record(run_id, events, run=None if self._begun else self._new_run())
        self._begun = True

    def over(self, run: Run, planned: PlannedStep, failures: Failures) -> None:
        """Say of the steps that need what has failed that they are skipped; end the run with its last."""
        skipped = list(_skipped(self.launch, planned, failures))
        emit = self.emit_of(f"{planned.name}__skips")
        what = "upstream" if self.launch.plan.verb == MATERIALIZE else "ordering"
        error = ExecutionError(f"Skipped: {what} dependency failed")
        for name in skipped:
            if what == "upstream":
                say_failed(run, name, error, emit)
            else:
                emit(StepEvent(EventType.StepFailure, name, None, said_of_failure(error)))
        self.flush()
        if failures or _is_last(self.launch, planned):
            self._finish()

    def _finish(self) -> None:
        """Set the run's last status where every step has ended; whoever ends last finds that."""
        launch = self.launch
        ended = ends(self.storage.get_events_for_run(launch.run_id))
        if any(name not in ended for name in launch.plan.nodes):
            return
        completed = sum(all(ended[name] for name in one.nodes) for one in launch.plan.steps)
        status = RunStatus.Success if all(ended.values()) else RunStatus.Failure
        self.storage.finish_run(launch.run_id, status, completed=completed, total=len(launch.plan.steps))

    def _new_run(self) -> NewRun:
        launch = self.launch
        verb = launch.plan.verb
        return NewRun(
            launch.run_id,
            tuple(launch.plan.nodes),
            action=None if verb == MATERIALIZE else verb,
            partition_key=launch.key,
            job_name=self.job,
            launched_by=launch.launched_by,
            config=launch.document or None,
        )


def ends(events: Iterable[StoredEvent]) -> dict[str, bool]:
    """Return which nodes have ended, and whether well; one that was begun again has not."""
    found: dict[str, bool] = {}
    for event in events:
        name = event.asset_key or ""
        if event.event_type == EventType.StepSuccess.value:
            found[name] = True
        elif event.event_type == EventType.StepFailure.value and event.partition_key is None:
            found[name] = False
        elif event.event_type == EventType.StepStart.value:
            found.pop(name, None)
    return found


def _skipped(launch: DagLaunch, failing: PlannedStep, failures: Failures) -> Iterator[str]:
    failed = {*failures}
    for planned in launch.plan.steps:
        if planned.name != failing.name and failed.intersection(planned.needs):
            failed.update(planned.nodes)
            yield from planned.nodes


def _is_last(launch: DagLaunch, planned: PlannedStep) -> bool:
    """Whether no step of the run needs this one."""
    made = {*planned.nodes}
    return not any(made.intersection(one.needs) for one in launch.plan.steps)
