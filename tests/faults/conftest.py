"""Airflows whose parts are killed, paused and doubled: one a test module, on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.airflow_process import AirflowProcess
from tests.support.reporting import attach_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNNING: list[AirflowProcess] = []


@pytest.fixture(scope="module")
def airflow(postgres_url: str) -> Iterator[AirflowProcess]:
    """A healthy Airflow with LocalExecutor on PostgreSQL; it is this module's own, to break as it likes."""
    with AirflowProcess(database_url=postgres_url) as process:
        RUNNING.append(process)
        yield process
        RUNNING.remove(process)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    return attach_logs((yield), RUNNING)
