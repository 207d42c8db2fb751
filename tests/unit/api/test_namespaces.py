"""`[airflow_assets] namespaces`: who sees a namespace and who may name one."""

from __future__ import annotations

import pytest
from airflow.exceptions import AirflowConfigException

from airflow_assets.airflow_bridge.namespaces import (
    NamespaceRule,
    check_named,
    configured_rules,
    hidden_namespaces,
)
from airflow_assets.exceptions import NamespaceNotAllowed


def nobody(team: str) -> bool:
    return False


FINANCE = NamespaceRule("finance", allowed=("reporting",))


@pytest.fixture
def option(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("AIRFLOW__AIRFLOW_ASSETS__NAMESPACES", raising=False)
    return monkeypatch


def test_nothing_is_restricted_by_default(option: pytest.MonkeyPatch) -> None:
    assert configured_rules() == ()
    check_named("anything")
    assert hidden_namespaces(nobody) == ()


def test_the_option_is_read(option: pytest.MonkeyPatch) -> None:
    option.setenv(
        "AIRFLOW__AIRFLOW_ASSETS__NAMESPACES",
        '{"finance": {"allowed": ["reporting"], "teams": ["controllers"]}}',
    )
    assert configured_rules() == (NamespaceRule("finance", ("reporting",), ("controllers",)),)
    with pytest.raises(NamespaceNotAllowed):
        check_named("ops")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"finance": []}',
        '{"finance": {"allow": ["a"]}}',
        '{"finance": {"allowed": "a"}}',
        '{"finance": {"teams": [1]}}',
        '{"Finance": {}}',
    ],
)
def test_a_broken_option_is_refused(option: pytest.MonkeyPatch, text: str) -> None:
    option.setenv("AIRFLOW__AIRFLOW_ASSETS__NAMESPACES", text)
    with pytest.raises(AirflowConfigException, match="namespaces"):
        configured_rules()


@pytest.mark.parametrize(
    ("namespace", "passes"),
    [
        (None, True),
        ("finance", True),
        ("finance.eu", True),
        ("reporting", True),
        ("reporting.daily", True),
        ("reportings", False),
        ("ops", False),
    ],
)
def test_a_restricting_namespace_must_list_the_one_that_is_named(namespace: str | None, passes: bool) -> None:
    if passes:
        check_named(namespace, (FINANCE,))
        return
    with pytest.raises(NamespaceNotAllowed, match="All namespaces are not allowed") as caught:
        check_named(namespace, (FINANCE,))
    assert caught.value.members == {"field": "namespace", "value": namespace}


def test_every_restricting_namespace_must_list_it() -> None:
    with pytest.raises(NamespaceNotAllowed, match="'hr'"):
        check_named("reporting", (FINANCE, NamespaceRule("hr", allowed=())))


def test_teams_bind_only_under_multi_team(option: pytest.MonkeyPatch) -> None:
    rules = (FINANCE, NamespaceRule("hr", teams=("people",)), NamespaceRule("it", teams=("ops", "people")))
    assert hidden_namespaces(nobody, rules) == ()
    option.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    assert hidden_namespaces(nobody, rules) == ("hr", "it")
    assert hidden_namespaces(lambda team: team == "ops", rules) == ("hr",)
    assert hidden_namespaces(lambda team: team == "people", rules) == ()
