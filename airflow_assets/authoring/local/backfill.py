"""Many partitions in many runs: shared out by a strategy, some at a time, recorded as one backfill."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.checks import of_type
from airflow_assets.authoring.errors import ConfigurationError, ExecutionError, PartitionDefinitionError
from airflow_assets.authoring.graph.plan import MATERIALIZE, Plan, action_plan, materialize_plan
from airflow_assets.authoring.local.launching import PRIORITY, Launcher, Order
from airflow_assets.authoring.local.results import BackfillResult, BackfillStatus
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.partitions.strategy import BackfillStrategy
from airflow_assets.authoring.storage.records import BackfillRecord, LaunchedBy

if TYPE_CHECKING:
    from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
    from airflow_assets.authoring.partitions.keys import PartitionKeyRange

CONTINUE, STOP = "continue", "stop_on_failure"
REQUESTED, COMPLETED, FAILED, CANCELED = "requested", "completed", "failed", "canceled"
_SAVE = 0.25
"""Seconds between two records of how far a backfill is: one holds the state of every partition."""
_OVER = ("CompletedSuccess", "CompletedFailed", "Canceled")


@dataclass(frozen=True)
class Asked:
    """A backfill as it was asked for; its document is stored, so that it can be run again."""

    selection: tuple[str, ...] | None
    keys: tuple[PartitionKey, ...]
    runs: tuple[PartitionKey, ...]
    failure_policy: str = CONTINUE
    max_concurrency: int = 4
    tags: tuple[tuple[str, str], ...] = ()
    config: Mapping[str, Any] | None = None
    action: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "selection": None if self.selection is None else list(self.selection),
            "keys": [key.document() for key in self.keys],
            "runs": [key.document() for key in self.runs],
            "failure_policy": self.failure_policy,
            "max_concurrency": self.max_concurrency,
            "tags": [list(pair) for pair in self.tags],
            "config": self.config,
            "action": self.action,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Asked:
        """Return what a document of :meth:`document` says."""
        selection = document["selection"]
        return cls(
            None if selection is None else tuple(selection),
            tuple(map(PartitionKey.from_json, document["keys"])),
            tuple(map(PartitionKey.from_json, document["runs"])),
            document["failure_policy"],
            document["max_concurrency"],
            tuple((key, value) for key, value in document["tags"]),
            document["config"],
            document["action"],
        )


class Backfills:
    """The backfills of one repository."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher, self._storage = launcher, launcher.storage

    def start(
        self,
        selection: Sequence[str] | None,
        partition_keys: Sequence[PartitionKey] | None,
        partition_range: PartitionKeyRange | None,
        strategy: BackfillStrategy | None,
        *,
        failure_policy: str,
        max_concurrency: int,
        tags: tuple[tuple[str, str], ...],
        config: Mapping[str, Any] | None,
        block: bool,
        dry_run: bool,
        action: str | None,
    ) -> BackfillResult:
        """See :meth:`CodeRepository.backfill`."""
        if failure_policy not in {CONTINUE, STOP}:
            raise ConfigurationError(f"failure_policy is {CONTINUE!r} or {STOP!r}, not {failure_policy!r}")
        if of_type(max_concurrency, int, "max_concurrency") < 1:
            raise ConfigurationError(f"max_concurrency is 1 or more, not {max_concurrency}")
        chosen = None if selection is None else tuple(selection)
        plan = self._plan(chosen, action)
        keys = self._keys(plan, partition_keys, partition_range)
        by = strategy or self._declared(plan) or BackfillStrategy.multi_run()
        asked = Asked(
            chosen, keys, tuple(by.runs(keys)), failure_policy, max_concurrency, tags, config, action
        )
        self._launcher.check(Order(plan, PartitionKey.set_of(keys), tags, config))
        return self._go(asked, plan, block=block, dry_run=dry_run)

    def rerun(self, backfill_id: str, *, block: bool, dry_run: bool) -> BackfillResult:
        """See :meth:`CodeRepository.rerun_backfill`."""
        asked = Asked.of(self._found(backfill_id).definition)
        return self._go(asked, self._plan(asked.selection, asked.action), block=block, dry_run=dry_run)

    def status(self, backfill_id: str) -> BackfillStatus | None:
        """See :meth:`CodeRepository.get_backfill`."""
        record = self._storage.get_backfill(backfill_id)
        if record is None:
            return None
        counts = Counter(record.keys.values())
        return BackfillStatus(
            backfill_id,
            record.status,
            record.definition["action"],
            len(record.keys),
            counts[COMPLETED],
            counts[FAILED],
            counts[CANCELED],
            LaunchedBy.manual(),
            list(record.run_ids),
            [(key, value) for key, value in record.definition["tags"]],
        )

    def cancel(self, backfill_id: str) -> bool:
        """See :meth:`CodeRepository.cancel_backfill`."""
        if self._found(backfill_id).status in _OVER:
            return False
        return self._storage.request_backfill_cancellation(backfill_id)

    def _found(self, backfill_id: str) -> BackfillRecord:
        record = self._storage.get_backfill(backfill_id)
        if record is None:
            raise ExecutionError(f"There is no backfill {backfill_id!r}")
        return record

    def _plan(self, selection: Sequence[str] | None, action: str | None) -> Plan:
        graph = self._launcher.graph
        if action is not None and action != MATERIALIZE:
            return action_plan(graph, action, selection or None)
        return materialize_plan(graph, selection or None)

    def _keys(
        self,
        plan: Plan,
        keys: Sequence[PartitionKey] | None,
        wanted: PartitionKeyRange | None,
    ) -> tuple[PartitionKey, ...]:
        if keys is not None and wanted is not None:
            raise ExecutionError("A backfill takes partition_keys or partition_range, not both")
        if keys is not None:
            if not keys:
                raise ExecutionError("partition_keys is empty: name the partitions")
            every = [one for key in keys for one in of_type(key, PartitionKey, "partition_keys")]
            return tuple(dict.fromkeys(every))
        if wanted is None:
            raise ExecutionError("A backfill needs partition_keys or partition_range")
        try:
            return tuple(self._partitions(plan).in_range(wanted, self._launcher.dynamic))
        except PartitionDefinitionError as error:
            raise ExecutionError(f"partition_range: {error}") from error

    def _partitions(self, plan: Plan) -> PartitionsDefinition:
        for planned in plan.steps:
            for node in planned.step.nodes:
                if node.partitions is not None and node.name in planned.nodes:
                    return node.partitions
        raise ExecutionError("Nothing that is selected has partitions to backfill")

    def _declared(self, plan: Plan) -> BackfillStrategy | None:
        declared = (planned.step.asset.backfill_strategy for planned in plan.steps)
        return next((strategy for strategy in declared if strategy is not None), None)

    def _go(self, asked: Asked, plan: Plan, *, block: bool, dry_run: bool) -> BackfillResult:
        if dry_run:
            return _result("", "dry_run", asked, {}, [], dry=True)
        going = _Going(self._launcher, asked, plan)
        going.save("Requested")
        if block:
            return going.run()
        threading.Thread(target=going.run, name=f"airflow-assets-backfill-{going.id}").start()
        return _result(going.id, "Requested", asked, {}, [])


