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
from airflow_assets.airflow_bridge.payload import MAX_BYTES, extra_of
from airflow_assets.client import get_client
from airflow_assets.exceptions import NotFound
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.polls import Firing, PollKind
from airflow_assets.schemas.runs import EXTRA_KEY, PREFIXES
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
    event_id = next(
        (one["eventId"] for one in contents if isinstance(one, dict) and "eventId" in one), "none"
    )
    context = {
        "triggering_asset_events": TriggeringAssetEventsAccessor.build(events),
        "run_id": run_id or PREFIXES["event"] + event_id,
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
    assert set(event_context.PREFIXES.values()) == set(PREFIXES.values())


def test_a_run_of_a_native_asset_is_not_the_events_though_it_lists_it(extra) -> None:
    with task(extra, run_id="asset_triggered__2026-11-30T00:00:00+00:00"):
        from airflow_assets import trigger_asset

        assert trigger_asset is None


def test_a_replay_has_the_asset_too(extra) -> None:
    with task(extra, run_id=f"{PREFIXES['event']}{extra[EXTRA_KEY]['eventId']}__replay_again"):
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


def firing(kind: PollKind, payload: dict[str, object]) -> Firing:
    return Firing(
        seq=1, id="0190", kind=kind, poll_key="0" * 64, created=datetime.now(timezone.utc), repeats=True,
        payload=payload,
    )  # fmt: skip


def test_a_freshness_run_has_the_list_of_its_assets() -> None:
    item = {"id": "a", "lastUpdated": "2026-03-29T00:00:00.000000Z", "staleDuration": 3600.5}
    extra = extra_of(firing(PollKind.FRESHNESS, {"checkTime": "now", "assets": [item]}), ["mine"])
    with task(extra, run_id="freshness__0190"):
        from airflow_assets import trigger_assets

        assert trigger_assets == [item]
        assert trigger_assets[0].staleDuration == 3600.5
        assert macros.trigger_assets[0].id == "a"
        assert [one.id for one in macros.trigger_assets] == ["a"]
        assert (macros.trigger_asset == None, bool(macros.trigger)) == (True, False)  # noqa: E711
        with pytest.raises(AttributeError, match="An item of trigger_assets has id"):
            trigger_assets[0].updated  # noqa: B018
    with task(extra, run_id="manual__1"):
        assert not macros.trigger_assets
        with pytest.raises(
            NotFound, match="not started by a freshness trigger, so there is no trigger_assets"
        ):
            macros.trigger_assets[0]


def test_a_script_run_has_what_the_script_found() -> None:
    found = {"timestamp": "now", "condition": "exit 1", "exitCode": 1, "vars": {"rows": 3}}
    with task(extra_of(firing(PollKind.SCRIPT, found), ["mine"]), run_id="script__0190"):
        from airflow_assets import trigger

        assert (trigger.exitCode, trigger.vars["rows"], trigger.triggerId) == (1, 3, "mine")
        dag = prepare(DAG("d"))
        env = dag.get_template_env()
        env.globals.update(dag.user_defined_macros)
        assert env.from_string("{{ trigger.exitCode }} {{ trigger_assets }}").render() == "1 None"


def test_a_firing_too_large_for_airflows_row_is_fetched(catalog, monkeypatch) -> None:
    from airflow_assets.catalog.firings import append

    large = firing(PollKind.FRESHNESS, {"checkTime": "now", "assets": [
        {"id": f"a{n}", "namespace": None, "metadata": {"text": "x" * 1_000}} for n in range(50)
    ]})  # fmt: skip
    extra = extra_of(large, ["mine"])
    assert len(str(extra)) < MAX_BYTES
    with catalog.engine.begin() as conn:
        append(conn, "main", large.model_copy(update={"id": "01900000-0000-7000-8000-000000000000"}))
    event_context._fetched_firing.cache_clear()
    extra[EXTRA_KEY]["firingId"] = "01900000-0000-7000-8000-000000000000"
    with task(extra, run_id="freshness__01900000-0000-7000-8000-000000000000"):
        assert len(macros.trigger_assets) == 50
