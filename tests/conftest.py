"""What every ring of tests shares: databases, and a home for Airflow that is not the developer's own."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Before anything imports Airflow: it reads its home once, at import.
_HOME = Path(tempfile.mkdtemp(prefix="aa-home-"))
os.environ["AIRFLOW_HOME"] = str(_HOME)
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "False")
os.environ.setdefault("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{_HOME}/airflow.db")

from tests.support.databases import BACKENDS, DatabaseMissingError, Databases, allowed_missing  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt("SIGTERM")


def pytest_configure(config: pytest.Config) -> None:
    # Whoever ends the run by TERM (a time limit, CI) still gets its servers stopped: fixtures are torn down.
    signal.signal(signal.SIGTERM, _interrupt)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """All database servers of this run, started on first use."""
    running = Databases()
    yield running
    running.stop()


def make_database(databases: Databases, backend: str) -> str:
    """A new empty database's URL; skips only what `ALLOW_MISSING` names, else a missing server is an error."""
    try:
        return databases.server(backend).create_database()
    except DatabaseMissingError as missing:
        if backend in allowed_missing():
            pytest.skip(f"ALLOW_MISSING={backend}: {missing}")
        raise


@pytest.fixture(scope="module", params=BACKENDS)
def database_url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """An empty database for this test module, once on each of SQLite, PostgreSQL and MariaDB."""
    url = make_database(databases, request.param)
    yield url
    databases.server(request.param).drop_database(url)


@pytest.fixture(params=BACKENDS)
def fresh_database_url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """An empty database for this one test, once on each of SQLite, PostgreSQL and MariaDB."""
    url = make_database(databases, request.param)
    yield url
    databases.server(request.param).drop_database(url)


@pytest.fixture(scope="module")
def postgres_url(databases: Databases) -> Iterator[str]:
    """An empty PostgreSQL database for this test module."""
    url = make_database(databases, "postgres")
    yield url
    databases.server("postgres").drop_database(url)


@pytest.fixture(scope="module")
def mariadb_url(databases: Databases) -> Iterator[str]:
    """An empty MariaDB database for this test module."""
    url = make_database(databases, "mariadb")
    yield url
    databases.server("mariadb").drop_database(url)
