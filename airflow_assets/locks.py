"""Locks for Python code: held while a block runs, renewed by themselves, and never lost silently.

>>> from airflow_assets.locks import asset_lock
>>> with asset_lock("analytics.orders", ttl="PT15S") as lock:
...     rewrite_partition(fencing_token=lock.fencing_token)
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_assets.client.fencing import current_tokens, fenced, holding
from airflow_assets.client.locking import acquire_in_turn, request_of, wait_seconds
from airflow_assets.client.options import DEFAULT_CONN_ID
from airflow_assets.exceptions import (
    AssetCatalogError,
    AssetLocked,
    InvalidRequest,
    LockLost,
    NotFound,
    NotPermitted,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from types import TracebackType

    from typing_extensions import Self

    from airflow_assets.client.base import CatalogClient
    from airflow_assets.schemas.lease import Lease

__all__ = ["AssetLock", "LockLost", "asset_lock", "fenced"]

log = logging.getLogger(__name__)

RENEWALS_A_TTL = 3
SOON = 1.0
"""Seconds after which a renewal that failed is tried again."""
_FINAL = (AssetLocked, NotFound, NotPermitted)


def asset_lock(
    asset_id: str | Sequence[str],
    *,
    ttl: str | timedelta | float = "PT5M",
    scope: str = "task",
    wait: bool = False,
    timeout: str | timedelta | float | None = None,
    conn_id: str = DEFAULT_CONN_ID,
    api_url: str | None = None,
    tenant: str | None = None,
) -> AssetLock:
    """Return a lock to be used with ``with``: it is acquired on entering and released on leaving.

    A thread renews it three times in each ``ttl``, so the block may run longer, also without ever pausing.
    Every write to the catalogue inside the block carries the lock's fencing number.

    Args:
        asset_id: the asset, or several: all of them are locked, or none.
        ttl: after how long without a renewal the lock is free: 1 second to 24 hours, as an ISO 8601
            duration, a timedelta or seconds. It should outlast a restart of the API server.
        scope: ``task`` (default): the task instance with its map index holds it; ``run``: the whole Dag
            run, and leaving the block releases it for the whole run. Outside of a task the user holds it.
        wait: wait, in the order of arrival, while somebody else holds it. The block waits in its worker's
            slot; ``AcquireAssetLockOperator(wait=True)`` waits without one.
        timeout: how long to wait at most, as ``ttl`` or in seconds; None waits without end.
        conn_id: the Airflow connection.
        api_url: address of the API server, if it is not to be found by the rules of docs/connection.md.
        tenant: the tenant to act on.

    Raises:
        AssetLocked: on entering; somebody else holds an asset, and still does after ``timeout``.
        AssetNotFound: on entering; there is no such asset.
        InvalidRequest: a value breaks a rule.
        LockLost: at the first write after the lock was lost, and on leaving.

    Example:
        >>> with asset_lock(["a", "b"], wait=True, timeout="PT10M"):
        ...     swap("a", "b")
    """
    patience = wait_seconds(timeout) if wait else 0.0
    return AssetLock(asset_id, ttl, scope, patience, (conn_id, api_url, tenant))


class AssetLock:
    """A lock on one or several assets; made by :func:`asset_lock`, used once."""

    def __init__(
        self,
        asset_id: str | Sequence[str],
        ttl: str | timedelta | float,
        scope: str,
        patience: float,
        connection: tuple[str, str | None, str | None],
    ) -> None:
        self.asset_ids = [asset_id] if isinstance(asset_id, str) else list(asset_id)
        self._request = request_of(self.asset_ids, ttl, scope)
        self._patience = patience
        self._connection = connection
        self._leases: list[Lease] = []
        self._sure_until = 0.0
        self._lost: str | None = None
        self._borrowed: set[str] = set()
        self._stack = ExitStack()

    @property
    def fencing_token(self) -> int:
        """The number of this tenure, larger than that of every earlier holder of the asset.

        :raises InvalidRequest: the lock is on several assets, or the block has not been entered.
        """
        if len(self._leases) != 1:
            raise InvalidRequest(
                f"This lock has {len(self._leases)} fencing numbers, not one.",
                hint="Inside the block, read lock.tokens['<asset id>'].",
            )
        return self._leases[0].fencing_token

    @property
    def tokens(self) -> dict[str, int]:
        """The fencing number of each asset, by its present id."""
        return {lease.asset_id: lease.fencing_token for lease in self._leases}

    @property
    def locked_until(self) -> datetime:
        """When the first of the leases runs out if it is not renewed again, by the database's clock."""
        return min(lease.locked_until for lease in self._leases)

    @property
    def lost(self) -> bool:
        """Whether the lock is known to be lost."""
        return self._lost is not None

    def check(self) -> None:
        """Ask, without a request, whether the lock still stands as far as is known here.

        For code that writes to something else than the catalogue.

        :raises LockLost: it does not.
        """
        if self._lost is not None:
            raise self._error()

    def refused(self, error: AssetLocked) -> LockLost | None:
        """Return what a refused write means: an asset of this lock that is locked is lost."""
        if error.members.get("asset_id") not in self.tokens:
            return None
        self._lose(error.detail)
        return self._error()

    def __enter__(self) -> Self:
        from airflow_assets.client.renewal import Renewal

        self._borrowed = set(current_tokens())
        self._keep(*acquire_in_turn(self._client(), self._request, self._patience))
        with ExitStack() as stack:
            stack.enter_context(holding(self))
            stack.callback(self._release)
            name = f"renewal of the lock of {self.asset_ids[0][:50]}"
            renewal = Renewal(self._renewed, self._interval, name)
            renewal.start()
            stack.callback(renewal.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if kind is None:
            self.check()
        elif self._lost is not None and not isinstance(error, LockLost):
            log.warning("The lock of %s was lost meanwhile: %s", self.asset_ids, self._lost)

    @property
    def _ttl(self) -> float:
        return self._request.ttl.total_seconds()

    @property
    def _interval(self) -> float:
        return self._ttl / RENEWALS_A_TTL

    def _client(self, patience: float | None = None) -> CatalogClient:
        from airflow_assets.client import get_client

        conn_id, api_url, tenant = self._connection
        return get_client(conn_id, api_url=api_url, tenant=tenant, patience=patience)

    def _keep(self, leases: list[Lease], sent: float) -> None:
        self._leases = leases
        # The database granted it after the request was sent: a lower bound that needs no clock but this one.
        self._sure_until = sent + self._ttl

    def _renewed(self) -> float | None:
        """Renew; return after how many seconds to do so again, None when the lock is lost."""
        sent, pause = time.monotonic(), self._interval
        try:
            leases = self._client(patience=self._interval).acquire_leases(self._request).leases
        except _FINAL as error:
            self._lose(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, what counts is whether it passes in time
            if time.monotonic() > self._sure_until:
                self._lose(f"it could not be renewed for {self._ttl:g} s. {type(error).__name__}: {error}")
            else:
                log.warning("The lock of %s could not be renewed yet: %s", self.asset_ids, error)
                pause = min(SOON, pause)
        else:
            if {lease.asset_id: lease.fencing_token for lease in leases} != self.tokens:
                self._lose("it had run out before it was renewed, and somebody else may have held it")
            else:
                self._keep(leases, sent)
        return pause if self._lost is None else None

    def _release(self) -> None:
        """Release what this block locked itself, not what a block around it holds."""
        own = [lease.asset_id for lease in self._leases if lease.asset_id not in self._borrowed]
        if not own:
            return
        from airflow_assets.schemas.leases import ReleaseLeases

        try:
            released = set(self._client().release_leases(ReleaseLeases(asset_ids=own)).released)
        except AssetCatalogError as error:
            log.warning("The lock of %s is not released, and ends with its ttl: %s", own, error)
            if time.monotonic() > self._sure_until:
                self._lose(f"it could not be renewed for {self._ttl:g} s. {error}")
            return
        if not released >= set(own):
            self._lose("it had run out, or been removed by force, before the block ended")

    def _error(self) -> LockLost:
        return LockLost(
            f"The lock of {', '.join(map(repr, self.asset_ids))} is lost: {self._lost}",
            hint="Let the task fail; its retry takes the lock anew. A longer ttl bears longer outages.",
            asset_id=self.asset_ids[0],
        )

    def _lose(self, why: str) -> None:
        if self._lost is None:
            self._lost = why
            log.error("The lock of %s is lost: %s", self.asset_ids, why)
