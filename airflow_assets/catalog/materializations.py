"""What the events of steps mean: for the catalogue's assets, for nodes and for their partitions.

A materialization stores its asset and appends an event to the log, one for each partition, so that a Dag that
waits for it is told which. An observation does where it saw something else than before. A deletion takes the
state of the data back, not the asset.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.merge import check_size
from airflow_assets.catalog.node_partitions import NewEvent, PartitionRows
from airflow_assets.catalog.workspace import Workspace
from airflow_assets.catalog.write_set import EdgeRow, replace_rows
from airflow_assets.exceptions import InvalidAsset
from airflow_assets.schemas.asset_runs import StepEventInput, StepEventType
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.masking import mask_metadata
from airflow_assets.schemas.rules import EXTERNAL_TYPE, identity, json_text
from airflow_assets.schemas.rules import metadata as checked_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from airflow_assets.catalog.states import AssetState
    from airflow_assets.schemas.actors import Caller

STATE = "materialization"
"""The key of an asset's metadata that says what was last recorded of its data."""
LOCAL = "local runs"
"""Stands for the Dag of what was made without Airflow; no Dag can be called so."""
_TYPES = {"table": "airflow_assets.types.Table", "file": "airflow_assets.types.File"}
_TYPE = "airflow_assets.types.Dataset"
_OF_ASSETS = frozenset({StepEventType.MATERIALIZATION, StepEventType.OBSERVATION, StepEventType.DELETION})
_NO_STATE: dict[str, Any] = dict.fromkeys(
    ("last_event", "last_run_id", "last_time", "data_version", "code_version", "input_versions")
)


