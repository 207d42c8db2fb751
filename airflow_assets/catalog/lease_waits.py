"""Waiting, in the calling thread, until it may be one's turn for locks; the API waits without a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.catalog.engine import retrying, write
from airflow_assets.catalog.leases_queue import turns
from airflow_assets.catalog.looking import look_until
from airflow_assets.schemas.lease_waiting import LeaseWait, LeaseWaitResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine


def wait(engine: Engine, asked: LeaseWait) -> LeaseWaitResult:
    """Look again and again until it may be the caller's turn or the time has passed."""
    wait_id = str(asked.wait_id)
    return LeaseWaitResult(turn=look_until(lambda: bool(look(engine, [wait_id])), bool, asked.timeout))


def look(engine: Engine, wait_ids: Sequence[str]) -> set[str]:
    """Return those whose turn may have come, and keep the places of all."""

    def attempt() -> set[str]:
        with write(engine) as conn:
            return turns(conn, wait_ids)

    return retrying(attempt)
