"""What every ring of tests shares: databases, and a home for Airflow that is not the developer's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.airflow_config import secrets_and_users
from tests.support.databases import BACKENDS, DatabaseMissingError, Databases, allowed_missing
from tests.support.spread import PLACE, Groups, write_groups

if TYPE_CHECKING:
    from collections.abc import Iterator


# Set before anything imports Airflow, which reads its home and its settings once, at import. Nothing of the
# developer's own Airflow is seen.
_HOME = Path(tempfile.mkdtemp(prefix="aa-home-"))
for _name in [name for name in os.environ if name.startswith(("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_"))]:
    del os.environ[_name]
os.environ |= {
    **secrets_and_users(_HOME),
    "AIRFLOW_HOME": str(_HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(_HOME / "dags"),
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{_HOME}/airflow.db",
}


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt("SIGTERM")


def pytest_configure(config: pytest.Config) -> None:
    # Whoever ends the run by TERM (a time limit, CI) still gets its servers stopped: fixtures are torn down.
    signal.signal(signal.SIGTERM, _interrupt)
    if not hasattr(config, "workerinput"):
        os.environ[PLACE] = str(_HOME / "groups.json")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before xdist tells that the tests are known
def pytest_collection_finish(session: pytest.Session) -> None:
    write_groups(session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep together what belongs together, where `--dist loadscope` asks for it."""
    return Groups(config, log) if config.getvalue("dist") == "loadscope" else None


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


@pytest.fixture(scope="session")
def airflow_db() -> str:
    """Airflow's tables and ours, made by `airflow db migrate` in this process's SQLite database; returns its URL.

    For tests that call Airflow's models in process. What they write stays for the tests that follow.
    """
    command = [sys.executable, "-m", "airflow", "db", "migrate"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (
        f"airflow db migrate: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