class Effects:
    """What new events of one run change; read at once, written in the order of the catalogue's locks.

    :param now: the time of the transaction; null where no asset is concerned.
    """

    def __init__(self, conn: Connection, caller: Caller, run_id: str, events: Sequence[NewEvent]) -> None:
        self._conn, self._tenant, self._run_id = conn, caller.tenant, run_id
        self.warnings: list[str] = []
        self.now: datetime | None = None
        self._events = events
        touching = [one for one in events if one.event.event_type in _OF_ASSETS]
        keys = {one.node_key for one in touching}
        self._known: dict[bytes, Any] = {**dict.fromkeys(keys), **_nodes(conn, keys)}
        outer = [one for one in touching if not self._is_inner(one)]
        self._work: Workspace | None = None
        if outer:
            self._made_from = {one.node_key: self._upstreams(one) for one in outer}
            read = sorted({name for names in self._made_from.values() for name in names})
            self._work = Workspace(conn, caller, [one.event.node for one in outer], read)
            self.now = self._work.now
            for one in outer:
                _check(self._work, one.event.node)

    def write_nodes(self, now: datetime) -> None:
        """Write the state of nodes and of their partitions."""
        rows: dict[bytes, dict[str, Any]] = {}
        for one in self._events:
            state = self._state(one, rows.get(one.node_key), now)
            if state is not None:
                rows[one.node_key] = state
        if rows:
            replace_rows(self._conn, tables.node, [rows[key] for key in sorted(rows)])
        PartitionRows(self._conn, self._run_id, self._events).write()

    def write_assets(self) -> bool:
        """Write the catalogue's assets; tell whether its log got events. Nothing may follow."""
        if self._work is None:
            return False
        for one in self._events:
            if one.event.event_type in _OF_ASSETS and not self._is_inner(one):
                self._store(self._work, one)
        return self._work.write(last=True)

    def _is_inner(self, one: NewEvent) -> bool:
        known = self._known.get(one.node_key)
        return bool(known and known.inner_node)

    def _upstreams(self, one: NewEvent) -> list[str]:
        """The assets that one is made from: what a graph's tasks read is what the graph reads."""
        found: dict[str, None] = {}
        inside = f"{one.event.node}/"
        wanted, seen = [one.event.node], set()
        while wanted:
            name = wanted.pop()
            seen.add(name)
            for upstream in self._declared(name).get("upstreams", ()):
                if not upstream.startswith(inside):
                    found[upstream] = None
                elif upstream not in seen:
                    wanted.append(upstream)
        return list(found)

    def _declared(self, name: str) -> dict[str, Any]:
        key = identity(self._tenant, name)
        if key not in self._known:
            self._known[key] = _nodes(self._conn, {key}).get(key)
        known = self._known[key]
        declared: dict[str, Any] = json.loads(known.declared) if known and known.declared else {}
        return declared

    def _draw(self, work: Workspace, one: NewEvent, made: AssetState) -> None:
        """Draw an edge from each asset that was read to the one that was made."""
        source = work.caller.source
        task = (source.dag_id or LOCAL, source.task_id or one.event.step[:250])
        read = [state for name in self._made_from[one.node_key] if (state := work.find(name))]
        keys: list[bytes | None] = [state.key for state in read if not work.hides(state)]
        work.rows.edges.update(EdgeRow(key, made.key, *task) for key in keys or [None])

    def _state(self, one: NewEvent, before: Mapping[str, Any] | None, now: datetime) -> dict[str, Any] | None:
        """The node's row after an event; null where that changes nothing about it."""
        event = one.event
        if event.event_type not in _OF_ASSETS:
            return None
        row = {
            "node_key": one.node_key,
            "tenant": self._tenant,
            "name": event.node,
            "inner_node": self._is_inner(one),
            **_NO_STATE,
            "last_event": one.key,
        }
        if event.event_type is StepEventType.DELETION:
            return None if event.partition_key else row
        stored = self._known.get(one.node_key)
        known = before or ({} if stored is None else stored._mapping)  # noqa: SLF001 - its public name
        keeps = event.event_type is StepEventType.OBSERVATION or event.keeps_inputs
        return row | {
            "last_run_id": self._run_id,
            "last_time": now,
            "data_version": event.data_version,
            "code_version": known.get("code_version") if keeps else event.code_version,
            "input_versions": known.get("input_versions") if keeps else json_text(event.input_versions),
        }

    def _store(self, work: Workspace, one: NewEvent) -> None:
        event = one.event
        before = work.find(event.node)
        if event.event_type is StepEventType.DELETION:
            if before is None or event.partition_key or STATE not in before.metadata:
                return
            metadata = {name: value for name, value in before.metadata.items() if name != STATE}
            after = replace(before, metadata=metadata, updated=work.now)
        else:
            after = self._asset(work, one, before)
            if event.event_type is StepEventType.OBSERVATION and before and before.metadata == after.metadata:
                return
        work.put(after)
        if event.event_type is StepEventType.MATERIALIZATION:
            self._draw(work, one, after)
        work.emit(EventKind.UPDATED if before else EventKind.CREATED, before, after)

    def _asset(self, work: Workspace, one: NewEvent, before: AssetState | None) -> AssetState:
        declared = self._declared(one.event.node)
        kind = EXTERNAL_TYPE if declared.get("external") else _type_of(declared.get("kinds", ()))
        state = before or work.new_state(one.event.node, kind, None)
        stored_type = kind if state.type == EXTERNAL_TYPE else state.type
        return replace(
            state,
            type=stored_type,
            group=declared.get("group") or state.group,
            metadata=self._metadata(one.event, state.metadata, declared),
            updated=work.now,
            deleted=False,
        )

    def _metadata(
        self, event: StepEventInput, stored: Mapping[str, Any], declared: Mapping[str, Any]
    ) -> dict[str, Any]:
        state = _said(event, self._run_id)
        own = {**{name: declared[name] for name in ("kinds", "tags") if declared.get(name)}, STATE: state}
        try:
            values = {name: _plain(value) for name, value in event.metadata}
            checked: dict[str, Any] = mask_metadata(checked_metadata(values))
            merged = {**stored, **checked, **own}
            found = {name: value for name, value in merged.items() if value is not None}
            check_size(found)
        except InvalidAsset as error:
            self.warnings.append(f"The metadata of {event.node!r} is not in the catalogue's asset: {error}")
            return {**stored, **own}
        return found


def _check(work: Workspace, asset_id: str) -> None:
    """Refuse what is hidden or locked."""
    state = work.find(asset_id)
    if state is not None:
        work.check_namespace(state.namespace)
    work.check_lock(asset_id)


def _nodes(conn: Connection, keys: set[bytes]) -> dict[bytes, Any]:
    if not keys:
        return {}
    return {bytes(row.node_key): row for row in conn.execute(_NODES, {"keys": sorted(keys)})}


def _type_of(kinds: Sequence[str]) -> str:
    return next((_TYPES[kind] for kind in kinds if kind in _TYPES), _TYPE)


def _said(event: StepEventInput, run_id: str) -> dict[str, Any]:
    """What the asset's metadata says of the state of its data; nothing that a repeated look would change."""
    said: dict[str, Any] = {"data_version": event.data_version}
    if event.event_type is StepEventType.MATERIALIZATION:
        said |= {"run_id": run_id, "code_version": event.code_version, "tags": event.tags}
        if event.partition_key:
            said["partition_key"] = json.loads(event.partition_key)
    return {name: value for name, value in said.items() if value}


def _plain(tagged: Mapping[str, Any]) -> Any:
    """The plain JSON value of a tagged one."""
    ((kind, fields),) = tagged.items()
    if kind == "Null":
        return None
    if kind == "List":
        return [_plain(value) for value in fields["values"]]
    return fields["value"] if set(fields) == {"value"} else fields


_NODES = select(tables.node).where(tables.node.c.node_key.in_(bindparam("keys", expanding=True)))
