"""Reading more than once from one state of the database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Give a connection all of whose statements see one state of the database; it writes nothing."""
    with engine.connect() as plain:
        # A reading transaction of SQLite is a snapshot by itself.
        conn = plain
        if engine.dialect.name != "sqlite":
            conn = plain.execution_options(isolation_level="REPEATABLE READ")
        with conn.begin():
            yield conn
