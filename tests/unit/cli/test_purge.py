"""`airflow assets-catalog purge` on the real catalogue in process."""

from __future__ import annotations

import json

import pytest

from airflow_assets.cli import exit_codes
from airflow_assets.cli import purge as purge_module
from airflow_assets.client import get_client
from airflow_assets.schemas.assets import AssetInput

OLD, LATER = "2020-01-01T00:00:00Z", "2200-01-01T00:00:00Z"


@pytest.fixture
def three(catalog) -> None:
    for name in ("a", "b", "c"):
        get_client().create_asset(AssetInput(id=name, type="T" if name == "a" else "U", metadata={"n": name}))


def left() -> list[str]:
    return [asset.id for asset in get_client().query_assets().items]


def test_it_counts_asks_and_purges(cli, three) -> None:
    code, out, _ = cli("purge", "--end_date", LATER, "--events", "--dry_run", "-o", "json")
    assert code == 0
    assert json.loads(out) == {
        "purgedAssetsCount": 3, "purgedAssetUsagesCount": 0, "purgedAssetLineagesCount": 0,
        "purgedAssetEventsCount": 3, "lockedAssetsCount": 0, "keptForReadersCount": 0, "readers": [],
        "idleReaders": [],
    }  # fmt: skip
    code, out, err = cli("purge", "--end_date", LATER)
    assert (code, out) == (exit_codes.DECLINED, "")
    assert "give --yes" in err
    assert left() == ["a", "b", "c"]
    code, out, _ = cli("purge", "--end_date", OLD, "--yes", "-o", "plain")
    assert (code, out.splitlines()[0]) == (0, "purged_assets_count\t0")
    only = ("--no_usages", "--no_lineages", "--yes")
    code, out, _ = cli("purge", "--end_date", LATER, "--type", "T", *only, "-o", "json")
    assert (code, json.loads(out)["purgedAssetsCount"]) == (0, 1)
    code, out, _ = cli("purge", "--end_date", LATER, "--where", "n = b", *only, "-o", "plain")
    assert out.splitlines()[:2] == ["purged_assets_count\t1", "purged_asset_usages_count\t"]
    assert left() == ["c"]


def test_a_duration_is_before_now(cli, three) -> None:
    assert cli("purge", "--end_date", "P1D", "--yes")[0] == 0
    assert left() == ["a", "b", "c"]
    code, _, err = cli("purge", "--end_date", "P1X", "--yes")
    assert code == exit_codes.INVALID
    assert "duration" in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--id", "a"), "purge_asset_lineages"),
        (("--type", "T"), "purge_asset_usages"),
        (("--events", "--where", "n = 1", "--no_usages", "--no_lineages"), "purge_asset_events"),
    ],
)
def test_what_cannot_be_expressed_names_the_switch(cli, three, arguments, named) -> None:
    code, _, err = cli("purge", "--end_date", LATER, "--yes", *arguments)
    assert code == exit_codes.INVALID
    assert named in err
    assert left() == ["a", "b", "c"]


def test_on_a_terminal_it_asks_with_the_counts_and_shows_a_bar(cli, three, monkeypatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "y")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(purge_module, "_is_terminal", lambda: True)
    code, _, err = cli("purge", "--end_date", LATER, "--no_usages", "--no_lineages")
    assert code == 0
    assert asked[0].startswith("Purge 3 assets, as old as 2200-01-01")
    assert "Purging" in err
    assert "3/3" in err
    assert left() == []
