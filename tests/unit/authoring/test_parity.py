"""docs/authoring-parity.md: every name of the reference has a status, and what is called the same is the same."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

import airflow_assets
from airflow_assets import CodeRepository
from airflow_assets.exceptions import ConfigurationError
from scripts import write_parity
from scripts.parity import ours
from scripts.parity.facts import DATA, Parameter, Row, rows
from scripts.parity.statuses import STATUSES, status_of

ROWS = rows()


def test_the_facts_are_those_of_the_reference() -> None:
    tops = {row.top for row in ROWS}
    assert {"Asset", "CodeRepository", "Storage", "exceptions", "testing"} <= tops
    assert len(ROWS) > 1_200


def test_every_row_has_a_status() -> None:
    assert [row.path for row in ROWS if status_of(row) is None] == []


def test_every_status_is_of_a_row_and_says_why() -> None:
    paths = {row.path for row in ROWS}
    assert [path for path in STATUSES if path not in paths] == []
    assert [path for path, status in STATUSES.items() if status.name != "same" and not status.why] == []


def test_what_is_the_same_is_the_same() -> None:
    same = [row for row in ROWS if _is(row, "same")]
    assert len(same) > 500
    found = {row.path: difference for row in same if (difference := ours.difference(row))}
    assert found == {}


def test_what_is_better_is_there() -> None:
    assert [row.path for row in ROWS if _is(row, "better") and not ours.exists(row)] == []


def test_what_is_not_on_airflow_is_not_there() -> None:
    gone = [(row, status) for row in ROWS if (status := status_of(row)) and status.name == "not on Airflow"]
    assert [row.path for row, status in gone if ours.exists(row) and not status.refused] == []


def test_what_is_not_yet_is_not_there() -> None:
    assert [row.path for row in ROWS if _is(row, "not yet") and ours.exists(row)] == [], "they have come"


@pytest.mark.parametrize("name", ["jobs", "schedules", "sensors", "run_queue", "run_backend"])
def test_what_is_refused_is_refused_with_a_reason(name: str) -> None:
    status = status_of(next(row for row in ROWS if row.path == f"CodeRepository({name})"))
    assert status is not None
    assert status.refused
    with pytest.raises(ConfigurationError, match=f"CodeRepository takes no {name}: ."):
        CodeRepository(assets=[], **{name: ["x"]})


def test_the_page_has_not_drifted() -> None:
    written = write_parity.TARGET.read_text(encoding="utf-8")
    assert written == write_parity.text(), "run: python -m scripts.write_parity"


@pytest.mark.parametrize(
    ("path", "parameter", "why"),
    [
        ("Asset.color", None, "missing"),
        ("Output(value)", Parameter("value", "keyword", "None"), "is keyword there and either here"),
        ("Output(value)", Parameter("value", "either", "1"), "default of value is 1 there and None here"),
        ("Output(color)", Parameter("color", "either", "None"), "no parameter color"),
    ],
)
def test_a_difference_is_found(path: str, parameter: Parameter | None, why: str) -> None:
    row = Row(path, "attribute" if parameter is None else "parameter", parameter=parameter)
    assert why in str(ours.difference(row))


@pytest.mark.parametrize(
    ("path", "what", "signature", "why"),
    [
        ("AssetDef.dep", "class method", "(partition_mapping=None, name=None)", "order of its parameters"),
        ("AssetDef.dep", "class method", "(partition_mapping=None)", "requires ['name'] here"),
        ("Asset.name", "method", "()", "cannot be called"),
        ("Asset", "error", None, "no exception"),
        ("action", "class", None, "no class"),
    ],
)
def test_a_difference_of_a_call_is_found(path: str, what: str, signature: str | None, why: str) -> None:
    assert why in str(ours.difference(Row(path, what, signature=signature)))


VALUES = json.loads((DATA / "rivers_values.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("expression", VALUES)
def test_an_expression_has_the_value_that_it_has_there(expression: str) -> None:
    found = eval(expression, {"rs": airflow_assets, "datetime": datetime})  # noqa: S307 - our own
    assert str(found) == VALUES[expression]


def _is(row: Row, name: str) -> bool:
    status = status_of(row)
    return status is not None and status.name == name
