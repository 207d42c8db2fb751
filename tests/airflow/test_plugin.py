"""What this provider plugs into Airflow: cheap to import everywhere, and never the reason a process dies."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema

from airflow_assets import config
from airflow_assets.get_provider_info import get_provider_info
from airflow_assets.plugin import AssetsPlugin, _WhenRead

if TYPE_CHECKING:
    import pytest

HEAVY = ("alembic", "fastapi", "httpx", "starlette", "openlineage")


def loaded_by(code: str) -> set[str]:
    """Top-level modules that `code` loads beside those of Airflow's own plugin module."""
    script = f"""
import sys, json
import airflow.plugins_manager
before = set(sys.modules)
{code}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    found = loaded_by("import airflow_assets.plugin; airflow_assets.plugin.AssetsPlugin.listeners")
    assert {name for name in found if name.split(".")[0] in HEAVY} == set()
    ours = {name for name in found if name.startswith("airflow_assets.")}
    assert not {name for name in ours if name.split(".")[1] in {"api", "catalog", "airflow_bridge"}}


def test_the_provider_info_is_what_airflow_expects() -> None:
    info = get_provider_info()
    schema = json.loads(files("airflow").joinpath("provider_info.schema.json").read_text())
    jsonschema.validate(info, schema)
    assert set(info["config"]["airflow_assets"]["options"]) == set(config.OPTIONS)
    for option in config.OPTIONS.values():
        function: Any = getattr(config, option.name)
        assert function.__doc__
        function()  # every default is a valid value


def test_a_part_that_cannot_be_made_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def _broken_part() -> list[object]:
        raise ImportError("no module named x")

    class Plugin:
        part = _WhenRead(_broken_part)

    with caplog.at_level(logging.ERROR):
        assert Plugin().part == []
        assert Plugin().part == []
    assert [record.message for record in caplog.records] == ["airflow_assets: broken_part is left out."]


def test_the_api_is_a_real_application_under_our_prefix() -> None:
    from fastapi import FastAPI

    mounted = AssetsPlugin.fastapi_apps[0]
    assert isinstance(mounted["app"], FastAPI)
    assert mounted["url_prefix"] == "/airflow_assets"
    assert AssetsPlugin().fastapi_apps[0]["app"] is mounted["app"]


def test_the_macros_have_the_names_of_the_contract() -> None:
    assert [macro.__name__ for macro in AssetsPlugin.macros] == [
        "assets", "trigger", "trigger_asset", "trigger_assets",
    ]  # fmt: skip
