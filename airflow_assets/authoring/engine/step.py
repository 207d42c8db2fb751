"""Running one step: its tries, and what is said about each."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.contexts import (
    AssetExecutionContext,
    HookContext,
    PartitionContext,
    TaskExecutionContext,
)
from airflow_assets.authoring.engine.calls import called, is_stream, items
from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.engine.failures import Failures, said_of_failure, say_failed
from airflow_assets.authoring.engine.inputs import arguments
from airflow_assets.authoring.engine.outputs import finish
from airflow_assets.authoring.engine.tries import tried
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.graph.nodes import Gets, Node, Step
from airflow_assets.authoring.hooks import Failure, Hook, Success
from airflow_assets.authoring.results import Materialization, Observation, Output

if TYPE_CHECKING:
    from airflow_assets.authoring.engine.run import Run

log = logging.getLogger("airflow_assets.steps")
__all__ = ["Failures", "call_hooks", "run_step", "said_of_failure"]


def run_step(
    run: Run,
    step: Step,
    emit: Emit,
    *,
    selected: Sequence[str] | None = None,
    started: bool = False,
    wait: Callable[[float], None] = time.sleep,
    single: int | None = None,
) -> Failures:
    """Run a step until it is done or no try is left; events go to ``emit`` as they happen.

    :param selected: the outputs of a multi-asset to store; default all.
    :param started: its start has been told, as a graph asset's is when its first task starts.
    :param wait: waits before another try, in seconds.
    :param single: run this try alone, counted from 1: who calls has a way of his own to try again.

    Raises:
        TryLater: a single try failed, and another is to follow.
    """
    nodes = [node for node in step.nodes if selected is None or node.name in selected]
    silent = iter([started])
    failures, attempt = tried(
        step, emit, lambda: _Attempt(run, step, nodes, emit, started=next(silent, False)), wait, single
    )
    for name, error in failures.items():
        say_failed(run, name, error, emit)
    if step.call is None:  # the hooks of a graph asset are about its output, not about each task
        _call_hooks(run, step, nodes, failures, attempt.values)
    return failures


class _Attempt:
    """One call of the body."""

    def __init__(
        self, run: Run, step: Step, nodes: Sequence[Node], emit: Emit, *, started: bool = False
    ) -> None:
        self.run_, self.step, self.nodes, self.emit = run, step, nodes, emit
        self.started = started
        self.values: dict[str, Any] = {}
        self.streamed = False
        self.done: set[str] = set()

    def run(self) -> Failures:
        """Return why nodes failed."""
        for node in () if self.started else self.nodes:
            self.emit(StepEvent(EventType.StepStart, node.name))
        try:
            context = _context(self.run_, self.step, self.nodes)
            args, kwargs = arguments(self.run_, self.step, context)
            result = called(self.step.function, args, kwargs)
            if self.step.is_multi:
                return self._several(result, context)
            self._finish(self.nodes[0], result, context)
        except BaseException as error:
            if not isinstance(error, Exception):
                raise
            return self._unfinished(error)
        return {}

    def _several(self, result: Any, context: Any) -> Failures:
        if is_stream(result):
            self.streamed = True
            return self._stream(result, context)
        if not isinstance(result, Mapping):
            return self._unfinished(
                ExecutionError(
                    f"Multi-asset {self.step.name!r} gave {type(result).__name__}: return a dict by output, "
                    "or yield an Output(..., output_name=...) for each"
                )
            )
        failures: Failures = {}
        for node in self.nodes:
            try:
                if node.name not in result:
                    raise KeyError(f"Multi-asset {self.step.name!r} returned nothing for {node.name!r}")
                self._finish(node, result[node.name], context)
            except Exception as error:  # noqa: BLE001 - one output that fails holds back no other
                failures[node.name] = error
        return failures

    def _stream(self, stream: Any, context: Any) -> Failures:
        by_name = {node.name: node for node in self.nodes}
        known = {node.name for node in self.step.nodes}
        try:
            for item in items(stream):
                name = _name_of(self.step, item, known)
                if name in self.done:
                    raise ExecutionError(f"Multi-asset {self.step.name!r} yielded {name!r} twice")
                if name in by_name:
                    self._finish(by_name[name], item, context)
        except Exception as error:  # noqa: BLE001 - whatever the body raises is why the rest failed
            return self._unfinished(error)
        return {
            node.name: ExecutionError(f"Multi-asset {self.step.name!r} never yielded {node.name!r}")
            for node in self.nodes
            if node.name not in self.done
        }

    def _finish(self, node: Node, result: Any, context: Any) -> None:
        finish(self.run_, node, context, result, self.emit)
        self.emit(StepEvent(EventType.StepSuccess, node.name))
        self.done.add(node.name)
        self.values[node.name] = result.value if isinstance(result, Output) else result

    def _unfinished(self, error: BaseException) -> Failures:
        left = [node.name for node in self.nodes if node.name not in self.done]
        return dict.fromkeys(left or [self.step.name], error)


def _name_of(step: Step, item: Any, known: Iterable[str]) -> str:
    if not isinstance(item, (Output, Materialization, Observation)):
        raise ExecutionError(
            f"Multi-asset {step.name!r} yielded {type(item).__name__}: yield Output(value, output_name=...)"
        )
    if item.output_name is None:
        raise ExecutionError(f"Multi-asset {step.name!r} yielded a result without output_name")
    if item.output_name not in known:
        raise ExecutionError(
            f"Multi-asset {step.name!r} yielded {item.output_name!r}, and its outputs are {sorted(known)}"
        )
    return item.output_name


def _context(run: Run, step: Step, nodes: Sequence[Node]) -> Any:
    first = nodes[0]
    key = run.key_of(first.name)
    partition = PartitionContext(key, first.partitions) if key else None
    hint = next((one.hint for one in step.parameters if one.gets is Gets.CONTEXT), None)
    config = typed_config(hint, run.config.get(step.asset.name if first.output is None else first.name))
    if step.call is not None and _is_task_context(hint):
        return TaskExecutionContext(first.name, getattr(step.call.task, "tags", None), partition, config)
    declared = first.declared
    return AssetExecutionContext(
        step.name if step.is_multi else first.name,
        declared.tags,
        declared.kinds,
        declared.group,
        declared.code_version,
        asset_metadata=run.metadata_of(first.name),
        partition=partition,
        is_multi_asset=step.is_multi,
        output_selection=[node.name for node in nodes] if step.is_multi else (),
        config=config,
        run_id=run.run_id,
    )


def _is_task_context(hint: Any) -> bool:
    return (getattr(hint, "__origin__", None) or hint) is TaskExecutionContext


def typed_config(hint: Any, given: Any) -> Any:
    """The configuration of a ``Context[Cfg]``, made of what the launch gives; null without ``Cfg``."""
    asked = getattr(hint, "__args__", ())
    if not asked or not isinstance(asked[0], type):
        return None
    return asked[0](**dict(given or {}))


def _call_hooks(
    run: Run, step: Step, nodes: Sequence[Node], failures: Failures, values: Mapping[str, Any]
) -> None:
    for node in nodes:
        if node.name not in failures and node.name in values:
            call_hooks(run, step.asset.hooks or (), Success, node, output=values[node.name])
    if failures:
        name, error = next(iter(failures.items()))
        node = next((node for node in nodes if node.name == name), nodes[0])
        call_hooks(run, step.asset.hooks or (), Failure, node, error=error)


def call_hooks(
    run: Run,
    hooks: Iterable[Hook],
    kind: type[Hook],
    node: Node,
    *,
    output: Any = None,
    error: BaseException | None = None,
) -> None:
    """Call the hooks of a kind; one that fails is logged, and changes nothing."""
    for hook in hooks:
        if not isinstance(hook, kind) or hook.function is None:
            continue
        config = run.config.get(node.name)
        static = run.metadata_of(node.name)
        told: HookContext[Any] = HookContext(node.name, run.run_id, kind.kind, output, error, static, config)
        try:
            called(hook.function, (told,), {})
        except Exception:
            log.exception("The %s hook %r of %r failed", kind.kind, hook.name, node.name)
