"""One try of one step inside a task of Airflow: prepared, run by the engine, recorded, told to Airflow."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.dags.attempts import attempt_of, reason_of
from airflow_assets.authoring.dags.claiming import Claims, claimed
from airflow_assets.authoring.dags.outlets import keep_materialized
from airflow_assets.authoring.dags.reporting import Report, ends
from airflow_assets.authoring.engine import fanout
from airflow_assets.authoring.engine.actions import run_action
from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.failures import said_of_retry, say_failed
from airflow_assets.authoring.engine.run import Last, Run
from airflow_assets.authoring.engine.step import call_hooks, run_step
from airflow_assets.authoring.engine.tries import TryLater
from airflow_assets.authoring.graph.nodes import Gets
from airflow_assets.authoring.hooks import Failure
from airflow_assets.authoring.local.launch import rebuilt
from airflow_assets.authoring.local.resume import stored_keys
from airflow_assets.authoring.retries import FailureReason
from airflow_assets.authoring.storage.declaring import declarations_of
from airflow_assets.authoring.storage.records import AssetClaim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from airflow_assets.authoring.dags.compiled import Compiled
    from airflow_assets.authoring.dags.launches import DagLaunch
    from airflow_assets.authoring.engine.failures import Failures
    from airflow_assets.authoring.graph.nodes import Step
    from airflow_assets.authoring.graph.plan import PlannedStep
    from airflow_assets.authoring.storage.interface import Storage
    from airflow_assets.authoring.storage.records import AssetRecord

log = logging.getLogger("airflow_assets.steps")


class StepInTask:
    """One try; used once."""

    def __init__(  # noqa: PLR0917 - what a try is made of
        self,
        operator: Any,
        context: Mapping[str, Any],
        compiled: Compiled,
        launch: DagLaunch,
        planned: PlannedStep,
        storage: Storage,
    ) -> None:
        self.operator, self.context, self.compiled = operator, context, compiled
        self.launch, self.planned, self.storage = launch, planned, storage
        self.step: Step = planned.step
        read = {edge.upstream for node in self.step.nodes for edge in node.edges.values()}
        self._names = sorted(read | {node.name for node in self.step.nodes})
        told = {*self._names}
        storage.declare([one for one in declarations_of(compiled.graph) if one.name in told])
        job, attempt = context["dag_run"].dag_id, context["ti"].try_number
        self.report = Report(storage, launch, job, attempt, beside=operator.element is not None)
        self._name = self.step.name
        self._made: dict[str, list[StepEvent]] = {}
        self._known: dict[str, AssetRecord | None] = {}

    def perform(self, element: str | None = None) -> None:
        """Make the outputs of the step, observe them, or run the action.

        :param element: of a mapped step, which element.

        Raises:
            Exception: what the body raised, once it has been recorded.
        """
        self._check_needs()
        with self._resources() as resources:
            run = self._run(resources)
            self._once(run, self._prepared(run, element))

    def elements(self) -> list[str]:
        """Begin a mapped step; return what tells its instances apart."""
        self._check_needs()
        with self._resources() as resources:
            run = self._run(resources)
            self._tell_graph()
            self._emit(StepEvent(EventType.StepStart, self.step.name, run.key_of(self.step.name)))
            try:
                return list(fanout.elements(run, self.step))
            except Exception as error:
                self._failed(run, {self.step.name: error})
                raise

    def _prepared(self, run: Run, element: str | None) -> Step:
        """The step itself, the instance of a fan-out, or the step that collects one."""
        step = self.step
        if element is not None:
            made = fanout.instance(step, element, fanout.elements(run, step)[element])
            self._name = made.name
            return made
        if step.call is None or not step.call.collects:
            return step
        mapped = self.compiled.graph.steps[next(iter(step.nodes[0].edges))]
        fanout.say_mapped(run, mapped, False, self.report.emit_of(ended(mapped)))
        self.report.flush()
        self._known.pop(mapped.nodes[0].name, None)  # it has a version now, which this step reads
        return fanout.collecting(run, step, list(fanout.elements(run, mapped)))

    def _once(self, run: Run, step: Step) -> None:
        """One try, holding what the step claims; its failure is raised when it has been recorded."""
        failures: Failures = {}
        delay: float | None = None
        self._tell_graph()
        with claimed(self.storage, self._claims(step), self._emit, self.report.flush):
            try:
                failures = self._body(run, step)
            except TryLater as later:
                failures, delay = {step.name: later.error}, later.delay
            except BaseException as error:
                if reason_of(error) is not FailureReason.TIMEOUT:
                    raise
                failures, delay = self._cut_short(run, step, error)
            self.report.flush()
        if delay is None:
            self._failed(run, failures)
        keep_materialized(self.operator, self.context, self._made)
        if failures:
            self._raise(failures, delay)

    def _body(self, run: Run, step: Step) -> Failures:
        attempt = self._attempt(step)
        action = self.planned.action
        if action is not None:
            return run_action(run, step, action, self._emit, single=attempt)
        selected = self.planned.nodes if step.is_multi else None
        started = step.call is None and self._first_task_of(step.name) is not None
        return run_step(run, step, self._emit, selected=selected, started=started, single=attempt)

    def _cut_short(self, run: Run, step: Step, error: BaseException) -> tuple[Failures, float | None]:
        """Say how a try ended that Airflow's time-out cut short: the engine never hears of it."""
        attempt, policy = self._attempt(step), step.retry
        again = policy is not None and attempt <= policy.max_retries
        if policy is not None and again and policy.retries(error, FailureReason.TIMEOUT):
            delay = policy.delay(attempt)
            said = said_of_retry(error, attempt, delay)
            self._emit(StepEvent(EventType.StepRetry, step.nodes[0].name, None, said))
            return {step.name: error}, delay
        failures: Failures = {node.name: error for node in step.nodes if node.name not in self._made}
        for name in failures:
            say_failed(run, name, error, self._emit)
        return failures, None

    def _failed(self, run: Run, failures: Failures) -> None:
        """Say what the end of the step means for others."""
        if self._name != self.step.name and not failures:
            return  # an instance of a fan-out: the step that collects speaks for all
        graph = self.step.asset
        if failures and self.step.call is not None and graph.name in self.launch.plan.nodes and graph.hooks:
            error = next(iter(failures.values()))
            call_hooks(run, graph.hooks, Failure, run.node(graph.name), error=error)
        if failures and self._name != self.step.name:
            # Each instance that fails says so, under one name: it is recorded once.
            fanout.say_mapped(run, self.step, True, self.report.emit_of(ended(self.step)))
            failures = {self.step.name: next(iter(failures.values()))}
        self.report.over(run, self.planned, failures)

    def _check_needs(self) -> None:
        """Look whether what the step needs was made: its task also begins after a failure of a multi-asset.

        Raises:
            AirflowFailException: it was not, which has been recorded by the step that failed.
        """
        if self.operator.trigger_rule != "all_done" or not self.planned.needs:
            return
        from airflow.sdk.exceptions import AirflowFailException

        done = ends(self.storage.get_events_for_run(self.launch.run_id))
        missing = [name for name in self.planned.needs if not done.get(name)]
        if missing:
            raise AirflowFailException(f"Skipped: {', '.join(map(repr, missing))} was not made in this run")

    def _tell_graph(self) -> None:
        """A graph asset starts when its first task does."""
        graph = self.step.asset
        first = self.step.call is not None and self._first_task_of(graph.name) == self.step.name
        if not first or self._name != self.step.name or graph.name not in self.launch.plan.nodes:
            return
        key = self.launch.key if self.compiled.graph.nodes[graph.name].partitions is not None else None
        self.report.emit_of(f"{graph.name}__started")(StepEvent(EventType.StepStart, graph.name, key))

    def _first_task_of(self, graph: str) -> str | None:
        """The first task of a graph asset in this run; null for another asset."""
        steps = (one.step for one in self.launch.plan.steps)
        return next((one.name for one in steps if one.call is not None and one.asset.name == graph), None)

    @contextmanager
    def _resources(self) -> Iterator[Mapping[str, Any]]:
        """Set up the resources that the step uses, for as long as the block runs."""
        keys = self._used()
        changed = {key: fields for key, fields in self.launch.given.resources.items() if key in keys}
        found = rebuilt(self.compiled.resources, replace(self.launch.given, resources=changed))
        try:
            for key in keys:
                if key not in changed and hasattr(found[key], "setup"):
                    found[key].setup()
            yield found
        finally:
            for key in keys:
                if hasattr(found[key], "teardown"):
                    found[key].teardown()

    def _used(self) -> list[str]:
        """The keys of the resources that the step's parameters and handlers are."""
        nodes = [self.compiled.graph.nodes[name] for name in self._names]
        handlers = [node.io_handler for node in nodes]
        handlers += [edge.io_handler for node in nodes for edge in node.edges.values()]
        keys = {one.source for one in self.step.parameters if one.gets is Gets.RESOURCE}
        keys |= {
            key for key, value in self.compiled.resources.items() if any(value is one for one in handlers)
        }
        return sorted(keys)

    def _run(self, resources: Mapping[str, Any]) -> Run:
        self._known = dict.fromkeys(self._names)
        self._known |= {one.asset_key: one for one in self.storage.get_asset_records(self._names)}
        return Run(
            self.launch.run_id,
            self.compiled.graph,
            self.compiled.default_handler,
            lambda name: getattr(self._record_of(name), "last_data_version", None),
            self.launch.key,
            resources,
            self.storage.get_dynamic_partitions,
            self.launch.given.config,
            self.launch.given.metadata,
            lambda name: _last(self._record_of(name)),
            self._fan_keys,
        )

    def _record_of(self, name: str) -> AssetRecord | None:
        if name not in self._known:
            self._known[name] = self.storage.get_asset_record(name)
        return self._known[name]

    def _fan_keys(self, name: str) -> Sequence[str] | None:
        event = self.storage.get_latest_materialization(name)
        return None if event is None else stored_keys(event)

    def _attempt(self, step: Step) -> int:
        ti = self.context["ti"]
        return attempt_of(ti.try_number, ti.max_tries, step.retry.max_retries if step.retry else 0)

    def _claims(self, step: Step) -> Claims:
        key = self.launch.key
        partitioned = any(node.partitions is not None for node in self.step.nodes)
        partitions = tuple(map(str, key)) if key is not None and partitioned else None
        assets = [AssetClaim(one.asset, one.exclusive, partitions) for one in self.planned.claims()]
        pools = self.planned.pools()
        limits = {
            name: self.compiled.pool_limits[name] for name, _ in pools if name in self.compiled.pool_limits
        }
        return Claims(self.launch.run_id, step.name, step.nodes[0].name, pools, assets, limits)

    def _emit(self, event: StepEvent) -> None:
        self.report.emit_of(self._name)(event)
        kind = event.event_type
        if kind is EventType.Materialization:
            self._made.setdefault(event.asset_key, []).append(event)
        # What a generator has yielded stands, whatever becomes of the rest; and a body that is cut short must
        # be seen to have begun.
        if kind is EventType.StepStart or (kind is EventType.StepSuccess and self.step.is_multi):
            self.report.flush()

    def _raise(self, failures: Failures, delay: float | None) -> None:
        for name, error in list(failures.items())[1:]:
            log.error("%s failed too: %s: %s", name, type(error).__name__, error)
        policy = getattr(self.operator, "retry_policy", None)
        error = next(iter(failures.values()))
        if policy is not None:
            policy.decide(delay)
        elif delay is None and self.operator.retries:
            from airflow.sdk.exceptions import AirflowFailException

            raise AirflowFailException(f"{type(error).__name__}: {error}") from error
        raise error


def ended(mapped: Step) -> str:
    """Return under which name the end of a mapped step is recorded, which other tasks than its own tell."""
    return f"{mapped.name}__ended"


def _last(record: AssetRecord | None) -> Last:
    if record is None:
        return Last()
    return Last(record.last_materialization_code_version, dict(record.last_input_data_versions))
