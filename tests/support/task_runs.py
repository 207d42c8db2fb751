"""Runs the tasks of a compiled Dag one after the other, where no Airflow can run.

It stands in for Airflow's scheduler and task runner: trigger rules, tries, mapped tasks, and the context of a
task as far as steps read it. What Airflow itself makes of these Dags is shown in tests/airflow.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException, AirflowTaskTimeout

from airflow_assets.authoring.dags import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pytest
    from airflow.sdk import DAG

    from airflow_assets.authoring.storage.interface import Storage

BAD = {"failed", "upstream_failed"}


class TaskRuns:
    """Runs Dags against one storage; ``states`` are those of the last run, ``tries`` how often each ran."""

    def __init__(self, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.storage = storage
        self.states: dict[str, str] = {}
        self.tries: dict[str, int] = {}
        self.waits: list[float] = []
        self.errors: dict[str, BaseException] = {}
        self.outlets: dict[str, list[str]] = {}
        self.count = 0

        @contextmanager
        def storage_of(ti: Any) -> Iterator[Storage]:
            yield storage

        monkeypatch.setattr(running, "storage_of", storage_of)

    def run(
        self,
        dag: DAG,
        *,
        run_type: str = "manual",
        partition_key: str | None = None,
        logical_date: Any = None,
        run_id: str | None = None,
        only: set[str] | None = None,
        first_try: int = 1,
        **params: Any,
    ) -> str:
        """Run all tasks and return the id of the run in the storage.

        :param only: tasks that were cleared; the others keep their state.
        """
        self.count += 1
        run_id = run_id or f"run-{self.count}"
        self.states = {name: state for name, state in self.states.items() if only and name not in only}
        dag_run = SimpleNamespace(
            dag_id=dag.dag_id, run_id=run_id, run_type=run_type, partition_key=partition_key
        )
        values = {**dag.params.dump(), **params}
        base = {"dag_run": dag_run, "run_id": run_id, "params": values, "logical_date": logical_date}
        returned: dict[str, Any] = {}
        for task in dag.topological_sort():  # type: ignore[no-untyped-call] # of Airflow
            if only is None or task.task_id in only:
                self._task(task, base, returned, first_try)
        return f"{dag.dag_id}/{run_id}"

    def _task(self, task: Any, base: Mapping[str, Any], returned: dict[str, Any], first_try: int) -> None:
        upstreams = [self.states[name] for name in task.upstream_task_ids]
        if task.trigger_rule == "none_failed" and BAD.intersection(upstreams):
            self.states[task.task_id] = "upstream_failed"
            return
        if not task.is_mapped:
            self.states[task.task_id] = self._tries(task, base, -1, returned, first_try)
            return
        (elements,) = task.upstream_task_ids & returned.keys()
        operators = [
            (index, task.unmap({"element": element})) for index, element in enumerate(returned[elements])
        ]
        ended = [self._tries(one, base, index, returned, first_try) for index, one in operators]
        self.states[task.task_id] = "failed" if "failed" in ended else "success" if ended else "skipped"

    def _tries(
        self, task: Any, base: Mapping[str, Any], index: int, returned: dict[str, Any], first_try: int
    ) -> str:
        number = first_try - 1
        last = number + task.retries
        while True:
            number += 1
            self.tries[task.task_id] = self.tries.get(task.task_id, 0) + 1
            ti = SimpleNamespace(try_number=number, max_tries=last, map_index=index)
            outlets: dict[Any, Any] = defaultdict(lambda: SimpleNamespace(extra={}))
            try:
                returned[task.task_id] = task.execute({**base, "ti": ti, "outlet_events": outlets})
            except AirflowSkipException:
                return "skipped"
            except AirflowFailException as error:
                self.errors[task.task_id] = error
                return "failed"
            except (Exception, AirflowTaskTimeout) as error:  # noqa: BLE001 - as Airflow does
                self.errors[task.task_id] = error
                if not self._again(task, error, number, last):
                    return "failed"
                continue
            self.outlets[task.task_id] = [one.name for one in task.outlets]
            return "success"

    def _again(self, task: Any, error: BaseException, number: int, last: int) -> bool:
        if number > last or task.retry_policy is None:
            return number <= last
        decision = task.retry_policy.evaluate(error, number, last)
        if decision.action.value == "retry":
            self.waits.append(decision.retry_delay.total_seconds())
        return bool(decision.action.value != "fail")
