"""Airflows whose parts are killed, paused and doubled: one on each database that people start with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import make_database
from tests.support.airflow_process import AirflowProcess
from tests.support.reporting import attach_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.databases import Databases

RUNNING: list[AirflowProcess] = []
# The tests that leave most behind come last: workers that were killed, then ten thousand queued runs.
ORDER = ("test_sensors.py", "test_polls.py", "test_locks.py", "test_dispatcher.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of one Airflow side by side."""

    def place(item: pytest.Item) -> tuple[bool, str, int]:
        on = item.callspec.params.get("standing", "") if hasattr(item, "callspec") else ""
        return bool(on), on, ORDER.index(item.path.name) if item.path.name in ORDER else -1

    items[:] = sorted(items, key=place)


@pytest.fixture(scope="session", params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def standing(request: pytest.FixtureRequest, databases: Databases) -> Iterator[AirflowProcess]:
    """A healthy Airflow with LocalExecutor on PostgreSQL, then one on SQLite, to break as the tests like."""
    url = "" if request.param == "sqlite" else make_database(databases, request.param)
    with AirflowProcess(database_url=url) as process:
        RUNNING.append(process)
        yield process
        RUNNING.remove(process)


@pytest.fixture
def airflow(standing: AirflowProcess) -> AirflowProcess:
    """The same, with all its parts, whatever a failed test has left of it."""
    for component in standing.missing():
        standing.restart(component)
    return standing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    return attach_logs((yield), RUNNING)
