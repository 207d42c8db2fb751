"""Callers and shorthand for tests about locks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from airflow_assets.catalog import tables
from airflow_assets.catalog.service import CatalogService
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.leases import AcquireLeases, Lease, ReleaseLeases
from airflow_assets.schemas.rules import identity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID


def task(
    run: str = "r1", name: str = "t", *, attempt: int = 1, index: int = -1, dag: str = "dag", **more: Any
) -> Caller:
    """A task instance; ``more`` are members of the caller, such as its fencing numbers."""
    source = Source(
        kind=SourceKind.TASK, dag_id=dag, run_id=run, task_id=name, map_index=index, try_number=attempt
    )
    return Caller(source=source, **more)


def user(name: str = "ann", kind: SourceKind = SourceKind.API, **more: Any) -> Caller:
    """A person."""
    return Caller(source=Source(kind=kind, user=name), **more)


def with_tokens(caller: Caller, **tokens: int) -> Caller:
    """The same caller, writing under these numbers."""
    return caller.model_copy(update={"fencing_tokens": tokens})


@dataclass
class Locks:
    """Locks of a catalogue."""

    service: CatalogService

    def acquire(
        self, caller: Caller, *ids: str, ttl: float = 60, wait_id: UUID | None = None, **more: Any
    ) -> Lease:
        """Acquire and return the lock of the first asset."""
        wanted = AcquireLeases(asset_ids=list(ids), ttl=timedelta(seconds=ttl), wait_id=wait_id, **more)
        return self.service.acquire_leases(caller, wanted).leases[0]

    def acquire_all(
        self, caller: Caller, ids: Sequence[str], wait_id: UUID | None, ttl: float
    ) -> list[Lease]:
        """Acquire several and return all locks."""
        wanted = AcquireLeases(asset_ids=list(ids), ttl=timedelta(seconds=ttl), wait_id=wait_id)
        return self.service.acquire_leases(caller, wanted).leases

    def release(self, caller: Caller, *ids: str, wait_id: UUID | None = None) -> list[str]:
        """Release and return what was released."""
        wanted = ReleaseLeases(asset_ids=list(ids), wait_id=wait_id)
        return self.service.release_leases(caller, wanted).released

    def of(self, asset_id: str) -> Lease | None:
        """The lock of an asset, as a reader sees it."""
        return self.service.get_asset(user(), asset_id, None).lock

    def stored(self, asset_id: str) -> dict[str, Any]:
        """An asset as it is stored, without what its age makes of it."""
        return self.service.get_asset(user(), asset_id, None).model_dump(exclude={"freshness"})

    def expire(self, asset_id: str) -> None:
        """Let the time of a lock have passed."""
        key = identity("main", asset_id)
        with self.service.engine.begin() as conn:
            asset, lease = tables.asset, tables.lease
            past = timedelta(hours=25)
            row = conn.execute(lease.select().where(lease.c.asset_key == key)).one()
            until = row.locked_until - past
            conn.execute(update(lease).where(lease.c.asset_key == key).values(locked_until=until))
            conn.execute(update(asset).where(asset.c.asset_key == key).values(lock_until=until))

    def forget_waiter(self, wait_id: UUID) -> None:
        """Let a waiter not have asked again for two minutes."""
        waiter = tables.waiter
        with self.service.engine.begin() as conn:
            row = conn.execute(waiter.select().where(waiter.c.wait_id == str(wait_id))).first()
            assert row is not None
            seen = row.seen - timedelta(minutes=2)
            conn.execute(update(waiter).where(waiter.c.wait_id == str(wait_id)).values(seen=seen))
