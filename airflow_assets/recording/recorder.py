"""The end of a try: one call that records it, and what a problem with it does to the task."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_assets import config
from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.recording import airflow_runtime
from airflow_assets.recording.airflow_runtime import Ending
from airflow_assets.recording.declarations import MalformedDeclaration, Rendered, rendered
from airflow_assets.recording.rendering import Renderer
from airflow_assets.recording.settings import FailureBehavior, behavior
from airflow_assets.recording.task_errors import task_error
from airflow_assets.schemas.lineage import (
    Bundle,
    StateCorrection,
    TaskError,
    TaskRun,
    TaskRunRecord,
    TaskState,
)

if TYPE_CHECKING:
    from airflow_assets.recording.body import TaskBody

log = logging.getLogger(__name__)


class TaskFailedByAssets(Exception):
    """Our reason to fail a task that had ended well; ``retry``: another try may end differently."""

    def __init__(self, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.retry = retry


@dataclass(frozen=True)
class End:
    """How a body ended."""

    ending: Ending
    result: Any = None
    error: BaseException | None = None

    @property
    def well(self) -> bool:
        """Tell whether what the body wrote stands."""
        return self.ending is Ending.WELL


def record(body: TaskBody, context: Mapping[str, Any], end: End) -> None:
    """Record a try whose body has ended.

    :raises TaskFailedByAssets: the body ended well; a malformed declaration or the behaviour FAIL fails it.
    """
    attempt = _Attempt(body, context, end)
    if end.well:
        attempt.of_a_good_end()
        return
    try:
        attempt.send(attempt.rendered())
    except _caught() as error:
        log.warning("What this task had read and written is not in the asset catalogue: %s", error)


class _Attempt:
    def __init__(self, body: TaskBody, context: Mapping[str, Any], end: End) -> None:
        self._body = body
        self._context = context
        self._end = end
        self._recorded = False

    def of_a_good_end(self) -> None:
        how = behavior_of(self._body, self._context)
        try:
            problems = self.send(self.rendered(), note=how is FailureBehavior.WARN)
        except MalformedDeclaration as error:
            raise self._failure(f"The declared assets are malformed. {error}", retry=False) from None
        except AssetCatalogError as error:
            problems = [f"Nothing was recorded: {error.title}: {error}"]
        except _caught() as error:
            log.exception("The asset catalogue could not record this task.")
            problems = [f"Nothing was recorded: {type(error).__name__}: {error}"]
        if problems:
            self._answer(problems, how)

    def rendered(self) -> Rendered:
        body, end = self._body, self._end
        return rendered(body, self._context, end.result, ended_well=end.well)

    def send(self, made: Rendered, *, note: bool = False) -> list[str]:
        """Send the record and return what is missing in the catalogue now."""
        bundles = [made.bundle, *self._body.bundles]
        bundles = [bundle for bundle in bundles if bundle.inputs or bundle.outputs]
        warnings = [*made.problems, *self._body.problems]
        if not bundles and not warnings:
            return []
        return warnings + self._call(bundles, warnings, note=note)

    def _call(self, bundles: list[Bundle], warnings: list[str], *, note: bool) -> list[str]:
        from airflow_assets.client import get_client
        from airflow_assets.client.identity import acting_as

        ti = self._body.ti
        this_try = TaskRunRecord(
            task=task_run(ti),
            state=self._state(),
            start_date=ti.start_date,
            end_date=datetime.now(timezone.utc),
            bundles=bundles,
            warnings=warnings,
            error=self._error(),
            note=note,
        )
        with acting_as(ti):
            answer = get_client().record_task_run(this_try)
        self._recorded = True
        return [_described(each.asset_id, each.problem) for each in answer.problems]

    def _error(self) -> TaskError | None:
        end = self._end
        return task_error(end.error) if end.ending is Ending.FAILED and end.error is not None else None

    def _state(self) -> TaskState:
        if self._end.well:
            return TaskState.SUCCESS
        if self._end.ending is Ending.SKIPPED:
            return TaskState.SKIPPED
        return self._failed_state(retry=True)

    def _failed_state(self, *, retry: bool) -> TaskState:
        again = retry and airflow_runtime.retries(self._body.ti, self._end.error)
        return TaskState.UP_FOR_RETRY if again else TaskState.FAILED

    def _answer(self, problems: list[str], how: FailureBehavior) -> None:
        airflow_runtime.count_problem(self._body.ti, how.value)
        told = "\n".join(f"- {problem}" for problem in problems)
        if how is FailureBehavior.FAIL:
            failure = self._failure(
                f"asset_failure_behavior=FAIL fails this task; its body had ended well.\n{told}", retry=True
            )
            self._correct_state(failure)
            raise failure
        level = logging.WARNING if how is FailureBehavior.WARN else logging.INFO
        log.log(
            level,
            "The asset catalogue does not know all that this task did:\n%s\n"
            "asset_failure_behavior=%s leaves the state of the task as it is.",
            told,
            how.value,
        )

    def _correct_state(self, failure: TaskFailedByAssets) -> None:
        if not self._recorded:
            return
        from airflow_assets.client import get_client
        from airflow_assets.client.identity import acting_as

        ti, now = self._body.ti, datetime.now(timezone.utc)
        correction = StateCorrection(
            task=task_run(ti),
            state=self._failed_state(retry=True),
            end_date=now,
            error=task_error(failure),
        )
        try:
            with acting_as(ti):
                get_client().correct_state(correction)
        except AssetCatalogError as error:
            log.warning(
                "The lineage of this task still says success; the reconciler will correct it: %s", error
            )

    def _failure(self, message: str, *, retry: bool) -> TaskFailedByAssets:
        """The task fails for our reason alone: what its body returned stays available."""
        ti, task, result = self._body.ti, self._body.task, self._end.result
        if task.do_xcom_push and result is not None:
            try:
                if task.multiple_outputs and isinstance(result, Mapping):
                    for key, value in result.items():
                        ti.xcom_push(key, value)
                ti.xcom_push("return_value", result)
            except Exception:
                log.exception("The result of this task could not be pushed.")
        return TaskFailedByAssets(message, retry=retry)


def behavior_of(body: TaskBody, context: Mapping[str, Any]) -> FailureBehavior:
    """Return the behaviour of a task; one that cannot be read counts as WARN, and is logged."""
    given = body.settings.asset_failure_behavior
    if isinstance(given, FailureBehavior):
        return given
    try:
        if given is None:
            return FailureBehavior(config.asset_failure_behavior())
        return behavior(Renderer(body.task, context).text(given, "asset_failure_behavior"))
    except Exception as error:  # noqa: BLE001 - a template, or an option with a value that is none
        log.warning("%s It counts as WARN.", error)
        return FailureBehavior.WARN


def task_run(ti: Any) -> TaskRun:
    """Return the try that a running task instance is."""
    return TaskRun(
        dag_id=ti.dag_id,
        run_id=ti.run_id,
        task_id=ti.task_id,
        map_index=-1 if ti.map_index is None else ti.map_index,
        try_number=ti.try_number,
        ti_id=str(ti.id),
    )


def _described(asset_id: str, problem: Mapping[str, Any]) -> str:
    parts = [problem.get("title"), problem.get("detail"), problem.get("hint")]
    return f"{asset_id!r} was not stored: " + " ".join(str(part) for part in parts if part)


def _caught() -> tuple[type[BaseException], ...]:
    """What our own work may raise; a task's time-out that strikes while we record finds its body ended."""
    from airflow.sdk.exceptions import AirflowTaskTimeout

    return (Exception, AirflowTaskTimeout)