class _Going:
    """One backfill that is run."""

    def __init__(self, launcher: Launcher, asked: Asked, plan: Plan) -> None:
        self.launcher, self.asked, self.plan = launcher, asked, plan
        self.id = str(uuid.uuid4())
        self.states = {str(key): REQUESTED for key in asked.keys}
        self.run_ids: list[str] = []
        self._waiting = deque(asked.runs)
        self._turn = threading.Lock()
        self._save_at = 0.0
        self._error: BaseException | None = None

    def save(self, status: str) -> None:
        """Record how far it is."""
        self._save_at = time.monotonic() + _SAVE
        self.launcher.storage.save_backfill(
            BackfillRecord(self.id, status, self.asked.document(), dict(self.states), tuple(self.run_ids))
        )

    def run(self) -> BackfillResult:
        """Run all of it, and return how it ended."""
        self.save("InProgress")
        # No pool of the standard library: those take no work any more once the interpreter is about to end.
        threads = [
            threading.Thread(target=self._work, name=f"airflow-assets-backfill-{self.id}-{number}")
            for number in range(min(self.asked.max_concurrency, len(self._waiting)) - 1)
        ]
        for thread in threads:
            thread.start()
        self._work()
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error
        status = self._status()
        self.save(status)
        return _result(self.id, status, self.asked, self.states, self.run_ids)

    def _work(self) -> None:
        """Make one run after the other until none is left."""
        try:
            while (key := self._next()) is not None:
                state = COMPLETED if self._one(key) else FAILED
                with self._turn:
                    self._mark([*key], state)
                    if time.monotonic() > self._save_at:
                        self.save("InProgress")
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits for all
            self._error = error

    def _next(self) -> PartitionKey | None:
        with self._turn:
            if self._error is not None or not self._waiting:
                return None
            if self._is_over():
                self._mark([one for key in self._waiting for one in key], CANCELED)
                self._waiting.clear()
                return None
            return self._waiting.popleft()

    def _is_over(self) -> bool:
        if self.asked.failure_policy == STOP and FAILED in self.states.values():
            return True
        record = self.launcher.storage.get_backfill(self.id)
        return record is not None and record.cancel_requested

    def _one(self, key: PartitionKey) -> bool:
        asked = self.asked
        run_id = str(uuid.uuid4())
        self.run_ids.append(run_id)
        tags = (
            asked.tags
            if any(name == PRIORITY for name, _ in asked.tags)
            else (*asked.tags, (PRIORITY, "-10"))
        )
        order = Order(self.plan, key, tags, asked.config, run_id, launched_by=LaunchedBy.backfill(self.id))
        return self.launcher.run(order, raise_on_error=False).success

    def _mark(self, keys: Sequence[PartitionKey], state: str) -> None:
        self.states.update((str(key), state) for key in keys)

    def _status(self) -> str:
        states = set(self.states.values())
        if FAILED in states:
            return "CompletedFailed"
        return "Canceled" if CANCELED in states else "CompletedSuccess"


def _result(  # noqa: PLR0917
    backfill_id: str,
    status: str,
    asked: Asked,
    states: Mapping[str, str],
    run_ids: list[str],
    dry: bool = False,
) -> BackfillResult:
    counts = Counter(states.values())
    return BackfillResult(
        backfill_id,
        len(asked.keys),
        len(asked.runs),
        status,
        counts[COMPLETED],
        counts[FAILED],
        counts[CANCELED],
        list(run_ids),
        dry,
        list(asked.keys),
    )
