"""Taking over the rows of an export as they are: times, deletions, history and all.

What is there already stays as it is, so the same rows can be sent again. Restored assets emit no events;
restored events and lineage get new numbers in their order and start no Dag runs (``suppressed`` says
``import``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import insert, select

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.catalog.leases_guard import Guard
from airflow_assets.catalog.lineage import ROLES
from airflow_assets.catalog.record import record_key
from airflow_assets.catalog.states import AssetState
from airflow_assets.catalog.values import id_sort, value_columns
from airflow_assets.catalog.write_set import edge_key, take_numbers
from airflow_assets.exceptions import InvalidRequest, NamespaceNotAllowed
from airflow_assets.schemas.export_rows import DATA_OF, AliasData, AssetData, EdgeData, EventData, LineageData
from airflow_assets.schemas.lineage import TaskRun
from airflow_assets.schemas.rules import identity, json_text
from airflow_assets.schemas.transfer import FORMAT_VERSION, IMPORTED, ExportRow, ImportResult, RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Column, Connection, Table

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.events import EventAsset
    from airflow_assets.schemas.transfer import ImportRequest

    Numbered = list[tuple[int, Any]]  # the place of a row in the request, and its data

T = TypeVar("T")
_PORTION = 500
_LETTERS = {role: letter for letter, role in ROLES.items()}


def import_rows(conn: Connection, caller: Caller, body: ImportRequest) -> ImportResult:
    """Write the rows that are not there yet, in the caller's tenant; all are checked before any is written.

    :raises InvalidRequest: a row cannot be understood, or names an asset that is neither there nor in these
        rows.
    :raises AssetLocked: a new former id leads to an asset that somebody else has locked.
    :raises NamespaceNotAllowed: an asset belongs to a namespace that is closed to the caller.
    """
    rows: dict[RowKind, Numbered] = {kind: [] for kind in RowKind}
    for at, row in enumerate(body.rows, 1):
        rows[row.kind].append((at, _parsed(at, row)))
    restore = _Restore(conn, caller)
    restore.assets(rows[RowKind.ASSET])
    restore.know(rows)
    restore.aliases(rows[RowKind.ALIAS])
    restore.edges(rows[RowKind.EDGE])
    restore.log(rows[RowKind.EVENT], rows[RowKind.LINEAGE])
    return ImportResult(imported=restore.imported, skipped=len(body.rows) - restore.imported)


def _parsed(at: int, row: ExportRow) -> Any:
    if row.version != FORMAT_VERSION:
        raise InvalidRequest(
            f"Row {at} has the format version {row.version}; this catalogue reads version {FORMAT_VERSION}.",
            hint="Export with the version of this package that reads it.",
            row=at,
        )
    try:
        return DATA_OF[row.kind].model_validate(row.data)
    except ValidationError as error:
        first = error.errors()[0]
        where, problem = ".".join(map(str, first["loc"])), first["msg"]
        raise InvalidRequest(
            f"Row {at} ({row.kind.value}): {where}: {problem}.", row=at, field=where
        ) from None
    except InvalidRequest as error:
        raise InvalidRequest(
            f"Row {at} ({row.kind.value}): {error.detail}", hint=error.hint, row=at
        ) from None


class _Restore:
    """One request on its way into the tables."""

    def __init__(self, conn: Connection, caller: Caller) -> None:
        self.conn = conn
        self.caller = caller
        self.tenant = caller.tenant
        self.imported = 0
        self._pks: dict[bytes, int] = {}

    def assets(self, rows: Numbered) -> None:
        """In the order given, not by key: row numbers then keep the order of the export."""
        new: dict[bytes, AssetState] = {}
        for at, data in rows:
            self._check_namespace(at, data)
            state = self._state(data)
            new.setdefault(state.key, state)
        for taken in (tables.asset.c.asset_key, tables.alias.c.alias_key):
            for key in self._present(taken, new):
                new.pop(key, None)
        self._insert(tables.asset, [state.columns() for state in new.values()])
        self.imported += len(new)
        self._find(new)
        self._insert(
            tables.metadata_value,
            [
                {"asset_pk": self._pks[key], "id_sort": id_sort(state.id), **value_columns(name, value)}
                for key, state in new.items()
                for name, value in state.metadata.items()
            ],
        )

    def know(self, rows: dict[RowKind, Numbered]) -> None:
        """Look up every asset that the rows name."""
        ids = {named for kind in RowKind for _, data in rows[kind] for named in _named_by(data)}
        self._find(identity(self.tenant, named) for named in ids)

    def aliases(self, rows: Numbered) -> None:
        new: dict[bytes, dict[str, Any]] = {}
        for at, data in rows:
            key = identity(self.tenant, data.id)
            columns = {"alias_key": key, "tenant": self.tenant, "id": data.id, "created": data.created}
            new.setdefault(key, {**columns, "asset_pk": self._pk(at, data.asset)})
        for taken in (tables.asset.c.asset_key, tables.alias.c.alias_key):
            for key in self._present(taken, new):
                new.pop(key, None)
        self._check_locks({row["asset_pk"] for row in new.values()})
        self._insert(tables.alias, [new[key] for key in sorted(new)])
        self._pks.update((key, row["asset_pk"]) for key, row in new.items())
        self.imported += len(new)

    def edges(self, rows: Numbered) -> None:
        new: dict[bytes, dict[str, Any]] = {}
        for at, data in rows:
            source = self._pk(at, data.source) if data.source is not None else 0
            target = self._pk(at, data.target) if data.target is not None else 0
            key = edge_key(source, target, data.dag_id, data.task_id)
            columns = {"edge_key": key, "source_pk": source, "target_pk": target}
            members = ("dag_id", "task_id", "first_seen", "last_seen")
            new.setdefault(key, {**columns, **{name: getattr(data, name) for name in members}})
        for key in self._present(tables.edge.c.edge_key, new):
            del new[key]
        self._insert(tables.edge, [new[key] for key in sorted(new)])
        self.imported += len(new)

    def log(self, events: Numbered, lineage: Numbered) -> None:
        """Last of all, since the numbers lock the log until the commit."""
        new_events = self._new_events(events)
        new_lines = self._new_lines(lineage)
        count = len(new_events) + len(new_lines)
        if not count:
            return
        seq = take_numbers(self.conn, count)
        self._insert(tables.event, [{**row, "seq": seq + n} for n, row in enumerate(new_events)])
        seq += len(new_events)
        self._insert(tables.lineage, [{**row, "seq": seq + n} for n, (row, _) in enumerate(new_lines)])
        self._insert(
            tables.usage,
            [{**row, "lineage_seq": seq + n} for n, (_, usages) in enumerate(new_lines) for row in usages],
        )
        self.imported += count

    def _new_events(self, rows: Numbered) -> list[dict[str, Any]]:
        new: dict[str, dict[str, Any]] = {}
        for at, data in rows:
            self._check_namespace(at, data.payload)
            new.setdefault(data.event_id, self._event(at, data))
        present = self._present(tables.event.c.event_id, new)
        return [row for event_id, row in new.items() if event_id not in present]

    def _event(self, at: int, data: EventData) -> dict[str, Any]:
        payload = data.payload.model_copy(update={"tenant_id": self.tenant})
        return {
            "event_id": data.event_id,
            "tenant": self.tenant,
            "asset_pk": 0 if data.asset is None else self._pk(at, data.asset),
            "kind": data.event.value,
            "created": data.created,
            "namespace": payload.namespace,
            "type": payload.type,
            "payload": json_text(payload.to_json()),
            "diff": json_text(data.diff),
            "source": json_text(data.source.to_json()),
            "depth": data.depth,
            "suppressed": f"{IMPORTED}:{data.suppressed}" if data.suppressed else IMPORTED,
        }

    def _new_lines(self, rows: Numbered) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Lineage rows and their usages, both without their number."""
        new: dict[tuple[bytes, int], Any] = {}
        for at, data in rows:
            row = self._line(data)
            new.setdefault((row["record_key"], row["bundle"]), (row, self._usages(at, data)))
        columns = tables.lineage.c
        present: set[tuple[bytes, int]] = set()
        for keys in _portions(sorted({key for key, _ in new})):
            some = select(columns.record_key, columns.bundle).where(columns.record_key.in_(keys))
            present.update((bytes(key), bundle) for key, bundle in self.conn.execute(some))
        return [line for key, line in new.items() if key not in present]

    def _line(self, data: LineageData) -> dict[str, Any]:
        members = data.model_dump(exclude={"usages", "inputs", "outputs", "warnings", "error", "state"})
        task = TaskRun(**{name: members[name] for name in TaskRun.model_fields})
        return {
            **members,
            "record_key": record_key(self.tenant, task),
            "tenant": self.tenant,
            "state": data.state.value,
            "inputs": json_text([ref.to_json() for ref in data.inputs]),
            "outputs": json_text([ref.to_json() for ref in data.outputs]),
            "warnings": json_text(data.warnings),
            "error": json_text(data.error.to_json()) if data.error else None,
        }

    def _usages(self, at: int, data: LineageData) -> list[dict[str, Any]]:
        touched = {(self._pk(at, one.asset), _LETTERS[one.role]) for one in data.usages}
        return [{"asset_pk": pk, "role": role, "created": data.created} for pk, role in sorted(touched)]

    def _state(self, data: AssetData) -> AssetState:
        members = {name: getattr(data, name) for name in AssetData.model_fields}
        return AssetState(key=identity(self.tenant, data.id), pk=0, tenant=self.tenant, **members)

    def _check_namespace(self, at: int, data: AssetData | EventAsset) -> None:
        if is_hidden(data.namespace, self.caller):
            raise NamespaceNotAllowed(
                f"Row {at} is about {data.id!r} in the namespace {data.namespace!r}, which is closed to you.",
                row=at,
                namespace=data.namespace,
            )

    def _check_locks(self, pks: set[int]) -> None:
        """Refuse further ids for assets that somebody else has locked.

        :raises AssetLocked: naming the holder.
        """
        for some in _portions(sorted(pks)):
            rows = self.conn.execute(_LOCKED.where(tables.asset.c.pk.in_(some))).all()
            guard = Guard(self.conn, self.caller, rows, {}, db_now(self.conn))
            for row in rows:
                guard.check(bytes(row.key))

    def _find(self, keys: Iterable[bytes]) -> None:
        """Learn the row numbers of assets, by their present and former identities."""
        unknown = sorted(set(keys) - self._pks.keys())
        asset, alias = tables.asset.c, tables.alias.c
        for some in _portions(unknown):
            former = select(alias.alias_key, alias.asset_pk).where(alias.alias_key.in_(some))
            present = select(asset.asset_key, asset.pk).where(asset.asset_key.in_(some))
            for statement in (former, present):
                self._pks.update((bytes(key), pk) for key, pk in self.conn.execute(statement))

    def _pk(self, at: int, asset_id: str) -> int:
        pk = self._pks.get(identity(self.tenant, asset_id))
        if pk is None:
            raise InvalidRequest(
                f"Row {at} names the asset {asset_id!r}, which is not there.",
                hint="Send the rows in the order of the export.",
                row=at,
                value=asset_id,
            )
        return pk

    def _present(self, column: Column[Any], keys: Iterable[Any]) -> set[Any]:
        found: set[Any] = set()
        for some in _portions(sorted(keys)):
            rows = self.conn.scalars(select(column).where(column.in_(some)))
            found.update(bytes(key) if isinstance(key, (bytes, memoryview)) else key for key in rows)
        return found

    def _insert(self, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        for some in _portions(rows):
            self.conn.execute(insert(table), some)


_LOCKED = (
    select(tables.asset.c.asset_key.label("key"), tables.asset.c.id, tables.asset.c.lock_until)
    .order_by(tables.asset.c.asset_key)
    .with_for_update()
)


def _portions(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _PORTION):
        yield items[start : start + _PORTION]


def _named_by(data: Any) -> list[str]:
    """The ids of the assets that a row refers to."""
    if isinstance(data, EdgeData):
        return [end for end in (data.source, data.target) if end is not None]
    if isinstance(data, LineageData):
        return [one.asset for one in data.usages]
    if isinstance(data, (AliasData, EventData)) and data.asset is not None:
        return [data.asset]
    return []
