"""What the benchmarks run on: one PostgreSQL server a run, and environments of their own for the peers."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
SIDES = Path(__file__).resolve().parent / "sides"


@dataclass(frozen=True)
class PostgresServer:
    """A running server of this benchmark: loopback only, real fsync, default settings but for the pool."""

    port: int
    log: Path
    version: str

    def url(self, database: str, driver: str = "psycopg2") -> str:
        """The SQLAlchemy URL of `database`; with `driver=""` the plain one of libpq."""
        scheme = f"postgresql+{driver}" if driver else "postgresql"
        return f"{scheme}://postgres@127.0.0.1:{self.port}/{database}"

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement in autocommit and return its rows (empty where it gives none)."""
        import psycopg2

        connection = psycopg2.connect(self.url(database, driver=""))
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()


@contextmanager
def postgres(settings: tuple[str, ...] = ()) -> Iterator[PostgresServer]:
    """Start a PostgreSQL server in a new folder, stop it and remove the folder at the end.

    The system's server is taken, the newest version first, under the OS user `postgres` when we are
    root. `settings` are further lines of its configuration.

    :raises RuntimeError: no server is installed, or it did not start (its log is in the message).
    """
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="airflow-assets-bench-"))
    folder.chmod(0o755)
    data, log = folder / "data", folder / "server.log"
    as_user: list[str] = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(*command: str) -> None:
        done = subprocess.run([*as_user, *command], capture_output=True, text=True, cwd="/", check=False)
        if done.returncode:
            detail = log.read_text()[-2000:] if log.exists() else done.stderr
            raise RuntimeError(f"PostgreSQL: `{' '.join(command)}` failed with {done.returncode}:\n{detail}")

    port = free_port()
    try:
        locale = ("-E", "UTF8", "--locale=C")
        run(str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", *locale)
        lines = [f"port = {port}", "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{folder}'"]
        lines += ["max_connections = 60", "fsync = on", "synchronous_commit = on", *settings]
        with (data / "postgresql.conf").open("a") as config:
            config.write("\n".join(lines) + "\n")
        run(str(programs / "pg_ctl"), "-D", str(data), "-l", str(log), "-w", "-t", "30", "start")
        server = PostgresServer(port, log, "")
        try:
            ((version,),) = server.sql("show server_version")
            yield PostgresServer(port, log, str(version))
        finally:
            run(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    raise RuntimeError("PostgreSQL: no initdb under /usr/lib/postgresql or on PATH; install postgresql")


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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


def airflow_environment(home: Path, server: PostgresServer, database: str) -> dict[str, str]:
    """Environment variables of an Airflow with `database`, created and migrated when it does not exist."""
    home.mkdir(parents=True, exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW__")}
    env |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": server.url(database),
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
    }
    if not server.sql(f"select 1 from pg_database where datname = '{database}'"):
        server.sql(f"create database {database}")
        airflow = [sys.executable, "-m", "airflow", "db", "migrate"]
        done = subprocess.run(airflow, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"`airflow db migrate` failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return env


def dagster_environment(home: Path, server: PostgresServer, database: str) -> dict[str, str]:
    """Environment variables of a Dagster instance whose whole storage is `database`."""
    home.mkdir(parents=True, exist_ok=True)
    server.sql(f"create database {database}")
    (home / "dagster.yaml").write_text(
        f"storage:\n  postgres:\n    postgres_url: {server.url(database)}\ntelemetry:\n  enabled: false\n"
    )
    return {**os.environ, "DAGSTER_HOME": str(home)}
