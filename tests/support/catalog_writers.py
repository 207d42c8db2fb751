"""Processes that write to a catalogue at the same time, started together."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import traceback
from typing import TYPE_CHECKING, Any

from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import AssetAlreadyExists
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState

if TYPE_CHECKING:
    from collections.abc import Callable

CALLER = Caller(source=Source(kind=SourceKind.TASK, dag_id="d", run_id="r", task_id="t"))
_CONTEXT = multiprocessing.get_context("spawn")
Job = tuple["Callable[..., Any]", tuple[Any, ...]]


def together(
    url: str, jobs: list[Job], *, meanwhile: Callable[[Callable[[], bool]], None] | None = None
) -> list[Any]:
    """Run each job, a function of a service and its arguments, in a process of its own; return what they returned.

    :param meanwhile: called with a function that tells whether all have ended.
    """
    gate = _CONTEXT.Barrier(len(jobs))
    results = _CONTEXT.SimpleQueue()
    processes = [
        _CONTEXT.Process(target=_run, args=(n, url, gate, results, job), daemon=True)
        for n, job in enumerate(jobs)
    ]
    for process in processes:
        process.start()
    try:
        if meanwhile:
            meanwhile(lambda: all(process.exitcode is not None for process in processes))
        answers = dict(results.get() for _ in processes)
    finally:
        for process in processes:
            process.join(timeout=60)
            if process.is_alive():
                process.kill()
    failures = [answer for answer in answers.values() if isinstance(answer, _Failure)]
    assert not failures, "\n".join(failure.text for failure in failures)
    return [answers[n] for n in range(len(jobs))]


class _Failure:
    def __init__(self, text: str) -> None:
        self.text = text


def _run(number: int, url: str, gate: Any, results: Any, job: Job) -> None:
    function, arguments = job
    try:
        engine = make_engine(url, pool_size=1)
        service = CatalogService(engine)
        gate.wait(60)
        answer = function(service, *arguments)
        engine.dispose()
    except BaseException:  # noqa: BLE001 - whatever it is, the test shows it
        answer = _Failure(traceback.format_exc())
    results.put((number, answer))


def record_overlapping(service: CatalogService, seed: int, records: int, assets: int, outputs: int) -> int:
    """Record task runs that write some of the same assets in random order and read others."""
    order = random.Random(seed)  # noqa: S311 - repeatable on purpose
    for n in range(records):
        names = [f"shared.{i}" for i in range(assets)]
        order.shuffle(names)
        bundle = Bundle(
            inputs=[AssetRef(id=name) for name in names[outputs : outputs + 2]],
            outputs=[
                AssetInput(id=name, type="T", metadata={"by": seed, "n": n}) for name in names[:outputs]
            ],
        )
        task = TaskRun(dag_id=f"d{seed}", run_id="r", task_id="t", map_index=n, try_number=1)
        sent = TaskRunRecord(task=task, state=TaskState.SUCCESS, bundles=[bundle])
        result = service.record_task_run(CALLER, sent)
        assert not result.duplicate
        assert len(result.stored) == outputs
    return records


def record_same(service: CatalogService, records: int) -> list[bool]:
    """Record the same task runs as everybody else; tells for each whether somebody was first."""
    answers = []
    for n in range(records):
        task = TaskRun(dag_id="d", run_id="r", task_id="t", map_index=n, try_number=1)
        bundle = Bundle(inputs=[AssetRef(id=f"in.{n}")], outputs=[AssetInput(id=f"out.{n}", type="T")])
        sent = TaskRunRecord(task=task, state=TaskState.SUCCESS, bundles=[bundle])
        answers.append(service.record_task_run(CALLER, sent).duplicate)
    return answers


def create_same(service: CatalogService, count: int) -> list[bool]:
    """Create the same assets as everybody else; tells for each whether this was the one."""
    won = []
    for n in range(count):
        try:
            service.create_asset(CALLER, AssetInput(id=f"new.{n}", type="T"))
            won.append(True)
        except AssetAlreadyExists:
            won.append(False)
    return won


def upsert_same(service: CatalogService, count: int, member: str) -> list[bool]:
    """Upsert the same assets as everybody else, each with a member of its own; tells which were new."""
    sent = [AssetInput(id=f"up.{n}", type="T", metadata={member: n}) for n in range(count)]
    return [service.upsert_asset(CALLER, one).created for one in sent]


def count_up(service: CatalogService, count: int, member: str) -> int:
    """Add one item at a time to a list of one asset."""
    for n in range(count):
        service.upsert_asset(CALLER, AssetInput(id="counter", type="T", metadata={"items": [f"{member}{n}"]}))
    return count


def record_until_killed(service: CatalogService, records: int, pids: Any, seed: int) -> None:
    """Record task runs, each with two bundles, after telling the process id; the parent kills in between."""
    pids.put(os.getpid())
    for task, sent in enumerate(numbered_records(seed, records)):
        service.record_task_run(CALLER, sent)
        pids.put(-task)


def numbered_records(seed: int, records: int) -> list[TaskRunRecord]:
    """The records of one writer, the same in every process."""
    return [
        TaskRunRecord(
            task=TaskRun(dag_id=f"d{seed}", run_id="r", task_id="t", map_index=n, try_number=1),
            state=TaskState.SUCCESS,
            bundles=[
                Bundle(
                    inputs=[AssetRef(id=f"in.{n % 5}")],
                    outputs=[
                        AssetInput(id=f"out.{seed}.{n % 7}", type="T", metadata={"n": n, f"k{n % 3}": part})
                    ],
                )
                for part in range(2)
            ],
        )
        for n in range(records)
    ]


def kill_in_between(url: str, writers: int, records: int, kills: int) -> list[int]:
    """Start writers, kill each (-9) after it has recorded ``kills`` runs; return their exit codes."""
    started = []
    for seed in range(writers):
        pids = _CONTEXT.Queue()
        process = _CONTEXT.Process(target=_record_alone, args=(url, records, pids, seed), daemon=True)
        process.start()
        started.append((process, pids))
    for process, pids in started:
        pid = pids.get(timeout=120)
        for _ in range(kills):
            pids.get(timeout=120)
        os.kill(pid, signal.SIGKILL)
        process.join(timeout=60)
    return [process.exitcode or 0 for process, _ in started]


def _record_alone(url: str, records: int, pids: Any, seed: int) -> None:
    record_until_killed(CatalogService(make_engine(url, pool_size=1)), records, pids, seed)
