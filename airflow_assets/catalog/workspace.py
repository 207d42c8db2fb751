"""The assets of one transaction: read and locked at once, changed in memory, written at the end.

An operation that is refused has changed nothing here, so the others of its transaction go on: that is how a
batch and a task record keep what is good.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, select

from airflow_assets.catalog import leases_rows, tables
from airflow_assets.catalog.engine import db_now, utc_now
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.catalog.leases_guard import Guard
from airflow_assets.catalog.merge import diff
from airflow_assets.catalog.prepared import Prepared, prepares
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.write_set import EventRow, Touch, WriteSet, chunks
from airflow_assets.exceptions import NamespaceNotAllowed
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.rules import identity, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller, Source

_RUN_OF_EVENT = re.compile(
    r"(?:asset_event|freshness|script)__([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:__replay_.*)?"
)
_TICK = timedelta(microseconds=1)


class Workspace:
    """What one transaction knows and will write.

    :param locked: ids that the transaction may write; they are locked in the order of their keys.
    :param read: ids that it only looks at.
    :param record_key: a try; ``recorded`` tells whether it has a record, null where that was not read.
    """

    recorded: bool | None = None

    def __init__(
        self,
        conn: Connection,
        caller: Caller,
        locked: Iterable[str],
        read: Iterable[str] = (),
        record_key: bytes = b"",
    ) -> None:
        self._record_key = record_key
        self._conn = conn
        self.caller = caller
        self._states: dict[bytes, AssetState] = {}
        self._original: dict[bytes, AssetState] = {}
        self._aliases: dict[bytes, bytes] = {}
        wanted = list(locked)
        clock = self._load(wanted, lock=True)
        lockable = list(self._states.values())
        clock = self._load(read, lock=False) or clock
        clock = clock or db_now(conn)
        self._guard = Guard(conn, caller, lockable, self._tokens(wanted), clock)
        # Strictly later than whatever it replaces, even where the clock is coarse or was set back.
        latest = max((state.updated for state in self._states.values()), default=clock)
        self.now: datetime = max(clock, latest + _TICK) if self._states else clock
        self.rows = WriteSet(
            tenant=caller.tenant,
            now=self.now,
            source=json_text(caller.source.to_json()),
            depth=_depth(conn, caller.source),
            pks={key: state.pk for key, state in self._states.items()},
        )

    def key(self, asset_id: str) -> bytes:
        """Return the key of the asset that the id means, following an alias."""
        key = identity(self.caller.tenant, asset_id)
        return self._aliases.get(key, key)

    def find(self, asset_id: str) -> AssetState | None:
        """Return the asset that the id or an alias means, deleted or not; null when there is none."""
        return self._states.get(self.key(asset_id))

    def is_alias(self, asset_id: str) -> bool:
        """Tell whether the id is a former one."""
        return identity(self.caller.tenant, asset_id) in self._aliases

    def free_alias(self, asset_id: str) -> None:
        """Take a former id back from the asset it leads to."""
        key = identity(self.caller.tenant, asset_id)
        if self._aliases.pop(key, None):
            self.rows.dropped_aliases.append(key)

    def new_state(self, asset_id: str, asset_type: str, namespace: str | None, **members: Any) -> AssetState:
        """Return a new asset of this moment; members left out are empty."""
        empty: dict[str, Any] = dict.fromkeys(("display_name", "description", "uri", "group"))
        return AssetState(
            key=identity(self.caller.tenant, asset_id),
            pk=0,
            tenant=self.caller.tenant,
            id=asset_id,
            type=asset_type,
            namespace=namespace,
            created=self.now,
            updated=self.now,
            deleted=False,
            **{**empty, "metadata": {}, **members},
        )

    def check_namespace(self, namespace: str | None) -> None:
        """Refuse to write into a namespace that is closed to the caller.

        Raises:
            NamespaceNotAllowed: naming the namespace.
        """
        if is_hidden(namespace, self.caller):
            raise NamespaceNotAllowed(
                f"The namespace {namespace!r} is closed to you.",
                hint="Ask for it in [airflow_assets] namespaces, or use another one.",
                namespace=namespace,
            )

    def hides(self, state: AssetState) -> bool:
        """Tell whether the asset does not exist for the caller."""
        return is_hidden(state.namespace, self.caller)

    def check_lock(self, asset_id: str) -> None:
        """Refuse to write an asset that somebody else has locked; of a new id, under an old number.

        Raises:
            AssetLocked: naming the holder, or the number.
        """
        self._guard.check(self.key(asset_id))

    def put(self, state: AssetState) -> None:
        """Make this the asset's state; :meth:`emit` says what happened."""
        self._states[state.key] = state
        before = self._original.get(state.key)
        self.rows.assets[state.key] = Touch(before, state)

    def rekey(self, before: AssetState, after: AssetState) -> None:
        """Give an existing asset another identity."""
        self._states.pop(before.key)
        self._states[after.key] = after
        self.rows.pks[after.key] = before.pk
        self.rows.assets[after.key] = Touch(before, after)
        self.rows.aliases.append(
            {
                "alias_key": before.key,
                "tenant": before.tenant,
                "id": before.id,
                "asset_pk": before.pk,
                "created": self.now,
            }
        )

    def emit(self, kind: EventKind, before: AssetState | None, after: AssetState) -> None:
        """Append an event with the difference from ``before``; a USED event has none."""
        changes = {} if kind is EventKind.USED else diff(before, after)
        self.rows.events.append(EventRow(after, kind.value, changes))

    def write(self, *, last: bool = False) -> bool:
        """Write everything and tell whether there were events; with ``last`` it may be committed then."""
        written = {touch.before.key: key for key, touch in self.rows.assets.items() if touch.before}
        self._guard.extend(written)
        for before, after in written.items():
            if before != after:
                leases_rows.move(self._conn, self.caller.tenant, before, after)
        return self.rows.write(self._conn, last=last)

    def _tokens(self, wanted: Iterable[str]) -> dict[bytes, tuple[str, int]]:
        """The caller's fencing numbers of the assets that may be written."""
        given = self.caller.fencing_tokens
        if not given:
            return {}
        writable = {self.key(asset_id) for asset_id in wanted}
        found = {self.key(asset_id): (asset_id, token) for asset_id, token in given.items()}
        return {key: token for key, token in found.items() if key in writable}

    def _load(self, ids: Iterable[str], *, lock: bool) -> datetime | None:
        tenant = self.caller.tenant
        wanted = sorted({identity(tenant, asset_id) for asset_id in ids} - self._states.keys())
        clock = None
        for keys in chunks(wanted):
            clock = self._take(self._with_keys(keys, lock=lock)) or clock
        missing = [key for key in wanted if key not in self._states]
        for keys in chunks(missing):
            former = self._conn.execute(_ALIASES.where(tables.alias.c.alias_key.in_(keys))).all()
            if former:
                pks = sorted({row.asset_pk for row in former})
                statement = _ASSETS.where(tables.asset.c.pk.in_(pks))
                rows = self._conn.execute(statement.with_for_update() if lock else statement)
                clock = self._take(rows) or clock
                self._resolve([(bytes(row.alias_key), row.asset_pk) for row in former])
        return clock

    def _with_keys(self, keys: Sequence[bytes], *, lock: bool) -> Iterable[Any]:
        if not lock:
            return self._conn.execute(_BY_KEY, {"keys": keys})
        if not prepares(self._conn):
            return self._conn.execute(_LOCK_BY_KEY, {"keys": keys})
        rows = [_Locked(*row) for row in _LOCK_PREPARED.rows(self._conn, list(keys), self._record_key)]
        if rows:
            self.recorded = rows[0].recorded
        return rows

    def _take(self, rows: Iterable[Any]) -> datetime | None:
        clock = None
        for row in rows:
            state = AssetState.of(row)
            self._states[state.key] = self._original[state.key] = state
            clock = row.clock
        return clock

    def _resolve(self, former: Iterable[tuple[bytes, int]]) -> None:
        by_pk = {state.pk: key for key, state in self._states.items()}
        self._aliases.update((alias_key, by_pk[pk]) for alias_key, pk in former if pk in by_pk)


