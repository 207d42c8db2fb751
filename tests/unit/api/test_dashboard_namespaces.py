"""A dashboard that names a namespace keeps the rule of every list that filters by one."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_assets import config
from airflow_assets.airflow_bridge.namespaces import check_filter
from airflow_assets.exceptions import NamespaceNotAllowed
from airflow_assets.schemas.dashboard import DashboardQuery, StalenessQuery
from airflow_assets.schemas.operations import OPERATIONS


@pytest.fixture(autouse=True)
def restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "namespaces", lambda: {"finance": {"allowed": ["reporting"]}})


def chart(*where: dict[str, Any]) -> DashboardQuery:
    columns = {"n": {"field": "ID", "agg": "COUNT"}}
    return DashboardQuery.model_validate({"columns": columns, "where": list(where)})


@pytest.mark.parametrize("name", ["dashboard", "query_dashboard"])
def test_naming_a_namespace_in_a_condition(name: str) -> None:
    operation = OPERATIONS[name]
    check_filter(operation, chart())
    check_filter(operation, chart({"field": "NAMESPACE", "value": "reporting"}))
    check_filter(operation, chart({"field": "TYPE", "value": "ops"}))
    for condition in (
        {"field": "NAMESPACE", "value": "ops"},
        {"field": "NAMESPACE", "type": "IN", "values": ["reporting", "ops"]},
        {"field": "NAMESPACE", "type": "NOT_EQUAL_TO", "value": "ops"},
    ):
        with pytest.raises(NamespaceNotAllowed, match="ops"):
            check_filter(operation, chart(condition))


def test_staleness_names_one_as_a_check_of_freshness_does() -> None:
    check_filter(OPERATIONS["staleness"], StalenessQuery(namespace="reporting"))
    with pytest.raises(NamespaceNotAllowed, match="ops"):
        check_filter(OPERATIONS["staleness"], StalenessQuery(namespace="ops"))
