"""The three databases of the tests: servers that live as long as the test run, a fresh database a module."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from tests.support.mariadb import MariadbServer
from tests.support.postgres import DatabaseMissingError, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ("sqlite", "postgres", "mariadb")


class Server(Protocol):
    """What a test asks of a database server."""

    def start(self) -> object: ...
    def stop(self) -> None: ...
    def create_database(self) -> str: ...
    def drop_database(self, url: str) -> None: ...


class SqliteFiles:
    """SQLite seen as a server: a folder of database files."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="aa-lite-"))
        self._count = 0

    def start(self) -> SqliteFiles:
        return self

    def stop(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def create_database(self) -> str:
        self._count += 1
        return f"sqlite:///{self.home}/test_{self._count}.db"

    def drop_database(self, url: str) -> None:
        for path in self.home.glob(Path(url.removeprefix("sqlite:///")).name + "*"):
            path.unlink(missing_ok=True)


class Databases:
    """Starts each server when first asked for it, and stops all."""

    factories: ClassVar[dict[str, Callable[[], Server]]] = {
        "sqlite": SqliteFiles,
        "postgres": PostgresServer,
        "mariadb": MariadbServer,
    }

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}

    def server(self, backend: str) -> Server:
        """The running server of one of `BACKENDS`.

        Raises:
            DatabaseMissingError: if no program for it can be had.
        """
        if backend not in self._running:
            server = self.factories[backend]()
            try:
                server.start()
            except BaseException:
                server.stop()
                raise
            self._running[backend] = server
        return self._running[backend]

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()
        self._running.clear()


def allowed_missing() -> frozenset[str]:
    """What `ALLOW_MISSING=postgres,mariadb` lets a run do without."""
    names = {name.strip() for name in os.environ.get("ALLOW_MISSING", "").split(",") if name.strip()}
    if unknown := names - {"postgres", "mariadb", "chromium"}:
        raise ValueError(
            f"ALLOW_MISSING={','.join(sorted(unknown))}: allowed are postgres, mariadb, chromium"
        )
    return frozenset(names)


__all__ = ["BACKENDS", "DatabaseMissingError", "Databases", "allowed_missing"]
