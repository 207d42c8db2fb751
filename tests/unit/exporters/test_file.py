"""The file exporter on the local disk and on another file system, and what holds for every exporter."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import tracemalloc
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from airflow.sdk import ObjectStoragePath
from airflow.sdk.io import attach

from airflow_assets.exporters import AssetExporter, ExportFailed, FileAssetExporter, Shipment
from airflow_assets.exporters.base import ExportBatch
from airflow_assets.operators import AssetShipper
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskState
from airflow_assets.schemas.shipping import ShippedEvent
from tests.support.shipping import FILE, TABLE, record, shipped

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService


def lines(uri: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ObjectStoragePath(uri).read_text().splitlines()]


def visible(folder: str) -> list[str]:
    path = ObjectStoragePath(folder)
    return sorted(child.name for child in path.iterdir()) if path.exists() else []


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return f"file://{tmp_path}/out"
    attach(
        "memory", fs=fsspec.filesystem("memory")
    )  # Airflow itself knows it only under the name it is given
    return f"memory://{tmp_path.name}/out"


def test_lines_hold_events_with_whole_assets(catalog: CatalogService, folder: str) -> None:
    record(catalog, outputs=[AssetInput(id="ré", type=FILE, metadata={"n": 2**70, "t": "a\nb\u2028"})])
    record(catalog, run_id="r2", state=TaskState.FAILED, outputs=[AssetInput(id="never stored", type=FILE)])
    outcome = shipped(catalog, FileAssetExporter("f", path=folder, log_file_prefix="lin"))
    assert outcome.size == 2
    (uri,) = outcome.outputs["f"]["uris"]
    assert outcome.outputs["f"]["size"] == 2
    first, second = lines(uri)
    assert first["task"] == {
        "dagId": "etl", "runId": "r1", "taskId": "load", "mapIndex": -1, "tryNumber": 1, "tiId": None,
    }  # fmt: skip
    assert first["outputs"][0]["metadata"] == {"n": 2**70, "t": "a\nb\u2028"}
    assert first["outputs"][0]["name"] == "ré"
    assert second["state"] == "failed"
    assert second["outputs"] == [
        {"name": "never stored", "id": "never stored", "type": FILE, "namespace": None}
    ]
    assert outcome.to_json()["endFetchedDate"] == second["created"]
    assert [name for name in visible(folder) if not name.startswith("lin-")] == []


def test_files_are_split_and_the_next_run_writes_others(catalog: CatalogService, folder: str) -> None:
    for number in range(5):
        record(catalog, run_id=f"r{number}")
    uris = shipped(catalog, FileAssetExporter("f", path=folder, max_lines_per_file=2)).outputs["f"]["uris"]
    assert [[line["task"]["runId"] for line in lines(uri)] for uri in uris] == [
        ["r0", "r1"],
        ["r2", "r3"],
        ["r4"],
    ]
    record(catalog, run_id="r5")
    assert shipped(catalog, FileAssetExporter("f", path=folder, max_lines_per_file=2)).size == 1
    assert len(visible(folder)) == 4
    nothing = shipped(catalog, FileAssetExporter("f", path=folder))
    assert nothing.outputs == {"f": {"size": 0, "uris": []}}


def test_ion_is_read_back_by_its_library(catalog: CatalogService, folder: str) -> None:
    from amazon.ion import simpleion

    record(
        catalog,
        outputs=[AssetInput(id="r", type=FILE, metadata={"n": 2**70, "x": 1.5, "no": [None], "t": "\u2028"})],
    )
    (uri,) = shipped(catalog, FileAssetExporter("f", "ION", path=folder)).outputs["f"]["uris"]
    assert uri.endswith(".ion")
    text = ObjectStoragePath(uri).read_text()
    assert text.count("\n") == 1
    (event,) = simpleion.loads(text, single_value=False)
    assert event["outputs"][0]["metadata"]["t"] == "\u2028"
    assert event["outputs"][0]["metadata"]["n"] == 2**70


def test_without_its_library_ion_says_what_to_install(
    catalog: CatalogService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("airflow_assets.exporters.file.find_spec", lambda _: None)
    with pytest.raises(ExportFailed, match=r"pip install 'airflow-provider-assets\[ion\]'"):
        shipped(catalog, FileAssetExporter("f", "ION", path=str(tmp_path)))


def test_killed_before_it_has_confirmed_a_run_leaves_no_part_and_the_next_writes_the_same_files(
    catalog: CatalogService, tmp_path: Path
) -> None:
    for number in range(6):
        record(catalog, run_id=f"r{number}")
    code = f"""
import os, sys
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exporters import FileAssetExporter
from airflow_assets.exporters import whole_files
from tests.support.shipping import shipped
put = whole_files.put_whole
def killed(local, target):
    put(local, target)
    os._exit(9)
whole_files.put_whole = killed
service = CatalogService(make_engine({str(catalog.engine.url)!r}))
shipped(service, FileAssetExporter("f", path={str(tmp_path / "out")!r}, max_lines_per_file=4))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=Path.cwd()
    )
    assert done.returncode == 9, done.stderr
    (before,) = visible(str(tmp_path / "out"))
    shipped(catalog, FileAssetExporter("f", path=str(tmp_path / "out"), max_lines_per_file=4))
    after = visible(str(tmp_path / "out"))
    assert before in after
    assert len(after) == 2
    written = [line["task"]["runId"] for name in after for line in lines(str(tmp_path / "out" / name))]
    assert sorted(written) == [f"r{number}" for number in range(6)]


