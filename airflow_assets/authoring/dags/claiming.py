"""Waiting for a step's turn: slots of pools, and the sides of the locks of assets with exclusive actions.

All of it is taken at once or not at all, by leases of the storage; a thread renews them while the body runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.storage.interface import AssetClaim
from airflow_assets.client.renewal import Renewal

if TYPE_CHECKING:
    from airflow_assets.authoring.storage.interface import Storage

log = logging.getLogger("airflow_assets.steps")
LEASE = 60.0
POLL = 1.0


@dataclass(frozen=True)
class Claims:
    """What a step needs before it may begin.

    :param holder: names the step, and the instance of a fan-out, inside its run.
    :param nodes: whose events tell of waiting.
    """

    run_id: str
    holder: str
    nodes: tuple[str, ...]
    pools: Sequence[tuple[str, int]] = ()
    assets: Sequence[AssetClaim] = ()

    @property
    def names(self) -> str:
        """What is claimed, in one text."""
        return ",".join([name for name, _ in self.pools] + [f"__asset__:{one.asset}" for one in self.assets])


@contextmanager
def claimed(storage: Storage, claims: Claims, emit: Emit, flush: Callable[[], None]) -> Iterator[None]:
    """Hold what a step needs for as long as the block runs; wait for it first, without end.

    :param flush: records what was emitted: others see that the step waits, and for what.

    Raises:
        ExecutionError: it asks for more than there ever is.
    """
    if not claims.pools and not claims.assets:
        yield
        return
    _wait(storage, claims, emit, flush)
    renewal = Renewal(lambda: _renewed(storage, claims), LEASE / 3, f"slots of {claims.holder[:50]}")
    renewal.start()
    try:
        _say(claims, EventType.StepSlotClaimed, claims.names, emit)
        yield
    finally:
        renewal.stop()
        storage.release(claims.run_id, claims.holder)
        _say(claims, EventType.StepSlotReleased, claims.names, emit)
        flush()


def _wait(storage: Storage, claims: Claims, emit: Emit, flush: Callable[[], None]) -> None:
    told = ""
    while True:
        status = storage.claim(claims.run_id, claims.holder, claims.pools, claims.assets, lease_seconds=LEASE)
        if status.is_claimed:
            return
        reason = status.reason or "the slots are taken"
        if status.impossible:
            raise ExecutionError(f"{claims.holder!r} can never have what it asks for: {reason}")
        if not told:
            _say(claims, EventType.StepSlotWaiting, reason, emit)
            flush()
        if reason != told:
            log.info("Waiting: %s", reason)
        told = reason
        time.sleep(POLL)


def _renewed(storage: Storage, claims: Claims) -> float | None:
    try:
        if storage.renew(claims.run_id, claims.holder, lease_seconds=LEASE):
            return LEASE / 3
        log.warning("The slots of %s have run out; others may run beside it.", claims.holder)
        return None
    except Exception:  # the server may be back before the lease runs out
        log.warning("The slots of %s could not be renewed.", claims.holder, exc_info=True)
        return POLL


def _say(claims: Claims, kind: EventType, text: str, emit: Emit) -> None:
    name = "reason" if kind is EventType.StepSlotWaiting else "pools"
    for node in claims.nodes:
        emit(StepEvent(kind, node, metadata={name: MetadataValue.text(text)}))
