"""Waiting for a step's turn: slots of pools, and the sides of the locks of assets with exclusive actions.

All of it is taken at once or not at all, by leases of the storage; a thread renews them while the body runs.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.local.slots import TIMEOUT_VARIABLE
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.storage.records import AssetClaim
from airflow_assets.client.renewal import Renewal

if TYPE_CHECKING:
    from airflow_assets.authoring.storage.interface import Storage

log = logging.getLogger("airflow_assets.steps")
LEASE = 60.0
"""Seconds after which what a dead process holds is free again."""
POLL = 1.0


@dataclass(frozen=True)
class Claims:
    """What a step needs before it may begin.

    :param holder: names the step, or the instance of a fan-out, inside its run.
    :param node: whose events tell of waiting.
    :param limits: of pools, as the code declares them.
    """

    run_id: str
    holder: str
    node: str
    pools: Sequence[tuple[str, int]] = ()
    assets: Sequence[AssetClaim] = ()
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> str:
        """What is claimed, in one text."""
        return ",".join([name for name, _ in self.pools] + [f"__asset__:{one.asset}" for one in self.assets])

    def event(self, kind: EventType, **said: str) -> StepEvent:
        """Return an event about them."""
        return StepEvent(
            kind, self.node, metadata={name: MetadataValue.text(text) for name, text in said.items()}
        )


@contextmanager
def claimed(storage: Storage, claims: Claims, emit: Emit, flush: Callable[[], None]) -> Iterator[None]:
    """Hold what a step needs for as long as the block runs; wait for it first.

    :param flush: records what was emitted, so that others see that the step waits, and for what.

    Raises:
        ExecutionError: it asks for more than there ever is, or waited too long for slots of a pool; for the
            lock of an asset it waits without end.
    """
    if not claims.pools and not claims.assets:
        yield
        return
    for pool, limit in claims.limits.items():
        storage.set_pool_limit(pool, limit)
    _wait(storage, claims, emit, flush)
    renewal = Renewal(lambda: _renewed(storage, claims), LEASE / 3, f"slots of {claims.holder[:50]}")
    renewal.start()
    try:
        emit(claims.event(EventType.StepSlotClaimed, pools=claims.names))
        yield
    finally:
        renewal.stop()
        emit(claims.event(EventType.StepSlotReleased))
        try:
            flush()
        finally:
            storage.release(claims.run_id, claims.holder)


def _wait(storage: Storage, claims: Claims, emit: Emit, flush: Callable[[], None]) -> None:
    told = ""
    since = time.monotonic()
    while True:
        status = storage.claim(claims.run_id, claims.holder, claims.pools, claims.assets, lease_seconds=LEASE)
        if status.is_claimed:
            return
        reason = status.reason or "taken"
        if status.impossible:
            raise ExecutionError(f"{claims.node!r} can never get its slots: {reason}")
        if reason != told:
            log.info("Waiting: %s", reason)
            emit(claims.event(EventType.StepSlotWaiting, reason=reason))
            flush()
        told = reason
        if claims.pools and not claims.assets and time.monotonic() - since > pool_timeout():
            raise ExecutionError(
                f"{claims.node!r} has waited {pool_timeout():g} s for slots: {reason}; raise the pool's "
                f"limit, or {TIMEOUT_VARIABLE}"
            )
        time.sleep(POLL)


def pool_timeout() -> float:
    """Return how many seconds a step waits for slots of a pool."""
    return float(os.environ.get(TIMEOUT_VARIABLE, "600"))


def _renewed(storage: Storage, claims: Claims) -> float | None:
    try:
        if storage.renew(claims.run_id, claims.holder, lease_seconds=LEASE):
            return LEASE / 3
        log.warning("The slots of %s have run out; others may run beside it.", claims.holder)
        return None
    except Exception:  # the server may be back before the lease runs out
        log.warning("The slots of %s could not be renewed.", claims.holder, exc_info=True)
        return POLL
