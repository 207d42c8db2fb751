"""The slots of pools and the sides of locks that a step takes before it begins and gives back at its end."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.errors import ExecutionError, StorageError
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.storage.records import AssetClaim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airflow_assets.authoring.engine.events import Emit
    from airflow_assets.authoring.graph.plan import PlannedStep
    from airflow_assets.authoring.partitions.keys import PartitionKey
    from airflow_assets.authoring.storage.interface import Storage

LEASE = 300.0
"""Seconds after which what a dead process holds is free again."""
TIMEOUT_VARIABLE = "AIRFLOW_ASSETS_POOL_TIMEOUT"
"""Environment variable: seconds that a step waits for slots of a pool; default 600."""
SHORTEST, LONGEST = 0.01, 0.5
"""Seconds between two questions while a step waits."""
LOCK_PREFIX = "__asset__:"


class Slots:
    """What the steps of one run hold."""

    def __init__(self, storage: Storage, run_id: str) -> None:
        self.storage, self.run_id = storage, run_id
        self._waiting: dict[str, tuple[float, str]] = {}
        self._held: dict[str, _Wanted] = {}
        self._renewing: threading.Thread | None = None
        self._over = threading.Event()

    def take(self, name: str, planned: PlannedStep, key: PartitionKey | None, emit: Emit) -> bool:
        """Take all that a step needs, or nothing; say which, the first time and for each new reason.

        Raises:
            ExecutionError: it can never be had, or slots of a pool were waited for too long.
        """
        wanted = _Wanted.of(planned, key)
        if wanted is None:
            return True
        status = self.storage.claim(self.run_id, name, wanted.pools, wanted.locks, lease_seconds=LEASE)
        node = planned.nodes[0] if name == planned.name else name
        if status.is_claimed:
            self._waiting.pop(name, None)
            self._hold(name, wanted)
            said = {"pools": MetadataValue.text(wanted.text)}
            emit(StepEvent(EventType.StepSlotClaimed, node, None, said))
            return True
        reason = status.reason or "taken"
        if status.impossible:
            raise ExecutionError(f"{node!r} can never get its slots: {reason}")
        since, told = self._waiting.get(name, (time.monotonic(), ""))
        if told != reason:
            emit(StepEvent(EventType.StepSlotWaiting, node, None, {"reason": MetadataValue.text(reason)}))
        self._waiting[name] = since, reason
        if wanted.pools and not wanted.locks and time.monotonic() - since > _timeout():
            raise ExecutionError(
                f"{node!r} has waited {_timeout():g} s for slots: {reason}; raise the pool's limit, or "
                f"{TIMEOUT_VARIABLE}"
            )
        return False

    def give_back(self, name: str, planned: PlannedStep, emit: Emit) -> None:
        """Give back what a step holds, if anything."""
        if self._held.pop(name, None) is not None:
            emit(StepEvent(EventType.StepSlotReleased, planned.nodes[0] if name == planned.name else name))

    def free(self, name: str) -> None:
        """Let others have what a step has given back; called when its last events are written."""
        self.storage.release(self.run_id, name)

    def holds(self, name: str) -> bool:
        """Tell whether a step holds anything."""
        return name in self._held

    def pause(
        self, name: str, planned: PlannedStep, key: PartitionKey | None, emit: Emit, flush: Callable[[], None]
    ) -> Callable[[float], None]:
        """Return the wait before another try, during which others may have what the step holds."""

        def wait(seconds: float) -> None:
            held = name in self._held
            if held:
                self.give_back(name, planned, emit)
                flush()
                self.free(name)
            time.sleep(seconds)
            pauses = doubling()
            while held and not self.take(name, planned, key, emit):
                time.sleep(next(pauses))

        return wait

    def close(self) -> None:
        """Give back everything."""
        self._over.set()
        if self._renewing is not None:
            self._renewing.join()
            self.storage.release(self.run_id)

    def _hold(self, name: str, wanted: _Wanted) -> None:
        self._held[name] = wanted
        if self._renewing is None:
            self._renewing = threading.Thread(target=self._renew, name="airflow-assets-slots", daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        while not self._over.wait(LEASE / 3):
            for name in list(self._held):
                with suppress(StorageError):  # the next round tries again, twice before the lease is over
                    self.storage.renew(self.run_id, name, lease_seconds=LEASE)


class _Wanted:
    """What one step needs."""

    def __init__(self, pools: list[tuple[str, int]], locks: list[AssetClaim]) -> None:
        self.pools, self.locks = pools, locks
        self.text = ",".join([*(pool for pool, _ in pools), *(LOCK_PREFIX + lock.asset for lock in locks)])

    @classmethod
    def of(cls, planned: PlannedStep, key: PartitionKey | None) -> _Wanted | None:
        pools = planned.pools()
        claims = planned.claims()
        if not pools and not claims:
            return None
        partitioned = any(node.partitions is not None for node in planned.step.nodes)
        keys = tuple(map(str, key)) if key is not None and partitioned else None
        return cls(pools, [AssetClaim(claim.asset, claim.exclusive, keys) for claim in claims])


def doubling() -> Iterator[float]:
    """Yield the pauses between two questions, in seconds: short ones first."""
    pause = SHORTEST
    while True:
        yield pause
        pause = min(LONGEST, pause * 2)


def _timeout() -> float:
    return float(os.environ.get(TIMEOUT_VARIABLE, "600"))
