"""One try of one step inside a task of Airflow: prepared, run by the engine, recorded, told to Airflow."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.dags.claiming import Claims, claimed
from airflow_assets.authoring.dags.retrying import attempt_of
from airflow_assets.authoring.engine import fanout
from airflow_assets.authoring.engine.actions import run_action
from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.engine.run import Last, Run
from airflow_assets.authoring.engine.step import run_step
from airflow_assets.authoring.engine.tries import TryLater
from airflow_assets.authoring.graph.plan import MATERIALIZE
from airflow_assets.authoring.local.launch import rebuilt
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.storage.interface import AssetClaim, NewRun, StepRecorder
from airflow_assets.schemas.declared import native_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow_assets.authoring.dags.compiled import Compiled
    from airflow_assets.authoring.dags.launches import DagLaunch
    from airflow_assets.authoring.engine.failures import Failures
    from airflow_assets.authoring.graph.nodes import Step
    from airflow_assets.authoring.graph.plan import PlannedStep
    from airflow_assets.authoring.storage.interface import AssetRecord, Storage

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
        self.resources: Mapping[str, Any] = rebuilt(compiled.resources, launch.given)
        self.made: dict[str, list[StepEvent]] = {}
        self.recorder = self._recorder(self.step.name)

    def materialize(self, element: str | None = None) -> None:
        """Make the outputs of the step; or observe them, where it is an observe function.

        :param element: of a mapped step, which element.
        """
        run = self._run()
        self._start_graph()
        step = self.step
        if element is not None:
            step = fanout.instance(step, element, fanout.elements(run, step)[element])
            self.recorder = self._recorder(step.name)
        elif step.call is not None and step.call.collects:
            step = self._collecting(run)
        selected = None if element is not None else self.planned.nodes
        started = step.call is None and self._starts_with_its_tasks(step)
        self._once(
            step,
            lambda attempt: run_step(
                run, step, self._emit, selected=selected, started=started, single=attempt
            ),
        )

    def act(self) -> None:
        """Run an action, or an observe function."""
        action = self.planned.action
        if action is None:
            self.materialize()
            return
        run, step = self._run(), self.step
        self._once(step, lambda attempt: run_action(run, step, action, self._emit, single=attempt))

    def elements(self) -> list[str]:
        """Return what tells the instances of a mapped step apart."""
        return list(fanout.elements(self._run(), self.step))

    def _once(self, step: Step, body: Callable[[int], Failures]) -> None:
        """One try, holding what the step claims; its failure is raised when it has been recorded."""
        failures: Failures = {}
        delay: float | None = None
        try:
            with claimed(self.storage, self._claims(step), self._emit, self._record):
                try:
                    failures = body(self._attempt(step))
                except TryLater as later:
                    failures, delay = {step.name: later.error}, later.delay
                self._record()
        finally:
            self._record()
        self._tell_airflow()
        if failures:
            self._fail(failures, delay)

    def _collecting(self, run: Run) -> Step:
        """The step that collects a fan-out; the mapped step has ended, which is said first."""
        mapped = self.compiled.graph.steps[next(iter(self.step.nodes[0].edges))]
        recorder = self._recorder(mapped.name)
        fanout.say_mapped(run, mapped, False, recorder)
        self._store(recorder)
        return fanout.collecting(run, self.step, list(fanout.elements(run, mapped)))

    def _start_graph(self) -> None:
        """A graph asset starts when its first task does."""
        graph = self.compiled.graph
        name = self.step.asset.name
        if (
            self.step.call is None
            or self.operator.element is not None
            or self._first_of(name) != self.step.name
        ):
            return
        recorder = self._recorder(name)
        key = self.launch.key if graph.nodes[name].partitions is not None else None
        recorder(StepEvent(EventType.StepStart, name, key))
        self._store(recorder)

    def _starts_with_its_tasks(self, step: Step) -> bool:
        return self._first_of(step.name) not in {None, step.name}

    def _first_of(self, name: str) -> str | None:
        """The first task of a graph asset in this run."""
        return next(
            (
                one.name
                for one in self.launch.plan.steps
                if one.step.call is not None and one.step.asset.name == name
            ),
            None,
        )

    def _run(self) -> Run:
        upstreams = {edge.upstream for node in self.step.nodes for edge in node.edges.values()}
        own = {node.name for node in self.step.nodes}
        known = {one.asset_key: one for one in self.storage.get_asset_records(sorted(upstreams | own))}
        return Run(
            self.launch.run_id,
            self.compiled.graph,
            self.compiled.default_handler,
            lambda name: known[name].last_data_version if name in known else None,
            key=self.launch.key,
            resources=self.resources,
            dynamic=self.storage.get_dynamic_partitions,
            config=self.launch.given.config,
            metadata=self.launch.given.metadata,
            last_of=lambda name: _last(known.get(name)),
            fan_keys=self._fan_keys,
        )

    def _fan_keys(self, name: str) -> Sequence[str] | None:
        last = self.storage.get_latest_materialization(name)
        told = dict(last.metadata).get(fanout.KEYS) if last else None
        return (
            None if told is None else fanout.keys_of({fanout.KEYS: MetadataValue.from_json(json.loads(told))})
        )

    def _attempt(self, step: Step) -> int:
        ti = self.context["ti"]
        retries = step.retry.max_retries if step.retry else 0
        return attempt_of(ti.try_number, ti.max_tries, retries)

    def _claims(self, step: Step) -> Claims:
        nodes = self.planned.nodes
        assets = []
        for claim in self.planned.claims():
            node = self.compiled.graph.nodes[claim.asset]
            key = self.launch.key if node.partitions is not None else None
            partitions = tuple(str(one) for one in key) if key is not None else None
            assets.append(AssetClaim(claim.asset, claim.exclusive, partitions))
        return Claims(self.launch.run_id, step.name, nodes, self.planned.pools(), assets)

    def _emit(self, event: StepEvent) -> None:
        self.recorder(event)
        kind = event.event_type
        if kind is EventType.Materialization:
            self.made.setdefault(event.asset_key, []).append(event)
        # What a generator has yielded stands, whatever becomes of the rest; and an action that was cut short
        # must be seen to have begun.
        if kind is EventType.StepStart or (kind is EventType.StepSuccess and self.step.is_multi):
            self._record()

    def _recorder(self, step: str) -> StepRecorder:
        return StepRecorder(self.launch.run_id, step, attempt=self.context["ti"].try_number)

    def _record(self) -> None:
        self._store(self.recorder)

    def _store(self, recorder: StepRecorder) -> None:
        events = recorder.drain()
        if events:
            self.storage.record(self.launch.run_id, events, run=self._new_run())

    def _new_run(self) -> NewRun:
        launch = self.launch
        verb = self.compiled.verb
        return NewRun(
            launch.run_id,
            tuple(launch.plan.nodes),
            action=None if verb == MATERIALIZE else verb,
            partition_key=launch.key,
            job_name=self.context["dag_run"].dag_id,
            launched_by=launch.launched_by,
            config=launch.document or None,
        )

    def _tell_airflow(self) -> None:
        """Leave as outlets what was materialized: Airflow's own events are for those alone."""
        made = {native_name(name): events for name, events in self.made.items()}
        kept = []
        for outlet in self.operator.outlets:
            events = made.get(getattr(outlet, "name", ""))
            if not events:
                continue
            kept.append(outlet)
            said = self.context["outlet_events"][outlet]
            said.extra = {"data_version": events[-1].data_version}
            keys = [str(event.partition_key) for event in events if event.partition_key is not None]
            if keys and hasattr(said, "add_partitions"):
                said.add_partitions(keys)
        self.operator.outlets = kept

    def _fail(self, failures: Failures, delay: float | None) -> None:
        for name, error in list(failures.items())[1:]:
            log.error("%s failed too: %s: %s", name, type(error).__name__, error)
        policy = self.operator.retry_policy
        if policy is not None:
            policy.decide(delay)
        raise next(iter(failures.values()))


def _last(record: AssetRecord | None) -> Last:
    if record is None:
        return Last()
    return Last(record.last_materialization_code_version, dict(record.last_input_data_versions))