def wrong_with(file: Path) -> list[str]:
    found = [json.loads(line)["task"]["dagId"] for line in file.read_text().splitlines()]
    return [] if len(found) == 200 and len(set(found)) == 1 else [f"{file.name}: {found}"]


def write_often(out: Path, writer: int) -> None:
    for _ in range(5):
        exporter = FileAssetExporter("f", path=str(out))
        exporter.start(Shipment(f"shipper {writer}", "main"))
        for start in range(0, 200, 50):
            exporter.export(ExportBatch([event(f"dag{writer}", 1 + start + at) for at in range(50)], {}))
        exporter.finish()


def test_eight_writers_never_mix_and_no_reader_sees_a_part(tmp_path: Path) -> None:
    """Eight shippers at once into one folder, two of them with one name, while a reader looks."""
    out = tmp_path / "out"
    out.mkdir()
    broken: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for file in out.glob("asset-lineage-*"):
                broken.extend(wrong_with(file))

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write_often, args=(out, max(number, 1))) for number in range(8)]
    reader.start()
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert broken == []
    assert len(list(out.iterdir())) == 7


def event(dag_id: str, seq: int) -> ShippedEvent:
    now = datetime(2026, 3, 1, tzinfo=timezone.utc)
    return ShippedEvent(
        seq=seq,
        task=TaskRun(dag_id=dag_id, run_id=f"r{seq}", task_id="t", try_number=1),
        bundle=0,
        state=TaskState.SUCCESS,
        inputs=[AssetRef(id="a" * 50, type=TABLE)],
        outputs=[],
        warnings=[],
        start_date=now,
        end_date=now,
        created=now,
    )


def test_memory_does_not_grow_with_the_log(
    catalog: CatalogService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_assets.exporters.reading.PAGE", 20)

    def peak(count: int, key: str) -> int:
        tracemalloc.start()
        size = shipped(catalog, FileAssetExporter("f", path=str(tmp_path / key)), key=key).size
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size >= count
        return most

    for number in range(40):
        record(catalog, run_id=f"r{number}", warnings=["w" * 20_000])
    shipped(catalog, FileAssetExporter("f", path=str(tmp_path / "warm")), key="warm")
    few = peak(40, "few")
    for number in range(160):
        record(catalog, run_id=f"s{number}", warnings=["w" * 20_000])
    assert peak(200, "many") <= 1.2 * few


def test_the_path_need_not_be_given(
    catalog: CatalogService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__STORAGE_PATH", f"file://{tmp_path}/store")
    record(catalog)
    (uri,) = shipped(catalog, FileAssetExporter("f")).outputs["f"]["uris"]
    assert Path(uri.removeprefix("file://")).parent == tmp_path / "store" / "lineage"


def test_a_try_is_never_cut_in_two(catalog: CatalogService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_assets.exporters.reading.PAGE", 2)
    batches: list[list[str]] = []

    class Own(AssetExporter):
        def export(self, batch: ExportBatch) -> None:
            batches.append([event.task.run_id for event in batch.events])
            assert batch.asset(AssetRef(id="report")) is not None

    bundles = [Bundle(outputs=[AssetInput(id="report", type=FILE)])] * 3
    for number in range(3):
        record(catalog, run_id=f"r{number}", bundles=bundles)
    assert shipped(catalog, Own("own")).outputs == {"own": {"size": 9}}
    assert [run for batch in batches for run in batch] == [f"r{number // 3}" for number in range(9)]
    assert all(batch.count(run) == 3 for batch in batches for run in batch)


def test_arguments_are_checked_when_they_are_written() -> None:
    with pytest.raises(ValueError, match="format is 'CSV'; it must be one of JSON, ION"):
        FileAssetExporter("f", "CSV")
    with pytest.raises(ValueError, match="folders belong into path"):
        FileAssetExporter("f", log_file_prefix="a/b")
    for wrong in (0, True, "7"):
        with pytest.raises(ValueError, match="max_lines_per_file"):
            FileAssetExporter("f", max_lines_per_file=wrong)  # type: ignore[arg-type]
    good = FileAssetExporter("f")
    with pytest.raises(ValueError, match="give at least one"):
        AssetShipper(task_id="t", asset_exporters=[])
    with pytest.raises(ValueError, match="several exporters have the id 'f'"):
        AssetShipper(task_id="t", asset_exporters=[good, FileAssetExporter("f")])
    with pytest.raises(ValueError, match="is no AssetExporter"):
        AssetShipper(task_id="t", asset_exporters=["f"])  # type: ignore[list-item]
    with pytest.raises(Exception, match="'yesterday' is not a duration"):
        AssetShipper(task_id="t", asset_exporters=[good], lookback_period="yesterday")
    with pytest.raises(Exception, match="months and years have no fixed length"):
        AssetShipper(task_id="t", asset_exporters=[good], lookback_period="P1M")
    AssetShipper(task_id="t", asset_exporters=[good], lookback_period="{{ params.back }}")
