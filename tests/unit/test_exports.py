"""What the packages offer without importing it: their names are found, listed once, and cost nothing before."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import airflow_assets
from airflow_assets import exceptions
from airflow_assets.authoring import errors

PACKAGES = ("airflow_assets", "airflow_assets.exporters", "airflow_assets.hooks", "airflow_assets.operators",
            "airflow_assets.sensors")  # fmt: skip


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_of_a_package_name_the_same(package: str) -> None:
    module = import_module(package)
    tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {name.name for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names}
    typed |= {node.targets[0].id for node in block.body if isinstance(node, ast.Assign)}
    assert sorted(module.__all__) == sorted(typed)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_there_is_not_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Asets'"):
        _ = import_module(package).Asets


def test_the_errors_of_authoring_are_among_the_exceptions() -> None:
    named = {name for name, kind in inspect.getmembers(errors, inspect.isclass)}
    assert named == {name for name in named if getattr(exceptions, name) is getattr(errors, name)}
    assert named <= set(exceptions.__all__)


def test_an_asset_in_a_script_imports_no_airflow() -> None:
    code = (
        "import sys, airflow_assets as aa\n"
        "assert len([name for name in sys.modules if name.startswith('airflow_assets')]) <= 2\n"
        "for name in aa.__all__:\n"
        "    if not name.startswith(('trigger', 'assets', 'emit', 'configure')): getattr(aa, name)\n"
        "@aa.Asset(kinds='table')\n"
        "def orders(): return [1]\n"
        "heavy = ('airflow.', 'sqlalchemy', 'httpx', 'fastapi', 'pandas', 'pyarrow', 'polars')\n"
        "print([name for name in sys.modules if name == 'airflow' or name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_at_hand() -> None:
    assert airflow_assets.__version__
