"""The look-up of the hub of those who wait for locks: one for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_assets.catalog.lease_waits import look

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine


@dataclass(eq=False)
class LeaseWaiter:
    """Somebody waits for his turn."""

    wait_id: str


class LeaseLook:
    """The look-up of the hub: the turns of all who wait, and their places kept, in one transaction."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def __call__(self, waiters: list[LeaseWaiter]) -> list[tuple[LeaseWaiter, bool]]:
        """Return those whose turn may have come."""
        come = look(self._engine(), [waiter.wait_id for waiter in waiters])
        return [(waiter, True) for waiter in waiters if waiter.wait_id in come]
