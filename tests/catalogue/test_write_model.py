"""Any sequence of writes leaves tables that agree with each other and with a model of a few lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import write
from airflow_assets.catalog.merge import merge_metadata
from airflow_assets.exceptions import AssetAlreadyExists, AssetCatalogError, AssetNotFound, InvalidAsset
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetUpdate, Rename
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.operations import GetOptions
from airflow_assets.schemas.rules import EXTERNAL_TYPE
from tests.support.catalog_invariants import check_tables
from tests.support.json_values import json_values

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

CALLER = Caller(source=Source(kind=SourceKind.API))
IDS = st.sampled_from(["a", "A", "ü"])
METADATA = st.dictionaries(st.sampled_from(["k", "l"]), st.none() | json_values, max_size=2)
TYPES = st.sampled_from(["T", "U", EXTERNAL_TYPE])


@dataclass
class Known:
    type: str
    namespace: str | None
    metadata: dict[str, Any]
    deleted: bool = False
    former: list[str] = field(default_factory=list)


class Model:
    """The catalogue as a dict; says which error a write must give."""

    def __init__(self) -> None:
        self.assets: dict[str, Known] = {}

    def resolve(self, asset_id: str) -> str:
        if asset_id in self.assets:
            return asset_id
        return next((name for name, one in self.assets.items() if asset_id in one.former), asset_id)

    def live(self, asset_id: str) -> str:
        name = self.resolve(asset_id)
        if name not in self.assets or self.assets[name].deleted:
            raise AssetNotFound(name)
        return name

    def create(self, one: AssetInput) -> None:
        name = self.resolve(one.id)
        known = self.assets.get(name)
        if known and not known.deleted:
            raise AssetAlreadyExists(name)
        if one.type is None:
            raise InvalidAsset("type")
        former = known.former if known and name == one.id else []
        if known and name != one.id:
            known.former.remove(one.id)
        self.assets[one.id] = Known(one.type, one.namespace, dict(one.metadata or {}), former=former)

    def upsert(self, one: AssetInput) -> None:
        known = self.assets.get(self.resolve(one.id))
        if known is None:
            if one.type is None:
                raise InvalidAsset("type")
            self.assets[one.id] = Known(one.type, one.namespace, merge_metadata({}, one.metadata or {}))
        else:
            self._merge(known, one)
            known.deleted = False

    def update(self, asset_id: str, changes: AssetUpdate) -> None:
        known = self.assets[self.live(asset_id)]
        self._merge(known, changes)
        if "namespace" in changes.model_fields_set:
            known.namespace = changes.namespace

    def _merge(self, known: Known, one: AssetInput | AssetUpdate) -> None:
        known.type = one.type if one.type and one.type != EXTERNAL_TYPE else known.type
        known.namespace = one.namespace or known.namespace
        known.metadata = merge_metadata(known.metadata, one.metadata or {})

    def delete(self, asset_id: str) -> None:
        self.assets[self.live(asset_id)].deleted = True

    def rename(self, names: Rename) -> None:
        old, new = self.live(names.old_id), names.new_id
        if old == new:
            return
        taken = self.resolve(new)
        if taken in self.assets:
            if taken == new or (taken != old and not self.assets[taken].deleted):
                raise AssetAlreadyExists(new)
            self.assets[taken].former.remove(new)
        known = self.assets.pop(old)
        known.former.append(old)
        self.assets[new] = known


def made(model: Any, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A model of some members; `st.builds` would read its JSON names from the signature and ask for both."""
    return st.fixed_dictionaries(members).map(lambda given: model(**given))


inputs = made(
    AssetInput,
    id=IDS,
    type=TYPES | st.none(),
    namespace=st.sampled_from([None, "n", "n.m"]),
    metadata=METADATA | st.none(),
)
updates = st.fixed_dictionaries(
    {}, optional={"type": TYPES, "namespace": st.sampled_from([None, "n"]), "metadata": METADATA}
).map(lambda given: AssetUpdate(**given))
records = made(
    Bundle,
    inputs=st.lists(st.fixed_dictionaries({"id": IDS}), max_size=2),
    outputs=st.lists(inputs, max_size=2),
)
steps = st.one_of(
    st.tuples(st.just("create"), inputs),
    st.tuples(st.just("upsert"), inputs),
    st.tuples(st.just("update"), IDS, updates),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("rename"), made(Rename, old_id=IDS, new_id=IDS)),
    st.tuples(st.just("record"), st.lists(records, min_size=1, max_size=2), st.sampled_from(TaskState)),
)


def apply(model: Model, step: tuple[Any, ...], number: int) -> None:
    if step[0] != "record":
        getattr(model, step[0])(*step[1:])
        return
    bundles, state = step[1:]
    if state is TaskState.SUCCESS:
        for output in (output for bundle in bundles for output in bundle.outputs):
            try:
                model.upsert(output)
            except InvalidAsset:
                continue
    for ref in (ref for bundle in bundles for ref in bundle.inputs):
        if model.resolve(ref.id) not in model.assets:
            model.assets[ref.id] = Known(EXTERNAL_TYPE, None, {})


def send(service: CatalogService, step: tuple[Any, ...], number: int) -> None:
    if step[0] != "record":
        name = "rename_asset" if step[0] == "rename" else f"{step[0]}_asset"
        getattr(service, name)(CALLER, *step[1:])
        return
    task = TaskRun(dag_id="d", run_id="r", task_id="t", map_index=number, try_number=1)
    sent = TaskRunRecord(task=task, state=step[2], bundles=step[1])
    assert not service.record_task_run(CALLER, sent).duplicate
    assert service.record_task_run(CALLER, sent).duplicate or not any(b.inputs or b.outputs for b in step[1])


def error_of(work: Any, *arguments: Any) -> type[Exception] | None:
    try:
        work(*arguments)
    except AssetCatalogError as error:
        return type(error)
    return None


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=12, max_size=25))
def test_any_writes_leave_what_the_model_says(
    service: CatalogService, written: list[tuple[Any, ...]]
) -> None:
    with write(service.engine) as conn:
        for table in reversed(tables.metadata.sorted_tables):
            conn.execute(table.delete())
    model = Model()
    for number, step in enumerate(written):
        assert error_of(send, service, step, number) == error_of(apply, model, step, number), step
    with service.engine.connect() as conn:
        check_tables(conn)
        assert len(conn.execute(tables.asset.select()).all()) == len(model.assets)
    for asset_id, known in model.assets.items():
        for name in (asset_id, *known.former):
            found = service.get_asset(CALLER, name, GetOptions(include_deleted=True))
            assert (found.id, found.type, found.namespace) == (asset_id, known.type, known.namespace)
            assert (found.deleted, repr(found.metadata)) == (known.deleted, repr(known.metadata))
            assert sorted(found.aliases) == sorted(known.former)
