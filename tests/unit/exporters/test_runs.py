"""Runs and events of a try: with the OpenLineage provider, beside it, and without it; and the operator itself."""

from __future__ import annotations

import sys
import uuid
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.exporters import AssetExporter, ExportBatch, ExportFailed, FileAssetExporter, Shipment
from airflow_assets.exporters.openlineage.events import Builder
from airflow_assets.exporters.openlineage.mapping import Mappings
from airflow_assets.exporters.openlineage.runs import Runs
from airflow_assets.operators import AssetShipper
from airflow_assets.schemas.assets import AssetRef
from airflow_assets.schemas.lineage import TaskRun, TaskState
from airflow_assets.schemas.shipping import DagRunTimes, ShippedEvent
from tests.support.json_values import busy_machine
from tests.support.shipping import TABLE, record

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_assets.catalog.service import CatalogService

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
LATER = datetime(2026, 3, 2, tzinfo=timezone.utc)
Parts = tuple[str, str, str, int, int]


def event(
    parts: Parts = ("etl", "r1", "load", -1, 1), run: DagRunTimes | None = None, **more: Any
) -> ShippedEvent:
    dag_id, run_id, task_id, map_index, try_number = parts
    given: dict[str, Any] = {
        "seq": 1, "bundle": 0, "state": TaskState.SUCCESS, "inputs": [AssetRef(id="a", type=TABLE)], "outputs": [],
        "warnings": [], "start_date": NOON, "end_date": NOON, "created": NOON, **more,
    }  # fmt: skip
    task = TaskRun(dag_id=dag_id, run_id=run_id, task_id=task_id, map_index=map_index, try_number=try_number)
    return ShippedEvent(task=task, run=run, **given)


@pytest.fixture
def without_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were not installed: Python finds no such module."""
    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage", None)


@pytest.mark.parametrize("logical_date", [NOON, None])
def test_run_ids_are_the_providers_own(logical_date: datetime | None) -> None:
    run = DagRunTimes(logical_date=logical_date, run_after=LATER, clear_number=3)
    one = event(("etl", "r1", "load", 4, 2), run)
    theirs = OpenLineageAdapter.build_task_instance_run_id(
        dag_id="etl", task_id="load", try_number=2, logical_date=logical_date or LATER, map_index=4
    )
    assert Runs().run_id(one) == theirs
    parent = OpenLineageAdapter.build_dag_run_id("etl", logical_date or LATER, 3)
    assert Runs().parent(one) == (parent, "default", "etl")


def test_without_the_provider_ids_are_stable(without_provider: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__NAMESPACE", "house")
    run = DagRunTimes(logical_date=NOON, run_after=LATER, clear_number=3)
    runs = Runs()
    assert not runs.active
    assert runs.run_id(event(run=run)) == "60767740-f9bd-5c6f-aeca-de9bfe8e0c1e"
    assert runs.parent(event(run=run))[1:] == ("house", "etl")


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
tries = st.tuples(text, text, text, st.integers(-1, 50), st.integers(0, 50))


@busy_machine
@given(st.lists(tries, unique=True, min_size=2, max_size=20))
def test_no_two_tries_share_an_id(many: list[Parts]) -> None:
    runs = Runs()
    ids = [runs.run_id(event(parts)) for parts in many]
    assert len(set(ids)) == len(many)
    assert ids == [runs.run_id(event(parts)) for parts in many]
    assert all(uuid.UUID(one) for one in ids)


def types_of(runs: Runs, *events: ShippedEvent) -> list[tuple[str, str]]:
    made = Builder("main", Mappings("x", {}), runs, pytest.fail).of_try(list(events), ExportBatch([], {}))
    return [(one.eventType.value, one.run.runId) for one in made]


def test_beside_an_active_provider_nothing_starts_or_ends_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = DagRunTimes(logical_date=NOON, run_after=LATER, clear_number=0)
    runs = Runs()
    own = runs.run_id(event(run=run))
    assert types_of(runs, event(run=run), event(run=run, bundle=1)) == [
        ("START", own),
        ("RUNNING", own),
        ("COMPLETE", own),
    ]
    monkeypatch.setattr(Runs, "active", True)
    assert types_of(Runs(), event(run=run), event(run=run, bundle=1)) == [("OTHER", own), ("OTHER", own)]


class Own(AssetExporter):
    """Takes what it gets; fails when it is told so."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        super().__init__(name)
        self.got: list[str] = []
        self.error = error
        self.abandoned = 0

    def export(self, batch: ExportBatch) -> None:
        if self.error:
            raise self.error
        self.got += [one.task.run_id for one in batch.events]

    def abandon(self) -> None:
        self.abandoned += 1


def run_task(operator: AssetShipper) -> dict[str, Any]:
    return operator.execute({"ti": SimpleNamespace(dag_id="ops", task_id="ship")})  # type: ignore[typeddict-item]


def test_the_operator_ships_what_its_arguments_say(catalog: CatalogService, tmp_path: Path) -> None:
    for number in range(3):
        record(catalog, task_id=f"t{number}", run_id=f"r{number}")
    one, broken = Own("one"), Own("broken", OSError("disk full"))
    result = run_task(AssetShipper(task_id="ship", asset_exporters=[one], shipped_task_id="t1"))
    assert one.got == ["r1"]
    assert result["size"] == 1
    assert result["outputs"] == {"one": {"size": 1}}
    assert result["endFetchedDate"].endswith("Z")

    both = AssetShipper(task_id="ship", asset_exporters=[broken, Own("two")], offset_key="k", dag_id="etl")
    with pytest.raises(ExportFailed, match="Exporter 'broken' failed: disk full"):
        run_task(both)
    assert both.asset_exporters[1].got == ["r0", "r1", "r2"]
    assert broken.abandoned == 1
    broken.error = None
    both.asset_exporters[1].got.clear()
    run_task(both)
    assert (broken.got, both.asset_exporters[1].got) == (["r0", "r1", "r2"], [])
    nothing = AssetShipper(task_id="ship", asset_exporters=[Own("x")], flow_namespace="other")
    assert run_task(nothing) == {"size": 0, "endFetchedDate": None, "outputs": {"x": {"size": 0}}}


def test_a_killed_task_leaves_nothing_behind(tmp_path: Path) -> None:
    exporter = FileAssetExporter("f", path=str(tmp_path))
    operator = AssetShipper(task_id="ship", asset_exporters=[exporter])
    exporter.start(Shipment("k", "main"))
    exporter.export(ExportBatch([event()], {}))
    operator.on_kill()
    assert list(tmp_path.iterdir()) == []
    operator.on_kill()
