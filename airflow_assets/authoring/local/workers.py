"""Processes that do pieces of work: forked from this one, so that they have all that is defined in it."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, cast

from airflow_assets.authoring.engine.failures import shown
from airflow_assets.authoring.errors import ConfigurationError, ExecutionError
from airflow_assets.authoring.local.work import Work, WorkerDied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airflow_assets.authoring.engine.events import StepEvent
    from airflow_assets.authoring.engine.failures import Failures

    Do = Callable[[Work, Callable[[StepEvent], None]], Failures]


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    work: Work | None = None


class Workers:
    """Some processes, each of which does one piece of work at a time; they are started when there is some.

    :param do: does a piece of work; it and all it refers to is inherited by the processes, not sent.
    """

    def __init__(self, do: Do, count: int) -> None:
        self._do, self._count = do, count
        self._workers: list[_Worker] = []

    @property
    def busy(self) -> int:
        """How many are at work."""
        return sum(1 for worker in self._workers if worker.work is not None)

    @property
    def room(self) -> bool:
        """Whether another piece can be begun."""
        return self.busy < self._count

    def start(self, work: Work) -> None:
        """Begin a piece of work in a process that has none.

        Raises:
            ExecutionError: it cannot travel to another process: an element of a fan-out that is not pickled.
        """
        worker = next((one for one in self._workers if one.work is None), None) or self._forked()
        try:
            worker.pipe.send(work)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise ExecutionError(f"{work.name!r} cannot be sent to another process: {error}") from error
        worker.work = work

    def heard(self, timeout: float | None) -> Iterator[tuple[Work, StepEvent | Failures]]:
        """Yield what the processes say within so many seconds: an event, or how their work ended."""
        by_pipe = {worker.pipe: worker for worker in self._workers if worker.work is not None}
        for pipe in wait(list(by_pipe), timeout):
            worker = by_pipe[pipe]  # type: ignore[index]  # only connections were waited for
            work = cast("Work", worker.work)
            try:
                said = worker.pipe.recv()
            except EOFError:
                said = self._dead(worker, work)
            if isinstance(said, dict):
                worker.work = None
            yield work, said

    def close(self) -> None:
        """End all processes; what they are doing is cut off."""
        for worker in self._workers:
            worker.pipe.close()
            if worker.work is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
        self._workers.clear()

    def _forked(self) -> _Worker:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise ConfigurationError(
                "Executor.parallel() forks processes, which this system cannot: use in_process"
            )
        here, there = multiprocessing.Pipe()
        inherited = [here, *(worker.pipe for worker in self._workers)]
        process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(there, inherited, self._do), daemon=True, name="airflow-assets-step"
        )
        with warnings.catch_warnings():
            # About forking beside threads: ours may hold a lock of the storage, which no worker uses.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        there.close()
        worker = _Worker(process, here)
        self._workers.append(worker)
        return worker

    def _dead(self, worker: _Worker, work: Work) -> Failures:
        worker.process.join()
        self._workers.remove(worker)
        worker.pipe.close()
        code = worker.process.exitcode
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return dict.fromkeys(work.nodes, WorkerDied(f"The process of {work.name!r} ended {how}"))


def _serve(pipe: Connection, inherited: list[Connection], do: Do) -> None:
    """Be a worker, until the pipe is closed at the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides
    for other in inherited:
        other.close()
    while True:
        try:
            work = pipe.recv()
        except EOFError:
            return
        failures = do(work, pipe.send)
        pipe.send({name: _portable(error) for name, error in failures.items()})


def _portable(error: BaseException) -> BaseException:
    """An exception that survives the way; one that does not becomes its text."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - its own
    except Exception:  # noqa: BLE001 - whatever its own methods raise
        return ExecutionError(shown(error))
    return error
