"""Local runs in several processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path  # noqa: TC003 - the annotation of a fixture
from typing import Any

import pytest

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.handlers.files import JsonIOHandler, PickleIOHandler
from airflow_assets.authoring.local.executors import Executor
from airflow_assets.authoring.repository import CodeRepository
from airflow_assets.authoring.results import DynamicOutput
from airflow_assets.authoring.retries import FailureReason, RetryPolicy
from airflow_assets.authoring.tasks import Task

TWO = Executor.parallel(max_workers=2)


def repository(path: Path, *assets: Any, **settings: Any) -> CodeRepository:
    return CodeRepository(
        assets=[*assets],
        default_executor=TWO,
        resources={"files": PickleIOHandler(path=str(path))},
        **settings,
    )


def on_files(body: Any, name: str, **settings: Any) -> Asset:
    return Asset(body, name=name, io_handler="files", **settings)


def test_steps_run_at_the_same_time_in_other_processes(tmp_path: Path) -> None:
    def meets(own: str, other: str) -> Any:
        def body() -> int:
            (tmp_path / own).touch()
            until = time.monotonic() + 60
            while not (tmp_path / other).exists():
                assert time.monotonic() < until
            return os.getpid()

        return body

    repo = repository(
        tmp_path,
        on_files(meets("one", "two"), "one"),
        on_files(meets("two", "one"), "two"),
        on_files(lambda one, two: {one, two, os.getpid()}, "both"),
        Asset(lambda both: os.getpid(), name="here"),
    )
    result = repo.materialize()
    assert result.success
    assert os.getpid() not in repo.load_node("both")
    assert repo.load_node("here") == os.getpid()
    states = repo.storage.compute_staleness()
    assert {state for state, _ in states.values()} == {"UpToDate"}
    (record,) = repo.storage.get_asset_records(["both"])
    assert {name for name, _ in record.last_input_data_versions} == {"one", "two"}


def test_failures_come_back_as_they_are_or_as_their_text(tmp_path: Path) -> None:
    def unsendable() -> None:
        class Odd(Exception):
            """Not importable, so not pickled."""

        raise Odd("here")

    repo = repository(
        tmp_path,
        on_files(lambda: {}["day"], "plain"),
        on_files(unsendable, "odd"),
        on_files(lambda odd: 1, "after"),
    )
    result = repo.materialize(raise_on_error=False)
    assert dict(result.failed_assets) == {
        "plain": "KeyError: 'day'",
        "odd": "ExecutionError: Odd: here",
        "after": "ExecutionError: Skipped: upstream dependency failed",
    }
    with pytest.raises(KeyError):
        repo.materialize(["plain"])


def test_a_process_that_dies_fails_its_step_and_may_be_tried_again(tmp_path: Path) -> None:
    def dies() -> int:
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

    asset = on_files(dies, "a")
    result = repository(tmp_path, asset).materialize(raise_on_error=False)
    assert "ended by signal SIGKILL" in result.failed_assets[0][1]
    (tmp_path / "died").unlink()
    repo = repository(
        tmp_path, asset, default_retry_policy=RetryPolicy(1, retry_on=[FailureReason.INFRASTRUCTURE])
    )
    result = repo.materialize()
    kinds = [event.event_type for event in repo.storage.get_events_for_run(result.run_id)]
    assert kinds == ["StepStart", "StepRetry", "StepStart", "Materialization", "StepSuccess"]


def test_a_fan_out_runs_in_other_processes(tmp_path: Path) -> None:
    produce = Task(lambda: [DynamicOutput("x", 1), DynamicOutput("y", 2)], name="produce")
    pids, total = Task(lambda n: (n, os.getpid()), name="pids"), Task(list, name="total")
    total.function = lambda values: values

    @Asset.from_graph(io_handler="files")
    def graph() -> Any:
        return total(produce().map(pids, max_concurrency=1).collect())

    repo = repository(tmp_path, graph)
    repo.materialize()
    found = repo.load_node("graph")
    assert [number for number, _ in found] == [1, 2]
    assert os.getpid() not in {pid for _, pid in found}


def test_an_asset_may_choose_for_itself(tmp_path: Path) -> None:
    chooses = {"metadata": {"rivers/executor": "parallel"}, "io_handler": JsonIOHandler(path=str(tmp_path))}
    repo = CodeRepository(assets=[Asset(os.getpid, name="a", **chooses), Asset(os.getpid, name="b")])  # type: ignore[arg-type]
    repo.materialize()
    assert repo.load_node("a") != os.getpid()
    assert repo.load_node("b") == os.getpid()
    wrong = Asset(lambda: 1, name="a", metadata={"rivers/executor": "pods"})
    with pytest.raises(ConfigurationError, match="'pods'"):
        CodeRepository(assets=[wrong]).materialize()
    for mistake in ({"max_workers": 0}, {"max_async_concurrent": 0}):
        with pytest.raises(ConfigurationError):
            Executor.parallel(**mistake)
