"""The fencing numbers that the running code writes under: they go with every call that it makes.

Whoever holds a lock puts its number here (:func:`fenced`, :class:`airflow_assets.locks.AssetLock`); the
transports read it. The server refuses a write whose number is older than the lease's.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from airflow_assets.exceptions import AssetLocked, LockLost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from airflow_assets.schemas.operations import Operation

_WRITES = frozenset({"CREATE", "UPDATE", "DELETE", "RECORD"})
"""Names of the actions that a lost lock stops; reads, and acquiring and releasing, go on."""


class Hold(Protocol):
    """A lock that the running code believes to hold."""

    @property
    def tokens(self) -> Mapping[str, int]:
        """Asset id -> fencing number."""

    def check(self) -> None:
        """Let a write pass.

        :raises LockLost: the lock is known to be lost.
        """

    def refused(self, error: AssetLocked) -> LockLost | None:
        """Return what a refused write means if it is about this lock's assets, else None."""


class _Tokens:
    """Numbers from elsewhere, such as another task's XCom: only the server knows what they are worth."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self.tokens = dict(tokens)

    def check(self) -> None:
        pass

    def refused(self, error: AssetLocked) -> LockLost | None:  # noqa: ARG002
        return None


_holds: ContextVar[tuple[Hold, ...]] = ContextVar("airflow_assets_holds", default=())


@contextmanager
def holding(hold: Hold) -> Iterator[None]:
    """Let calls inside the block be made under a lock."""
    mark = _holds.set((*_holds.get(), hold))
    try:
        yield
    finally:
        _holds.reset(mark)


@contextmanager
def fenced(tokens: Mapping[str, int]) -> Iterator[None]:
    """Let calls inside the block carry fencing numbers that are known from elsewhere.

    >>> with fenced({"analytics.orders": token}):
    ...     get_client().update_asset("analytics.orders", AssetUpdate(metadata={"rows": 7}))
    """
    with holding(_Tokens(tokens)):
        yield


def current_tokens() -> dict[str, int]:
    """Return the fencing numbers by asset id; of two for one asset the inner block's counts."""
    return {asset_id: token for hold in _holds.get() for asset_id, token in hold.tokens.items()}


@contextmanager
def guarding(operation: Operation) -> Iterator[None]:
    """Stop a write under a lost lock before it is sent, and tell a refused one by its right name.

    :raises LockLost: a lock of a surrounding block is lost.
    """
    holds = _holds.get() if operation.action.value in _WRITES else ()
    for hold in holds:
        hold.check()
    try:
        yield
    except AssetLocked as error:
        for hold in holds:
            lost = hold.refused(error)
            if lost is not None:
                raise lost from error
        raise