class _Locked(NamedTuple):
    """A row of ``_LOCK_PREPARED``."""

    asset_key: bytes
    pk: int
    tenant: str
    id: str
    type: str
    namespace: str | None
    display_name: str | None
    description: str | None
    metadata: str
    uri: str | None
    asset_group: str | None
    created: datetime
    updated: datetime
    deleted: bool
    lock_until: datetime | None
    clock: datetime
    recorded: bool


def renamed(state: AssetState, new_id: str, now: datetime) -> AssetState:
    """Return the asset under another id."""
    return replace(state, key=identity(state.tenant, new_id), id=new_id, updated=now)


def _depth(conn: Connection, source: Source) -> int:
    """One more than the depth of the event that started the writing run; 0 for any other writer."""
    found = _RUN_OF_EVENT.fullmatch(source.run_id or "")
    if not found:
        return 0
    event = tables.event.c
    depth = conn.execute(select(event.depth).where(event.event_id == found[1])).scalar()
    return 0 if depth is None else int(depth) + 1


_ASSETS = select(tables.asset, utc_now().label("clock")).order_by(tables.asset.c.asset_key)
_BY_KEY = _ASSETS.where(tables.asset.c.asset_key.in_(bindparam("keys", expanding=True)))
_LOCK_BY_KEY = _BY_KEY.with_for_update()
_LOCK_PREPARED = Prepared(
    "airflow_assets_lock",
    """
    SELECT asset_key, pk, tenant, id, type, namespace, display_name, description, metadata, uri, asset_group,
        created, updated, deleted, lock_until, clock_timestamp(),
        EXISTS (SELECT FROM airflow_assets_lineage WHERE record_key = {record_key})
    FROM airflow_assets_asset WHERE asset_key = ANY({keys}) ORDER BY asset_key FOR UPDATE
    """,
    {"keys": "bytea[]", "record_key": "bytea"},
)
_ALIASES = select(tables.alias.c.alias_key, tables.alias.c.asset_pk).order_by(tables.alias.c.alias_key)
