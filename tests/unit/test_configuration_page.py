"""docs/configuration.md lists the options that the code reads, and the doctor reads every one of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from airflow_assets import config
from airflow_assets.cli import checks
from scripts import write_configuration

if TYPE_CHECKING:
    import pytest


def test_the_page_has_not_drifted() -> None:
    written = write_configuration.TARGET.read_text(encoding="utf-8")
    assert written == write_configuration.text(), "run: python -m scripts.write_configuration"


def test_every_option_has_its_function() -> None:
    functions = {name for name, _ in inspect.getmembers(config, inspect.isfunction) if name[0] != "_"}
    assert set(config.OPTIONS) <= functions


def test_an_option_is_read_anew_when_its_variable_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("5", "6"):
        monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__MAX_PENDING", value)
        assert config.max_pending() == int(value)
    monkeypatch.delenv("AIRFLOW__AIRFLOW_ASSETS__MAX_PENDING")
    assert config.max_pending() == 1000


def test_the_doctor_names_each_option_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [finding.status for finding in checks.options()] == ["ok"]
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__NAMESPACES", '{"finance": {"team": ["x"]}}')
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__MAX_PENDING", "many")
    found = list(checks.options())
    assert {finding.status for finding in found} == {"problem"}
    assert "namespaces: the rule of 'finance'" in found[0].found
    assert "max_pending = 'many'" in found[1].found
    assert len(found) == 2
