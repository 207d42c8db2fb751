"""Acquiring locks.

All times are the database's clock. The rows of the assets are locked first, by key and all in one statement,
so two acquisitions of overlapping sets follow each other instead of waiting for each other.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, insert, update

from airflow_assets.catalog import leases_postgres, leases_queue, leases_rows, tables
from airflow_assets.catalog.assets import not_found
from airflow_assets.catalog.leases_assets import Lockable, in_turn, lock_assets, tokens_of
from airflow_assets.catalog.leases_owner import Owner
from airflow_assets.exceptions import AssetLocked
from airflow_assets.schemas.leases import LeaseGrant

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Engine

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.leases import AcquireLeases


def acquire(engine: Engine, caller: Caller, body: AcquireLeases) -> LeaseGrant:
    """Lock all of the assets or none; what the same owner holds already is extended.

    A new try of the task that acquired, and a clear of its run, are the same owner with a new number; another
    task of the same run extends the run's tenure. A lock that has run out without anybody taking it, nor
    anybody waiting for it, is still its owner's to extend, under the same number.

    Raises:
        AssetNotFound: an asset is not there, or hidden, or deleted unless the caller holds its lock.
        AssetLocked: somebody else holds one, or waits for it and came earlier; or the caller's own fencing
            number is out of date. With ``wait_id`` the caller then has a place in the queue.
    """
    owner = Owner.of(caller, body.scope)
    plain = leases_postgres.acquire(engine, caller, body, owner)
    if isinstance(plain, AssetLocked):
        raise plain
    if plain is not None:
        return LeaseGrant.model_construct(leases=[plain])

    def work(conn: Connection, former: bool) -> LeaseGrant | AssetLocked:
        assets, now = lock_assets(conn, caller, body.asset_ids, former=former)
        return _Acquisition(conn, _Request(caller, body, owner), assets, now).decide()

    result = in_turn(engine, work)
    if isinstance(result, AssetLocked):
        raise result
    return result


class _Request(NamedTuple):
    caller: Caller
    body: AcquireLeases
    owner: Owner


class _Acquisition:
    """One request for locks, with the rows of its assets locked."""

    def __init__(
        self,
        conn: Connection,
        request: _Request,
        assets: dict[str, Lockable],
        now: datetime,
    ) -> None:
        self.conn = conn
        self.caller, self.body, self.owner = request
        self.now = now
        self.wait_id = str(self.body.wait_id) if self.body.wait_id else None
        self.assets = {one.key: one for one in assets.values()}
        self.leases = leases_rows.read_leases(conn, self.assets)
        queued = [key for key, row in self.leases.items() if row.queued]
        self.queue = leases_queue.Queue(conn, queued, now) if queued else None
        self.tokens = tokens_of(self.caller, assets)

    def decide(self) -> LeaseGrant | AssetLocked:
        for key, one in self.assets.items():
            if one.deleted and not self._extends(key):
                raise not_found(one.id)
        late = self._out_of_date()
        if late is not None:
            return late
        refusal = self._held_by_others() or self._others_first()
        if refusal is None:
            return self._grant()
        if self.wait_id is not None:
            self._join()
        return refusal

    def _out_of_date(self) -> AssetLocked | None:
        for key, token in self.tokens.items():
            row = self.leases.get(key)
            if row is not None and token < row.fencing:
                return leases_rows.out_of_date(self.assets[key].id, token, row)
        return None

    def _held_by_others(self) -> AssetLocked | None:
        foreign = {
            key: row
            for key, row in self.leases.items()
            if leases_rows.is_held(row, self.now) and not self._is_own(row)
        }
        ended = leases_rows.of_ended_runs(self.conn, foreign)
        for key in self.assets:
            if key in foreign and key not in ended:
                return leases_rows.held_by_other(self.assets[key].id, foreign[key])
        return None

    def _others_first(self) -> AssetLocked | None:
        if self.queue is None:
            return None
        for key, one in self.assets.items():
            count = 0 if self._extends(key) else self.queue.ahead(key, self.owner.key, self.wait_id)
            if count:
                return AssetLocked(
                    f"The lock of {one.id!r} is free, and {count} came earlier who wait for it.",
                    hint="Wait for your turn: acquire with a wait_id, which keeps your place.",
                    asset_id=one.id,
                    waiting=count,
                )
        return None

    def _extends(self, key: bytes) -> bool:
        row = self.leases.get(key)
        return row is not None and leases_rows.is_held(row, self.now) and self._is_own(row)

    def _is_own(self, row: Any) -> bool:
        return bytes(row.owner_key) == self.owner.key

    def _join(self) -> None:
        assert self.wait_id is not None  # noqa: S101 - asked before
        queue = self.queue or leases_queue.Queue(self.conn, (), self.now)
        if queue.has(self.assets.keys(), self.owner.key, self.wait_id):
            return
        queue.join(self.assets.keys(), self.owner.key, self.wait_id)
        new = [key for key in sorted(self.assets) if key not in self.leases]
        if new:
            shared = {"tenant": self.caller.tenant, "fencing": 0, "queued": True}
            self.conn.execute(insert(tables.lease), [{"asset_key": key, **shared} for key in new])
        old = [{"row_key": key, "queued": True} for key in sorted(self.leases)]
        if old:
            self.conn.execute(_SET, old)

    def _grant(self) -> LeaseGrant:
        waiting = self.queue.served(self.assets.keys(), self.wait_id) if self.queue else {}
        rows = {key: self._row(key) | {"queued": waiting.get(key, False)} for key in sorted(self.assets)}
        new = [{"asset_key": key, **row} for key, row in rows.items() if key not in self.leases]
        old = [{"row_key": key, **row} for key, row in rows.items() if key in self.leases]
        self.conn.execute(
            _LOCK, [{"row_pk": self.assets[key].pk, "row_until": rows[key]["locked_until"]} for key in rows]
        )
        if new:
            self.conn.execute(insert(tables.lease), new)
        if old:
            self.conn.execute(_SET, old)
        stored = {key: SimpleNamespace(**row) for key, row in rows.items()}
        return LeaseGrant.model_construct(
            leases=[leases_rows.to_lease(stored[key], one.id) for key, one in self.assets.items()]
        )

    def _row(self, key: bytes) -> dict[str, Any]:
        """The lock as it will be."""
        row = self.leases.get(key)
        until = self.now + self.body.ttl
        shared = {"tenant": self.caller.tenant, "ttl": leases_rows.microseconds(self.body.ttl)}
        if row is not None and self._same_tenure(key, row):
            kept = {name: getattr(row, name) for name in (*leases_rows.FREE, "fencing")}
            outlasts = bool(row.hold_after_run) or self.body.hold_after_run
            longest = max(until, row.locked_until)
            return kept | shared | {"locked_until": longest, "hold_after_run": outlasts}
        return shared | {
            **self.owner.columns(),
            "fencing": (row.fencing if row is not None else 0) + 1,
            "acquired": self.now,
            "locked_until": until,
            "hold_after_run": self.body.hold_after_run,
        }

    def _same_tenure(self, key: bytes, row: Any) -> bool:
        """Who shows the present number renews it; otherwise a new try or a clear begins a new tenure."""
        if row.owner_key is None or not self._is_own(row):
            return False
        return self.tokens.get(key) == row.fencing or _same_attempt(row, self.owner)


def _same_attempt(row: Any, owner: Owner) -> bool:
    """Not a new try of the task that acquired, and no clear of its run since."""
    if None not in (row.clear_number, owner.clear_number) and row.clear_number != owner.clear_number:
        return False
    same_task = (row.task_id, row.map_index) == (owner.task_id, owner.map_index)
    return not same_task or row.try_number == owner.try_number


_LOCK = (
    update(tables.asset)
    .where(tables.asset.c.pk == bindparam("row_pk"))
    .values(lock_until=bindparam("row_until"))
)
_SET = update(tables.lease).where(tables.lease.c.asset_key == bindparam("row_key"))
