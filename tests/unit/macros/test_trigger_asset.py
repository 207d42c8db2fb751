"""`trigger_asset` in a task's context as Airflow makes it, in templates of a real Dag and in Python."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from airflow.sdk import DAG
from airflow.sdk.execution_time.context import TriggeringAssetEventsAccessor, set_current_context

import airflow_assets
from airflow_assets import event_context, macros, policy
from airflow_assets.airflow_bridge.payload import (
    EXTRA_KEY,
    MAX_BYTES,
    RUN_ID_PREFIX,
    extra_of,
    run_id_of,
)
from airflow_assets.client import get_client
from airflow_assets.exceptions import NotFound
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.testing import prepare

CONTRACT = {
    "id", "type", "namespace", "displayName", "description", "metadata", "tenantId", "created", "updated", "event",
    "eventTime",
}  # fmt: skip


@contextmanager
def task(*extras, run_id=None):
    """Run inside as inside a task whose Dag run was started by events with these extras."""
    events = [
        SimpleNamespace(
            asset=SimpleNamespace(name="marker", uri="x-airflow-assets://event/1"), source_aliases=[], extra=extra,
            timestamp=datetime.now(timezone.utc),
        )
        for extra in extras
    ]  # fmt: skip
    contents = [(extra or {}).get(EXTRA_KEY) for extra in extras]
    event_id = next((content["eventId"] for content in contents if isinstance(content, dict)), "none")
    context = {
        "triggering_asset_events": TriggeringAssetEventsAccessor.build(events),
        "run_id": run_id or run_id_of(event_id),
    }
    with set_current_context(context):
        yield


@pytest.fixture
def extra(catalog):
    """The extra that the dispatcher writes for a real event."""
    get_client().create_asset(
        AssetInput(id="a", type="T", namespace="n", display_name="A", metadata={"owner": "x"})
    )
    return extra_of(get_client().list_events().items[0], ["first", "second"])


def render(template: str, dag: DAG | None = None) -> str:
    return (dag or prepare(DAG("d", schedule=None))).get_template_env().from_string(template).render()


def test_the_two_sides_agree_on_the_key() -> None:
    assert event_context.EXTRA_KEY == EXTRA_KEY
    assert event_context.RUN_ID_PREFIX == RUN_ID_PREFIX


def test_a_run_of_a_native_asset_is_not_the_events_though_it_lists_it(extra) -> None:
    with task(extra, run_id="asset_triggered__2026-11-30T00:00:00+00:00"):
        from airflow_assets import trigger_asset

        assert trigger_asset is None


def test_a_replay_has_the_asset_too(extra) -> None:
    with task(extra, run_id=run_id_of(extra[EXTRA_KEY]["eventId"], "again")):
        from airflow_assets import trigger_asset

        assert trigger_asset.id == "a"


def test_all_members_of_the_contract_in_a_template_and_in_python(extra) -> None:
    with task(extra):
        from airflow_assets import trigger_asset

        assert set(trigger_asset) >= CONTRACT
        assert trigger_asset.id == trigger_asset["id"] == "a"
        assert (trigger_asset.event, trigger_asset.displayName) == ("CREATED", "A")
        assert (trigger_asset.triggerId, trigger_asset.triggerIds) == ("first", ["first", "second"])
        template = "{{ trigger_asset.id }} {{ trigger_asset.event }} {{ trigger_asset.metadata.owner }}"
        assert render(template) == "a CREATED x"
        assert render("{{ trigger_asset['eventTime'] }}").endswith("Z")


@pytest.mark.parametrize("extras", [(), ({},), (None,), ({"from_rest_api": True},), ({EXTRA_KEY: "odd"},)])
def test_without_an_event_of_ours_it_is_none(extras) -> None:
    with task(*extras):
        from airflow_assets import trigger_asset

        assert trigger_asset is None
        assert render("{{ trigger_asset is none }}") == "True"
        assert render("{{ 'yes' if trigger_asset else 'no' }}") == "no"


def test_imported_at_the_top_of_a_file_it_finds_out_later(extra) -> None:
    from airflow_assets import trigger_asset

    assert trigger_asset is macros.trigger_asset
    assert not trigger_asset
    assert str(trigger_asset) == "None"
    with task(extra):
        assert trigger_asset
        assert trigger_asset.id == "a"
        assert "metadata" in trigger_asset
        assert trigger_asset == airflow_assets.trigger_asset
        with pytest.raises(AttributeError, match=r"has id, type.*not 'nothing'"):
            trigger_asset.nothing  # noqa: B018
    with task():
        assert not trigger_asset
        assert trigger_asset == None  # noqa: E711
        with pytest.raises(NotFound, match=r"not started by an asset event.*Ask first"):
            trigger_asset.id  # noqa: B018


def test_one_dag_object_serves_runs_with_and_without_an_event(extra) -> None:
    """The macros decide with each rendering, not when the Dag is parsed."""
    dag = prepare(DAG("d", schedule=None))
    with task():
        assert render("{{ trigger_asset is none }}", dag) == "True"
    with task(extra):
        assert render("{{ trigger_asset.id }}", dag) == "a"
    with task():
        assert render("{{ trigger_asset is none }}", dag) == "True"


def test_the_first_of_our_events_counts_among_foreign_ones(extra) -> None:
    with task({"rows": 5}, extra):
        assert airflow_assets.trigger_asset.id == "a"


def test_a_payload_too_large_for_airflows_row_is_fetched(catalog) -> None:
    description = "ü" * MAX_BYTES
    get_client().create_asset(AssetInput(id="big", type="T", description=description))
    event = get_client().list_events().items[-1]
    extra = extra_of(event, ["t"])
    assert extra[EXTRA_KEY]["asset"] is None
    with task(extra):
        found = airflow_assets.trigger_asset
        assert set(found) >= CONTRACT
        assert (found.description, found.event, found.eventId) == (description, "CREATED", event.id)
        assert render("{{ trigger_asset.description | length }}") == str(MAX_BYTES)


def test_the_policy_adds_both_names_and_leaves_the_dags_own(catalog) -> None:
    own = DAG("own", schedule=None, user_defined_macros={"assets": "mine", "other": 1})
    policy.dag_policy(own)
    assert render("{{ assets }} {{ other }} {{ trigger_asset is none }}", own) == "mine 1 False"
    plain = DAG("plain", schedule=None)
    policy.dag_policy(plain)
    assert render("{{ assets() }}", plain) == "[]"


def test_a_policy_that_fails_leaves_the_dag_as_it_was(monkeypatch, caplog) -> None:
    own = {"x": 1}
    dag = DAG("d", schedule=None, user_defined_macros=own)
    monkeypatch.setattr(macros, "add_to", lambda dag: 1 / 0)
    policy.dag_policy(dag)
    assert dag.user_defined_macros is own
    assert "the templates of Dag d get no assets()" in caplog.text


def test_the_macros_survive_copies_and_other_policies(extra) -> None:
    dag = prepare(DAG("d", schedule=None, user_defined_macros={"mine": [1]}))
    copies = [
        dag.user_defined_macros.copy(),
        copy.copy(dag.user_defined_macros),
        copy.deepcopy(dag.user_defined_macros),
    ]
    dag.user_defined_macros = {**dag.user_defined_macros, "more": 2}
    assert render("{{ more }} {{ trigger_asset.id if trigger_asset else 'none' }}", dag) == "2 none"
    with task(extra):
        assert render("{{ trigger_asset.id }}", dag) == "a"
    for macro in copies:
        other = DAG("other", schedule=None, user_defined_macros=macro)
        with task():
            assert render("{{ trigger_asset is none }} {{ mine }}", other) == "True [1]"


def test_the_macros_are_not_in_the_serialized_dag() -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    plain = DAG("d", schedule=None)
    before = DagSerialization.to_dict(plain)
    policy.dag_policy(plain)
    assert DagSerialization.to_dict(plain) == before


def test_as_plugin_macros_they_have_their_names() -> None:
    assert (macros.assets.__name__, macros.trigger_asset.__name__) == ("assets", "trigger_asset")
