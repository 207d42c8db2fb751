"""The page is built when its sources have changed, and what is built is told to Airflow."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from airflow_assets.ui import bundle

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("hatch_build_of_page", ROOT / "hatch_build.py")
assert _spec is not None
assert _spec.loader is not None
hatch_build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hatch_build)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with a bundle that was built from it."""
    for name in (
        "package.json",
        "package-lock.json",
        "vite.config.ts",
        "tsconfig.json",
        "src/App.tsx",
        "public/icon.svg",
    ):
        path = tmp_path / "ui" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    dist = tmp_path / "airflow_assets" / "ui_dist"
    dist.mkdir(parents=True)
    (dist / "build.json").write_text("{}")
    (dist / "sources.sha256").write_text(hatch_build.sources_hash(tmp_path / "ui") + "\n")
    return tmp_path


def test_a_current_bundle_is_taken_as_it_is(tree: Path) -> None:
    assert hatch_build.bundle_is_current(tree)
    hatch_build.build_page(tree)  # there is no Node.js in this tree that could do anything


@pytest.mark.parametrize("change", ["content", "name", "new", "bundle", "hash"])
def test_any_change_makes_it_old(tree: Path, change: str) -> None:
    ui, dist = tree / "ui", tree / "airflow_assets" / "ui_dist"
    if change == "content":
        (ui / "src" / "App.tsx").write_text("other")
    elif change == "name":
        (ui / "src" / "App.tsx").rename(ui / "src" / "Other.tsx")
    elif change == "new":
        (ui / "src" / "More.tsx").write_text("")
    else:
        (dist / {"bundle": "build.json", "hash": "sources.sha256"}[change]).unlink()
    assert not hatch_build.bundle_is_current(tree)


def test_what_is_built_is_told_to_airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build.json").write_text(json.dumps({"entry": "main-12345678.js"}))
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    bundle.find_bundle.cache_clear()
    apps = bundle.react_apps()
    bundle.find_bundle.cache_clear()
    assert {app["destination"] for app in apps} == {"nav", "dag", "dag_run", "task_instance"}
    assert len({app["url_route"] for app in apps}) == len(
        apps
    )  # Airflow leaves out a route that is there already
    assert {app["bundle_url"] for app in apps} == {"airflow_assets_ui/main-12345678.js"}


def test_without_a_bundle_there_is_no_page_and_the_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bundle, "FOLDER", tmp_path)
    bundle.find_bundle.cache_clear()
    with caplog.at_level("INFO"):
        assert bundle.react_apps() == []
    bundle.find_bundle.cache_clear()
    assert "make ui" in caplog.text
