"""One real Airflow for this ring, on SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.airflow_process import AirflowProcess
from tests.support.reporting import attach_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNNING: list[AirflowProcess] = []


@pytest.fixture(scope="session")
def airflow() -> Iterator[AirflowProcess]:
    """A healthy Airflow with LocalExecutor; tests write their Dags with `airflow.write_dag`."""
    with AirflowProcess() as process:
        RUNNING.append(process)
        yield process
        RUNNING.remove(process)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    return attach_logs((yield), RUNNING)
