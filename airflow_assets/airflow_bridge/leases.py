"""Who does a background job: a row of the table ``job`` that runs out by the database's clock."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, or_, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now, retrying, write

if TYPE_CHECKING:
    from sqlalchemy import Engine

LIFETIME = timedelta(seconds=15)
RENEW_AFTER = 4.0
_job = tables.job.c


class Lease:
    """A process's claim on one job.

    >>> lease = Lease(engine, "dispatcher", owner="host:4711")
    >>> lease.hold()
    True
    """

    def __init__(self, engine: Engine, name: str, owner: str) -> None:
        self._engine = engine
        self._name = name
        self._owner = owner
        self._held_at = float("-inf")

    def hold(self) -> bool:
        """Take or keep the lease; asks the database at most every four seconds while it is held."""
        if time.monotonic() - self._held_at < RENEW_AFTER:
            return True
        asked = time.monotonic()
        held = retrying(self._claim)
        self._held_at = asked if held else float("-inf")
        return held

    def release(self) -> None:
        """Let another process have the job at once."""
        self._held_at = float("-inf")

        def work() -> None:
            with write(self._engine) as conn:
                conn.execute(delete(tables.job).where(_job.name == self._name, _job.owner == self._owner))

        retrying(work)

    def _claim(self) -> bool:
        with write(self._engine) as conn:
            now = db_now(conn)
            taken = conn.execute(
                update(tables.job)
                .where(_job.name == self._name, or_(_job.owner == self._owner, _job.expires <= now))
                .values(owner=self._owner, expires=now + LIFETIME)
            )
            if taken.rowcount:
                return True
            if conn.execute(select(_job.name).where(_job.name == self._name)).first() is not None:
                return False
            # Lost to a process that was faster, this fails on the key, and the claim is made again.
            conn.execute(
                insert(tables.job).values(name=self._name, owner=self._owner, expires=now + LIFETIME)
            )
            return True
