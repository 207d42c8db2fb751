"""What locks allow to a writing transaction: looked up after its assets are locked, asked before each write.

An asset that is not locked costs nothing: its row, which is locked anyway, says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.catalog import leases_rows
from airflow_assets.catalog.leases_owner import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Connection

    from airflow_assets.exceptions import AssetLocked
    from airflow_assets.schemas.actors import Caller


class Guard:
    """The locks on the assets that a transaction may write.

    :param states: those assets (``key``, ``id``, ``lock_until``), with their rows locked.
    :param tokens: the caller's fencing numbers by asset key, of existing and of new assets.
    :param clock: the database's, not older than the begin of the statement that locked the rows.
    """

    def __init__(
        self,
        conn: Connection,
        caller: Caller,
        states: Iterable[Any],
        tokens: Mapping[bytes, tuple[str, int]],
        clock: datetime,
    ) -> None:
        self._conn = conn
        self._now = clock
        self._refused: dict[bytes, AssetLocked] = {}
        self._own: dict[bytes, Any] = {}
        ids = {
            bytes(state.key): state.id for state in states if state.lock_until and state.lock_until > clock
        }
        if ids or tokens:
            self._look(caller, ids, tokens)

    def _look(self, caller: Caller, ids: dict[bytes, str], tokens: Mapping[bytes, tuple[str, int]]) -> None:
        mine = keys_of(caller.source)
        foreign: dict[bytes, Any] = {}
        for key, row in leases_rows.read_leases(self._conn, {*ids, *tokens}).items():
            asset_id, token = tokens.get(key, (ids.get(key, ""), None))
            if token is not None and token < row.fencing:
                self._refused[key] = leases_rows.out_of_date(asset_id, token, row)
            elif leases_rows.is_held(row, self._now):
                (self._own if bytes(row.owner_key) in mine else foreign)[key] = row
        ended = leases_rows.of_ended_runs(self._conn, foreign)
        if ended:
            leases_rows.free(self._conn, sorted(ended))
        for key in foreign.keys() - ended:
            self._refused[key] = leases_rows.held_by_other(ids.get(key) or tokens[key][0], foreign[key])

    def check(self, key: bytes) -> None:
        """Let the write of an asset pass.

        Raises:
            AssetLocked: somebody else holds its lock, or the caller's number is out of date.
        """
        error = self._refused.get(key)
        if error is not None:
            raise error

    def extend(self, keys: Iterable[bytes]) -> None:
        """Extend the caller's locks on the assets that he has written."""
        until = {}
        for key in keys:
            row = self._own.get(key)
            if row is not None:
                until[key] = max(row.locked_until, self._now + leases_rows.ttl_of(row))
        leases_rows.extend(self._conn, until)
