"""Which assets a check finds, and what a freshness trigger remembers, on every database."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from airflow_assets.catalog import freshness, tables
from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.firings import read_firings_after
from airflow_assets.schemas.assets import AssetInput, AssetRef, Rename
from airflow_assets.schemas.freshness import FreshnessCheck, FreshnessReport
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.polls import CheckReport, FreshnessPoll, PollRef
from airflow_assets.schemas.queries import Batch, BatchAction, BatchItem
from airflow_assets.schemas.rules import DEFAULT_TENANT, identity
from tests.support.catalog_polls import report_next
from tests.support.catalog_writers import CALLER, together

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

TABLE = "airflow_assets.types.Table"
CONTRACT = {
    "tenantId", "namespace", "id", "type", "displayName", "description", "metadata", "created", "lastUpdated", "deleted",
    "staleDuration", "checkTime",
}  # fmt: skip


def put(service: CatalogService, asset_id: str, hours: float = 0, **members: Any) -> None:
    """Write an asset; ``hours`` is how long ago."""
    service.upsert_asset(CALLER, AssetInput(id=asset_id, type=TABLE, **members))
    age(service, hours, asset_id)


def age(service: CatalogService, hours: float, *asset_ids: str) -> None:
    keys = [identity(DEFAULT_TENANT, one) for one in asset_ids]
    with service.engine.begin() as conn:
        then = db_now(conn) - timedelta(hours=hours)
        asset = tables.asset
        chosen = asset.c.asset_key.in_(keys) if keys else asset.c.pk > 0
        conn.execute(update(asset).where(chosen).values(updated=then, created=then))


def put_many(service: CatalogService) -> list[str]:
    """Make 250 assets, 7 hours old."""
    names = [f"asset {n:03}" for n in range(250)]
    items = [BatchItem(action=BatchAction.CREATE, asset=AssetInput(id=name, type=TABLE)) for name in names]
    service.batch(CALLER, Batch(items=items))
    age(service, 7)
    return names


def check(service: CatalogService, limit: str | None = "PT6H", **members: Any) -> FreshnessReport:
    expectation = None if limit is None else {"max_staleness": limit}
    wanted = FreshnessCheck.model_validate({"expectation": expectation, **members})
    return service.check_freshness(CALLER, wanted)


def ids(report: FreshnessReport) -> list[str]:
    return [one.id for one in report.assets]


def test_stale_is_what_was_written_that_long_ago_by_the_databases_clock(service: CatalogService) -> None:
    put(service, "old", 7, namespace="sales", display_name="Old", metadata={"tier": 1})
    put(service, "new", 5)
    put(service, "gone", 9)
    service.delete_asset(CALLER, "gone")
    age(service, 9, "gone")
    report = check(service)
    assert ids(report) == ["old"]
    found = report.to_json()["assets"][0]
    assert set(found) == CONTRACT | {"state"}
    assert found["checkTime"] == report.to_json()["checkTime"]
    assert found["staleDuration"] == pytest.approx(7 * 3600, abs=30)
    assert (found["namespace"], found["displayName"], found["metadata"]) == ("sales", "Old", {"tier": 1})
    assert abs(report.check_time - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_filters_are_those_of_the_catalogue(service: CatalogService) -> None:
    put(service, "a", 7, namespace="sales", metadata={"tier": 1, "owner": "data"})
    put(service, "b", 7, namespace="sales.eu", metadata={"tier": 2, "owner": "dbt"})
    put(service, "A", 7)
    assert ids(check(service, asset_id="a")) == ["a"]
    assert ids(check(service, namespace="sales")) == ["a"]
    assert ids(check(service, asset_type="airflow_assets.types.Tabl")) == []
    assert ids(check(service, metadata_query=[{"field": "tier", "type": "GREATER_THAN", "value": 1}])) == [
        "b"
    ]
    assert ids(check(service, metadata_query=[{"field": "owner", "type": "REGEX", "value": "^d.t"}])) == [
        "a",
        "b",
    ]
    service.rename_asset(CALLER, Rename(old_id="a", new_id="z"))
    age(service, 7, "z")
    assert ids(check(service, asset_id="a")) == ["z"], "a former id still means the asset"


def test_usage_lineage_and_failed_runs_refresh_nothing(service: CatalogService) -> None:
    put(service, "read", 7)
    put(service, "failed", 7)
    put(service, "written", 7)

    def record(state: TaskState, number: int, bundle: Bundle) -> None:
        task = TaskRun(dag_id="d", run_id="r", task_id="t", map_index=number, try_number=1)
        service.record_task_run(CALLER, TaskRunRecord(task=task, state=state, bundles=[bundle]))

    for number, state in enumerate((TaskState.FAILED, TaskState.SKIPPED)):
        record(state, number, Bundle(inputs=[AssetRef(id="read")], outputs=[AssetInput(id="failed")]))
    record(TaskState.SUCCESS, 5, Bundle(inputs=[AssetRef(id="read")], outputs=[AssetInput(id="written")]))
    assert ids(check(service)) == ["failed", "read"]


def test_an_expectation_in_the_metadata_comes_first(service: CatalogService) -> None:
    put(service, "hourly", 2, metadata={"freshness": "PT1H"})
    put(service, "weekly", 100, metadata={"freshness": {"maxStaleness": "P7D"}})
    put(service, "daily", 49, metadata={"freshness": {"deadline": "07:00", "timezone": "Europe/Paris"}})
    put(service, "silent", 7)
    put(service, "unreadable", 7, metadata={"freshness": "soon"})
    assert ids(check(service, None, per_asset=True)) == ["daily", "hourly"]
    assert ids(check(service, "PT6H", per_asset=True)) == ["daily", "hourly", "silent", "unreadable"]
    assert ids(check(service, "PT6H")) == ["daily", "silent", "unreadable", "weekly"]


def test_days_of_the_calendar_are_decided_row_by_row(service: CatalogService) -> None:
    for hours in (22, 23.5, 24.5, 26):
        put(service, f"{hours}", hours)
    expected = sorted(str(hours) for hours in (22, 23.5, 24.5, 26) if _a_day_ago(hours))
    found = service.check_freshness(CALLER, FreshnessCheck.model_validate(
        {"expectation": {"max_staleness": "P1D", "timezone": "Europe/Paris"}}
    ))  # fmt: skip
    assert ids(found) == expected
    assert "26" in expected
    assert "22" not in expected


def _a_day_ago(hours: float) -> bool:
    from airflow_assets.schemas.durations import Duration

    now = datetime.now(timezone.utc)
    return Duration.parse("P1D").after(now - timedelta(hours=hours), "Europe/Paris") <= now


def test_all_of_250_are_found_once_while_others_are_written(
    service: CatalogService, monkeypatch: Any
) -> None:
    names = put_many(service)
    monkeypatch.setattr(freshness, "PAGE", 20)
    stop = threading.Event()
    written: list[str] = []

    def write() -> None:
        for name in names[1:100:2] * 50:
            if stop.is_set():
                return
            service.upsert_asset(CALLER, AssetInput(id=name, type=TABLE))
            written.append(name)

    before = set(written)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        reports = [check(service) for _ in range(5)]
    finally:
        stop.set()
        writer.join(60)
    assert len(before) == 0
    assert written
    untouched = set(names) - set(names[1:100:2])
    for report in reports:
        assert len(ids(report)) == len(set(ids(report))), "doubled"
        assert untouched <= set(ids(report)), "missed"
        stamps = {one.check_time for one in report.assets}
        assert stamps == {report.check_time}
        # One state of the database: what is stale in it was written before every asset that is fresh in it.
        fresh = [name for name in names[1:100:2] if name not in ids(report)]
        assert fresh == names[1:100:2][: len(fresh)], "not one snapshot"


def poll(**members: Any) -> FreshnessPoll:
    return FreshnessPoll.model_validate({"check": {"expectation": {"max_staleness": "PT6H"}}, **members})


def step(service: CatalogService, watched: FreshnessPoll) -> list[tuple[str, str]]:
    """Make the next check; return what it fired: asset and state."""
    number = service.next_check(CALLER, PollRef(poll=watched)).number
    result = service.report_check(CALLER, CheckReport(poll=watched, number=number))
    assert result.accepted
    if result.firing_id is None:
        return []
    payload = service.get_firing(CALLER, result.firing_id).payload
    assert {one["checkTime"] for one in payload["assets"]} == {payload["checkTime"]}
    return [(one["id"], one["state"]) for one in payload["assets"]]


def test_repeat_fires_at_each_check_with_all_that_is_stale(service: CatalogService) -> None:
    watched = poll()
    put(service, "a", 7)
    put(service, "b", 7)
    put(service, "c", 1)
    assert step(service, watched) == step(service, watched) == [("a", "STALE"), ("b", "STALE")]
    put(service, "a")
    assert step(service, watched) == [("b", "STALE")]
    put(service, "b")
    assert step(service, watched) == []


def test_transitions_fire_once_each_way(service: CatalogService) -> None:
    watched = poll(mode="transitions")
    put(service, "a", 7)
    put(service, "b", 1)
    assert step(service, watched) == [("a", "STALE")]
    assert step(service, watched) == []
    age(service, 7, "b")
    assert step(service, watched) == [("b", "STALE")]
    put(service, "a")
    age(service, 8, "b")
    assert step(service, watched) == [("a", "RECOVERED")]
    assert step(service, watched) == []
    put(service, "b")
    age(service, 7, "a")
    assert step(service, watched) == [("a", "STALE"), ("b", "RECOVERED")]


def test_what_leaves_the_filter_has_not_recovered_and_a_rename_is_no_transition(
    service: CatalogService,
) -> None:
    watched = poll(mode="transitions", check={
        "expectation": {"max_staleness": "PT6H"}, "namespace": "sales",
        "metadata_query": [{"field": "owner", "type": "REGEX", "value": "^d"}],
    })  # fmt: skip
    for name in ("deleted", "moved", "orphaned", "renamed"):
        put(service, name, 7, namespace="sales", metadata={"owner": "data"})
    assert len(step(service, watched)) == 4
    service.delete_asset(CALLER, "deleted")
    put(service, "moved", namespace="elsewhere")
    put(service, "orphaned", metadata={"owner": "nobody"})
    service.rename_asset(CALLER, Rename(old_id="renamed", new_id="new name"))
    age(service, 7, "new name")
    assert step(service, watched) == []
    put(service, "deleted", 7)
    assert step(service, watched) == [("deleted", "STALE")], "revived and stale again"


def test_250_become_stale_and_recover_once_though_they_are_written_meanwhile(
    service: CatalogService, monkeypatch: Any
) -> None:
    monkeypatch.setattr(freshness, "PAGE", 20)
    watched = poll(mode="transitions")
    names = put_many(service)
    writer = threading.Thread(
        target=lambda: [service.upsert_asset(CALLER, AssetInput(id=name, type=TABLE)) for name in names[:50]]
    )
    writer.start()
    fired = step(service, watched)
    writer.join(60)
    for _ in range(2):
        fired += step(service, watched)
    stale = [name for name, state in fired if state == "STALE"]
    recovered = [name for name, state in fired if state == "RECOVERED"]
    assert len(stale) == len(set(stale))
    assert len(recovered) == len(set(recovered))
    assert set(names[50:]) <= set(stale)
    assert set(recovered) == set(stale) & set(names[:50])


def test_processes_that_make_the_same_check_fire_once(service: CatalogService) -> None:
    url = service.engine.url.render_as_string(hide_password=False)
    put(service, "a", 7)
    together(url, [(report_next, (3,)) for _ in range(3)])
    with service.engine.connect() as conn:
        fired = read_firings_after(conn, DEFAULT_TENANT, 0, 100)
    assert len(fired) == 1
    assert [(one["id"], one["state"]) for one in fired[0].payload["assets"]] == [("a", "STALE")]
