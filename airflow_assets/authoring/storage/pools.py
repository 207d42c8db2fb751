"""The part of a storage for slots of pools and for exclusive locks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from airflow_assets.authoring.errors import StorageError
from airflow_assets.authoring.storage import records as told
from airflow_assets.authoring.storage import wire
from airflow_assets.authoring.storage.recording import failing_as_storage
from airflow_assets.schemas import slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.client.base import CatalogClient

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class PoolsAndLocks:
    """See :class:`~airflow_assets.authoring.storage.interface.Storage`."""

    _client: CatalogClient

    def set_pool_limit(self, pool_key: str, limit: int, lease_duration: str = "5m") -> None:
        """Set how many slots a pool has, and how long they are held unless renewed.

        :param lease_duration: such as ``90s``, ``5m`` or ``1h 30m``.

        Raises:
            StorageError: ``lease_duration`` is no duration.
        """
        seconds = _seconds(lease_duration)
        with failing_as_storage():
            self._client.set_pool(slots.PoolLimit(pool=pool_key, slot_limit=limit, lease_seconds=seconds))

    def get_pool_limits(self) -> list[told.PoolLimit]:
        """Return the pools that have a limit."""
        return [wire.pool_limit(pool) for pool in self._pools() if pool.configured]

    def get_pool_info(self, pool_key: str) -> told.PoolInfo:
        """Return one pool.

        Raises:
            StorageError: it has no limit and nobody holds slots of it.
        """
        found = [pool for pool in self._pools(pool_key) if pool.configured or pool.holders]
        if not found:
            raise StorageError(
                f"The pool {pool_key!r} is not configured; set_pool_limit({pool_key!r}, ...) does"
            )
        return wire.pool_info(found[0])

    def get_all_pool_infos(self) -> list[told.PoolInfo]:
        """Return all pools, by name."""
        return [wire.pool_info(pool) for pool in self._pools()]

    def get_pool_slot_holders(self, pool_key: str) -> list[told.SlotHolder]:
        """Return who has slots of a pool now."""
        return [wire.slot_holder(one) for pool in self._pools(pool_key) for one in pool.holders]

    def claim(
        self,
        run_id: str,
        step_key: str,
        pools: Sequence[tuple[str, int]] = (),
        assets: Sequence[told.AssetClaim] = (),
        *,
        lease_seconds: float = 300.0,
    ) -> told.ClaimStatus:
        """Take all slots and sides of locks that a step needs, or none; again for what it has extends it.

        Who is refused asks again after a while.
        """
        with failing_as_storage():
            body = slots.SlotClaim(
                run_id=run_id,
                step=step_key,
                pools=[slots.PoolClaim(pool=name, slots=count) for name, count in pools],
                nodes=[
                    slots.NodeClaim(
                        node=one.asset,
                        exclusive=one.exclusive,
                        partitions=None if one.partitions is None else list(one.partitions),
                    )
                    for one in assets
                ],
                lease_seconds=lease_seconds,
            )
            grant = self._client.claim_slots(body)
            return told.ClaimStatus(grant.granted, grant.reason, grant.impossible)

    def renew(self, run_id: str, step_key: str, *, lease_seconds: float = 300.0) -> bool:
        """Extend what a step has claimed; false where it has run out and is gone."""
        with failing_as_storage():
            body = slots.SlotClaim(run_id=run_id, step=step_key, lease_seconds=lease_seconds, only_renew=True)
            return self._client.claim_slots(body).granted

    def release(self, run_id: str, step_key: str | None = None) -> None:
        """Give up what a step, or all of a run, has claimed."""
        with failing_as_storage():
            self._client.release_slots(slots.SlotRelease(run_id=run_id, step=step_key))

    def _pools(self, name: str | None = None) -> list[slots.Pool]:
        with failing_as_storage():
            return self._client.list_pools(slots.PoolQuery(pool=name)).items


def _seconds(text: str) -> float:
    parts = re.findall(r"(\d+)\s*([smhd])", text)
    if not parts or re.sub(r"(\d+)\s*([smhd])\s*", "", text).strip():
        raise StorageError(f"lease_duration is {text!r}; write it as 90s, 5m or 1h 30m")
    return float(sum(int(count) * _UNITS[unit] for count, unit in parts))
