from __future__ import annotations

import io
import json

from airflow_assets.catalog import tables
from airflow_assets.cli import exit_codes, transfer
from airflow_assets.client import get_client
from airflow_assets.schemas.assets import AssetInput, Rename


def fill(count: int) -> None:
    client = get_client()
    for number in range(count):
        client.create_asset(AssetInput(id=f"a{number:04}", type="T", metadata={"n": number, "ü": "\u2028"}))
    client.rename_asset(Rename(old_id="a0000", new_id="renamed"))
    client.delete_asset("a0001")


def empty(catalog) -> None:
    with catalog.engine.begin() as conn:
        for table in reversed(tables.metadata.sorted_tables):
            conn.execute(table.delete())


def test_read_into_an_empty_catalogue_the_export_is_the_same(cli, catalog, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(transfer, "BATCH", 7)
    fill(20)
    file = tmp_path / "catalog.jsonl"
    code, out, err = cli("export", str(file))
    assert (code, out) == (0, "")
    lines = file.read_text().splitlines()
    assert err.startswith(f"Exported {len(lines)} rows in ")
    empty(catalog)
    code, out, _ = cli("import", str(file), "-o", "json")
    assert (code, json.loads(out)) == (0, {"imported": len(lines), "skipped": 0})
    assert cli("export")[1].splitlines() == lines
    assert json.loads(cli("import", str(file), "-o", "json")[1]) == {"imported": 0, "skipped": len(lines)}


def test_without_the_log_there_are_assets_and_former_ids_alone(cli, catalog) -> None:
    fill(3)
    kinds = {json.loads(line)["kind"] for line in cli("export", "--no_log")[1].splitlines()}
    assert kinds == {"asset", "alias"}


def test_an_export_that_breaks_leaves_the_old_file(cli, catalog, tmp_path, monkeypatch) -> None:
    fill(3)
    file = tmp_path / "catalog.jsonl"
    file.write_text("old")

    def broken(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(catalog, "export_rows", broken)
    code, _, err = cli("export", str(file))
    assert code == exit_codes.INVALID
    assert "the disk is full" in err
    assert file.read_text() == "old"
    assert list(tmp_path.glob("*.part")) == []


def test_a_line_that_is_no_row_is_named(cli, catalog, monkeypatch) -> None:
    for number, line in ((1, "nonsense"), (3, '{"kind": "odd", "data": {}}')):
        text = "\n" * (number - 1) + line + "\n"
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code, _, err = cli("import")
        assert code == exit_codes.INVALID
        assert f"Line {number} of the file" in err


def test_long_work_says_how_far_it_is(cli, catalog, monkeypatch) -> None:
    monkeypatch.setattr(transfer, "PROGRESS_SECONDS", 0.0)
    fill(3)
    err = cli("export", "--no_log")[2].splitlines()
    assert err[0] == "Exported 1 rows..."
    assert len(err) == 5
