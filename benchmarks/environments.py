"""What the benchmarks run on: one PostgreSQL server a run, and environments of their own for the peers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
SIDES = Path(__file__).resolve().parent / "sides"


@dataclass(frozen=True)
class Database:
    """One database of the run's server."""

    url: str
    """SQLAlchemy URL, driver psycopg2."""
    log: Path
    """The log of its server."""

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement in autocommit and return its rows (empty where it gives none)."""
        import psycopg2

        connection = psycopg2.connect(self.url.replace("+psycopg2", ""))
        with contextlib.closing(connection), connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def about(self) -> str:
        """Version and durability of the server, as it says itself, to be stated beside the figures."""
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
        shown = [f"{name} {self.sql(f'show {name}')[0][0]}" for name in names]
        return ", ".join(shown).removeprefix("server_version ")


@contextmanager
def postgres(*settings: str) -> Iterator[Callable[[], Database]]:
    """Start one PostgreSQL server whose commits reach the disk; the value makes a new database on it."""
    with PostgresServer(durable=True, settings=settings) as server:
        yield lambda: Database(server.create_database(), server.log)


def peer_python(peer: str) -> Path:
    """The interpreter of `peer`'s own environment, made from `constraints-<peer>.txt` when missing or old."""
    pins = Path(__file__).resolve().parent / f"constraints-{peer}.txt"
    folder = BUILD / f"bench-{peer}"
    python, made_from = folder / "bin" / "python", folder / "made-from.txt"
    if python.exists() and made_from.exists() and made_from.read_text() == pins.read_text():
        return python
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    subprocess.run([uv, "venv", "-q", "--clear", "--python", version, str(folder)], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", str(python), "-r", str(pins)], check=True)
    made_from.write_text(pins.read_text())
    return python


def airflow_environment(home: Path, database: Database) -> dict[str, str]:
    """Environment variables of an Airflow on `database`, which is migrated here."""
    home.mkdir(parents=True, exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW__")}
    env |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.url,
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
    }
    migrate = [sys.executable, "-m", "airflow", "db", "migrate"]
    done = subprocess.run(migrate, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`airflow db migrate` failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return env


def dagster_environment(home: Path, database: Database) -> dict[str, str]:
    """Environment variables of a Dagster instance whose whole storage is `database`."""
    home.mkdir(parents=True, exist_ok=True)
    storage = f"storage:\n  postgres:\n    postgres_url: {database.url}\n"
    (home / "dagster.yaml").write_text(storage + "telemetry:\n  enabled: false\n")
    return {**os.environ, "DAGSTER_HOME": str(home)}
