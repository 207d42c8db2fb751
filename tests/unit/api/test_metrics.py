"""The metrics are well-formed OpenMetrics, whatever the names are."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from airflow_assets.airflow_bridge.gauges import samples
from airflow_assets.airflow_bridge.vitals import Job, ShipperVitals, Vitals
from airflow_assets.api.metrics import render
from airflow_assets.catalog.gauges import Inventory
from airflow_assets.schemas.queries import Facet, FacetResult, FacetValue

SAMPLE = re.compile(r'^[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"\})? -?\d+(\.\d+)?$')
NOW = datetime(2026, 3, 29, tzinfo=timezone.utc)


def test_the_gauges_of_airflow_tell_shippers_apart_by_name() -> None:
    types = FacetResult(
        facets=[Facet(name="type", values=[], missing=0, other=0)], total=0, total_is_lower_bound=False
    )
    shippers = (ShipperVitals("main/etl.ship/down", 40, None, failed=True),)
    told = dict(samples(types, Inventory(), Vitals(12, {}, 0.0, {}, (), shippers)))
    assert told["shipper_unread_entries.main_etl_ship_down"] == 40
    assert told["shipper_failed.main_etl_ship_down"] == 1


def text() -> str:
    values = [FacetValue(value='odd "type"\n\\', count=2), FacetValue(value="table", count=1)]
    types = FacetResult(
        facets=[Facet(name="type", values=values, missing=0, other=7)], total=10, total_is_lower_bound=False
    )
    jobs = (Job("dispatcher", "a", NOW, True), Job("follower", "", NOW, False))
    shippers = (
        ShipperVitals("main/etl.ship/down", 40, None, failed=True),
        ShipperVitals("main/etl.ship/well", 0, NOW, failed=False),
    )
    state = Vitals(12, {"consumer_dag": 3}, 1.25, {"consumer_dag": 4}, jobs, shippers)
    return render(types, state, Inventory(stale=8, locked=9, events=10), waiting=5, look_ups=6)


def test_every_line_is_a_sample_or_a_comment_and_the_end_is_marked() -> None:
    *lines, end, after = text().split("\n")
    assert (end, after) == ("# EOF", "")
    for line in lines:
        assert line.startswith(("# TYPE ", "# HELP ")) or SAMPLE.match(line), line


def test_the_values() -> None:
    lines = text().splitlines()
    assert 'airflow_assets_assets{type="table"} 1' in lines
    assert 'airflow_assets_assets{type="(other)"} 7' in lines
    assert "airflow_assets_log_entries_total 12" in lines
    assert "airflow_assets_dispatcher_lag_seconds 1.250" in lines
    assert 'airflow_assets_dispatcher_unread_entries{dag_id="consumer_dag"} 3' in lines
    assert 'airflow_assets_pending_runs{dag_id="consumer_dag"} 4' in lines
    assert 'airflow_assets_job_running{job="follower"} 0' in lines
    assert "airflow_assets_stale_assets 8" in lines
    assert "airflow_assets_locks_held 9" in lines
    assert "airflow_assets_events_last_minute 10" in lines
    assert 'airflow_assets_shipper_unread_entries{exporter="main/etl.ship/down"} 40' in lines
    assert 'airflow_assets_shipper_failed{exporter="main/etl.ship/down"} 1' in lines
    assert 'airflow_assets_shipper_failed{exporter="main/etl.ship/well"} 0' in lines
    confirmed = [
        line for line in lines if line.startswith("airflow_assets_shipper_confirmed_timestamp_seconds{")
    ]
    assert confirmed == [
        f'airflow_assets_shipper_confirmed_timestamp_seconds{{exporter="main/etl.ship/well"}} {NOW.timestamp():.0f}'
    ], "one that has never confirmed has no time"
    assert "airflow_assets_waiting_requests 5" in lines
    assert "airflow_assets_wait_look_ups_total 6" in lines
