"""One real Airflow for this ring, on SQLite, and databases of Airflow's on which its processes do not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from airflow_assets.airflow_bridge.dispatcher import Dispatcher
from tests.support.airflow_database import AirflowDatabase
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


@pytest.fixture(scope="module")
def database(database_url: str) -> Iterator[AirflowDatabase]:
    """Airflow's database without Airflow's processes, once on each of SQLite, PostgreSQL and MariaDB."""
    found = AirflowDatabase(database_url)
    yield found
    found.close()


@pytest.fixture
def db(database: AirflowDatabase) -> Iterator[AirflowDatabase]:
    """The same, in which the Dags of other tests are gone; the log goes on."""
    yield database
    from airflow.models.dag import DagModel

    database.in_session(lambda session: session.execute(update(DagModel).values(is_stale=True)))


@pytest.fixture
def dispatcher(db: AirflowDatabase) -> Iterator[Dispatcher]:
    """A dispatcher that makes a pass when it is told to."""
    found = Dispatcher(db.engine)
    yield found
    found.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    return attach_logs((yield), RUNNING)
