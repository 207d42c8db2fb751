"""Running an action on one asset: what its body gets, what it may say, and what is recorded of it."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.actions import ActionResult, AssetAction, Outcome
from airflow_assets.authoring.contexts import ActionContext, PartitionContext
from airflow_assets.authoring.engine.calls import called
from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.engine.failures import Failures, said_of_failure
from airflow_assets.authoring.engine.inputs import arguments
from airflow_assets.authoring.engine.step import typed_config
from airflow_assets.authoring.engine.tries import tried
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.graph.nodes import Gets, Step
from airflow_assets.authoring.metadata_values import MetadataValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.authoring.engine.run import Run
    from airflow_assets.authoring.partitions.keys import PartitionKey


def run_action(
    run: Run,
    step: Step,
    action: AssetAction,
    emit: Emit,
    *,
    wait: Callable[[float], None] = time.sleep,
    single: int | None = None,
) -> Failures:
    """Run an action until it is done or no try is left; hooks are never called.

    A failure is recorded without the partitions it was for: it does not mean that their data is bad.

    :param wait: waits before another try, in seconds.
    :param single: run this try alone, counted from 1.

    Raises:
        TryLater: a single try failed, and another is to follow.
    """
    failures, _ = tried(step, emit, lambda: _Acting(run, step, action, emit), wait, single)
    for name, error in failures.items():
        emit(StepEvent(EventType.StepFailure, name, None, said_of_failure(error)))
    return failures


class _Acting:
    """One call of an action's body."""

    streamed = False

    def __init__(self, run: Run, step: Step, action: AssetAction, emit: Emit) -> None:
        self.run_, self.step, self.action, self.emit = run, step, action, emit
        self.nodes = step.nodes
        self.name = step.nodes[0].name

    def run(self) -> Failures:
        """Return why it failed."""
        self.emit(StepEvent(EventType.StepStart, self.name))
        try:
            context = self._context()
            args, kwargs = arguments(self.run_, self.step, context)
            result = called(self.step.function, args, kwargs)
            self._finish(self._checked(result), context)
        except Exception as error:  # noqa: BLE001 - whatever the body raises is why it failed
            return {self.name: error}
        return {}

    def _context(self) -> ActionContext[Any]:
        key = self.run_.key_of(self.name)
        hint = next((one.hint for one in self.step.parameters if one.gets is Gets.CONTEXT), None)
        return ActionContext(
            self.name,
            self.action.name,
            self.run_.run_id,
            asset_metadata=self.run_.metadata_of(self.name),
            partition=PartitionContext(key, self.step.nodes[0].partitions) if key else None,
            io_handler=self.run_.handler(self.name),
            config=typed_config(hint, self.run_.config.get(self.name)),
        )

    def _checked(self, result: Any) -> ActionResult | None:
        where = f"Action {self.action.name!r} of {self.name!r}"
        if result is not None and not isinstance(result, ActionResult):
            raise ExecutionError(
                f"{where} returned {type(result).__name__}: return None, ActionResult.unchanged(...) or "
                "ActionResult.materialized(...)"
            )
        if result and result.is_materialized and self.action.outcome is not Outcome.MayMaterialize:
            raise ExecutionError(
                f"{where} declares Outcome.{self.action.outcome.name} and reported a materialization; "
                "declare Outcome.MayMaterialize"
            )
        return result

    def _finish(self, result: ActionResult | None, context: ActionContext[Any]) -> None:
        keys: list[PartitionKey | None] = list(self.run_.key_of(self.name) or [None])
        event = self._event(result)
        for key in keys:
            failed = context.failed_partitions.get(str(key)) if key else None
            if failed is None:
                self.emit(event(key))
            else:
                said = {"error": MetadataValue.text(failed), "action": MetadataValue.text(self.action.name)}
                self.emit(StepEvent(EventType.StepFailure, self.name, key, said))
        self.emit(StepEvent(EventType.StepSuccess, self.name))

    def _event(self, result: ActionResult | None) -> Callable[[PartitionKey | None], StepEvent]:
        """What is said of each partition."""
        metadata = dict(result.metadata) if result else {}
        if result and result.is_materialized:
            # The asset's own body did not run: what it was made with stays.
            last = self.run_.last_of(self.name)
            version = result.data_version or str(uuid.uuid4())
            return lambda key: StepEvent(
                EventType.Materialization,
                self.name,
                key,
                metadata,
                version,
                last.code_version,
                last.input_data_versions,
            )
        deleted = self.action.outcome is Outcome.Unmaterialize and result is None
        kind = EventType.Deletion if deleted else EventType.ActionCompleted
        metadata["action"] = MetadataValue.text(self.action.name)
        return lambda key: StepEvent(kind, self.name, key, metadata)
