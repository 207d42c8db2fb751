"""One task run: what it read and wrote becomes lineage, usages, edges, assets and events, once for each try.

Only a successful try touches assets: its outputs are stored, inputs nobody knows become placeholders, and
every input gets one USED event. Any other state leaves lineage and usages; an input nobody knows then still
becomes a placeholder, because a usage needs an asset to point to, while an unknown output stays a name in the
lineage.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from airflow_assets.catalog import tables
from airflow_assets.catalog.assets import merge_in
from airflow_assets.catalog.workspace import Workspace
from airflow_assets.catalog.write_set import EdgeRow, LineageRow
from airflow_assets.exceptions import (
    PROBLEM_PREFIX,
    AssetCatalogError,
    InvalidRequest,
    NamespaceNotAllowed,
    from_problem,
)
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.lineage import Bundle, Problem, RecordResult, TaskState
from airflow_assets.schemas.rules import EXTERNAL_TYPE, json_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.catalog.states import AssetState
    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.assets import AssetInput, AssetRef
    from airflow_assets.schemas.lineage import StateCorrection, TaskRun, TaskRunRecord

MAX_EDGES = 100_000
"""Inputs times outputs of one bundle: every pair is an edge of the graph."""

_NOT_STORED = re.compile(r"Not stored: (?P<id>.*) \[(?P<code>[a-z-]+)\] (?P<detail>.*)", re.DOTALL)


def record_key(tenant: str, task: TaskRun) -> bytes:
    """Return the 32 bytes that name one try of one task instance."""
    parts = [tenant, task.dag_id, task.run_id, task.task_id, task.map_index, task.try_number]
    return hashlib.sha256(json_text(parts).encode()).digest()


def record_task_run(
    conn: Connection, caller: Caller, record: TaskRunRecord, *, last: bool = False
) -> RecordResult:
    """Store a task run that has no record yet; a repeat changes nothing and gives the first problems again.

    One output that cannot be stored does not hold back the others: it is a problem of the result, and a
    warning of the lineage event. With ``last`` nothing follows in the transaction.

    Raises:
        InvalidRequest: a bundle has more than :data:`MAX_EDGES` pairs; nothing is written.
    """
    key = record_key(caller.tenant, record.task)
    bundles = _worth_recording(record)
    recording = _Recording(conn, caller, record, bundles, key) if bundles else None
    if recording is None or recording.work.recorded is not False:
        first = _recorded(conn, key)
        if first is not None:
            return first
    return recording.store(last=last) if recording else RecordResult(duplicate=False, stored=[], problems=[])


def correct_state(conn: Connection, caller: Caller, correction: StateCorrection) -> RecordResult:
    """Set the final state of a try on its lineage; ``duplicate`` tells whether the try has a record."""
    key = record_key(caller.tenant, correction.task)
    values: dict[str, Any] = {"state": correction.state.value}
    if correction.error is not None:
        values["error"] = json_text(correction.error.to_json())
    if correction.end_date is not None:
        values["end_date"] = correction.end_date
    changed = conn.execute(_OF_RECORD.values(values), {"key": key}).rowcount
    return RecordResult(duplicate=bool(changed), stored=[], problems=[])


class _Recording:
    """One record on its way into the tables."""

    def __init__(
        self,
        conn: Connection,
        caller: Caller,
        record: TaskRunRecord,
        bundles: list[tuple[int, Bundle]],
        key: bytes,
    ) -> None:
        self.key = key
        self.record = record
        self.bundles = bundles
        self.succeeded = record.state is TaskState.SUCCESS
        self.inputs = _by_id([ref for _, bundle in bundles for ref in bundle.inputs])
        self.outputs = [output for _, bundle in bundles for output in bundle.outputs]
        written = [output.id for output in self.outputs]
        self.work = Workspace(
            conn,
            caller,
            locked=written if self.succeeded else (),
            read=[*self.inputs, *(() if self.succeeded else written)],
            record_key=key,
        )
        self.refused: dict[str, AssetCatalogError] = {}
        self.problems: dict[str, AssetCatalogError] = {}
        self.stored: dict[str, None] = {}

    def store(self, *, last: bool) -> RecordResult:
        self._refuse_hidden_inputs()
        self.problems.update(self.refused)
        if self.succeeded:
            self._store_success()
        else:
            self._make_placeholders()
        for number, bundle in self.bundles:
            self._add_lineage(number, bundle)
        self.work.write(last=last)
        problems = [_problem(asset_id, error) for asset_id, error in self.problems.items()]
        return RecordResult(duplicate=False, stored=list(self.stored), problems=problems)

    def _refuse_hidden_inputs(self) -> None:
        for asset_id, ref in self.inputs.items():
            state = self.work.find(asset_id)
            if state and self.work.hides(state):
                self.refused[asset_id] = _hidden(asset_id)
            elif state is None:
                try:
                    self.work.check_namespace(ref.namespace)
                except NamespaceNotAllowed as error:
                    self.refused[asset_id] = error

    def _store_success(self) -> None:
        known = [asset_id for asset_id in self.inputs if self.work.find(asset_id)]
        self._use(known)
        self._store_outputs()
        self._make_placeholders()
        self._use([asset_id for asset_id in self.inputs if asset_id not in known])

    def _store_outputs(self) -> None:
        """Store each output once, whatever number of bundles name it, with one event."""
        before: dict[bytes, AssetState | None] = {}
        for output in self.outputs:
            try:
                stored, state = merge_in(self.work, output)
            except AssetCatalogError as error:
                self.problems[output.id] = error
                continue
            before.setdefault(state.key, stored)
            self.stored[output.id] = None
        for key, first in before.items():
            state = self.work.rows.assets[key].after
            self.work.emit(EventKind.UPDATED if first else EventKind.CREATED, first, state)

    def _make_placeholders(self) -> None:
        for asset_id, ref in self.inputs.items():
            if asset_id not in self.refused and self.work.find(asset_id) is None:
                state = self.work.new_state(asset_id, ref.type or EXTERNAL_TYPE, ref.namespace)
                self.work.put(state)
                self.work.emit(EventKind.CREATED, None, state)

    def _use(self, ids: list[str]) -> None:
        states = {state.key: state for state in map(self._visible, ids) if state}
        for state in states.values():
            self.work.emit(EventKind.USED, None, state)

    def _visible(self, asset_id: str) -> AssetState | None:
        state = self.work.find(asset_id)
        return None if state is None or self.work.hides(state) else state

    def _add_lineage(self, number: int, bundle: Bundle) -> None:
        task = self.record.task
        inputs = _keys([self._visible(ref.id) for ref in bundle.inputs])
        outputs = _keys([self._visible(output.id) for output in bundle.outputs])
        columns = {
            "record_key": self.key,
            "bundle": number,
            "dag_id": task.dag_id,
            "run_id": task.run_id,
            "task_id": task.task_id,
            "map_index": task.map_index,
            "try_number": task.try_number,
            "ti_id": task.ti_id,
            "state": self.record.state.value,
            "inputs": json_text([self._named(ref) for ref in bundle.inputs]),
            "outputs": json_text([self._named(output) for output in bundle.outputs]),
            "warnings": json_text([*self.record.warnings, *self._warnings(bundle)]),
            "error": json_text(self.record.error.to_json()) if self.record.error else None,
            "start_date": self.record.start_date,
            "end_date": self.record.end_date,
        }
        self.work.rows.lineage.append(LineageRow(columns, inputs, outputs))
        if self.succeeded:
            self.work.rows.edges.update(
                EdgeRow(source, target, task.dag_id, task.task_id)
                for source in inputs or (None,)
                for target in outputs or (None,)
                if source or target
            )

    def _named(self, ref: AssetRef | AssetInput) -> dict[str, Any]:
        """The asset as it is called and known at this moment."""
        state = self._visible(ref.id)
        return {
            "id": ref.id,
            "type": state.type if state else ref.type,
            "namespace": state.namespace if state else ref.namespace,
        }

    def _warnings(self, bundle: Bundle) -> list[str]:
        ids = dict.fromkeys(ref.id for refs in (bundle.inputs, bundle.outputs) for ref in refs)
        return [_warning(asset_id, self.problems[asset_id]) for asset_id in ids if asset_id in self.problems]


def _recorded(conn: Connection, key: bytes) -> RecordResult | None:
    """The answer to a repeat; its problems are those of the first answer, which may have been lost."""
    rows = conn.execute(_WARNINGS, {"key": key}).scalars().all()
    if not rows:
        return None
    problems: dict[str, Problem] = {}
    for text in rows:
        for found in filter(None, map(_NOT_STORED.fullmatch, json.loads(text))):
            error = from_problem({"type": PROBLEM_PREFIX + found["code"], "detail": found["detail"]})
            problems.setdefault(found["id"], _problem(found["id"], error))
    return RecordResult(duplicate=True, stored=[], problems=list(problems.values()))


def _worth_recording(record: TaskRunRecord) -> list[tuple[int, Bundle]]:
    """The bundles that say something, with their places; warnings alone are worth an empty one."""
    for bundle in record.bundles:
        pairs = len(bundle.inputs) * len(bundle.outputs)
        if pairs > MAX_EDGES:
            raise InvalidRequest(
                f"A bundle has {pairs:,} pairs of input and output; at most {MAX_EDGES:,} are allowed.",
                hint="Emit what belongs together in bundles of its own.",
                field="bundles",
                limit=MAX_EDGES,
                value=pairs,
            )
    found = [(n, bundle) for n, bundle in enumerate(record.bundles) if bundle.inputs or bundle.outputs]
    return found or ([(0, Bundle())] if record.warnings else [])


def _by_id(refs: list[AssetRef]) -> dict[str, AssetRef]:
    """The inputs by id; of several mentions the first with a type counts."""
    found: dict[str, AssetRef] = {}
    for ref in refs:
        if ref.id not in found or (found[ref.id].type is None and ref.type is not None):
            found[ref.id] = ref
    return found


def _keys(states: list[AssetState | None]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(state.key for state in states if state))


def _hidden(asset_id: str) -> NamespaceNotAllowed:
    return NamespaceNotAllowed(
        f"The asset {asset_id!r} is in a namespace that is closed to you.", asset_id=asset_id
    )


def _problem(asset_id: str, error: AssetCatalogError) -> Problem:
    return Problem(asset_id=asset_id, problem=error.to_problem())


def _warning(asset_id: str, error: AssetCatalogError) -> str:
    return f"Not stored: {asset_id} [{error.code}] {error}"


_WARNINGS = (
    select(tables.lineage.c.warnings)
    .where(tables.lineage.c.record_key == bindparam("key"))
    .order_by(tables.lineage.c.bundle)
)
_OF_RECORD = update(tables.lineage).where(tables.lineage.c.record_key == bindparam("key"))
