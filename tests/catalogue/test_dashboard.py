"""Rows for charts: the present inventory, and how many assets were stale when."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert

from airflow_assets.catalog import stale_counts as staleness_module
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import read, write
from airflow_assets.catalog.stale_counts import stale_now, stale_since
from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.dashboard import DashboardQuery, StalenessQuery
from airflow_assets.schemas.expectations import Expectation
from airflow_assets.schemas.rules import DEFAULT_TENANT
from tests.support.catalog_rows import CALLER, NOON, add_assets, caller, counted_statements

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

COUNT = {"field": "ID", "agg": "COUNT"}
TYPE = {"field": "TYPE"}
OWNER = {"field": "METADATA", "key": "owner"}
HOUR = timedelta(hours=1)


@pytest.fixture
def inventory(service: CatalogService) -> CatalogService:
    owners: list[Any] = ["ann", "bob", "ann", 1, 1.0, None, {"team": "x"}, "ann"]
    with write(service.engine) as conn:
        add_assets(
            conn,
            [
                {
                    "id": f"a{n}",
                    "type": "View" if n % 4 == 3 else "Table",
                    "namespace": [None, "sales", "sales.eu", "secret"][n % 4],
                    "display_name": f"Asset {n}" if n < 2 else None,
                    "metadata": {} if n == 8 else {"owner": owners[n]},
                    "deleted": n == 7,
                }
                for n in range(9)
            ],
        )
    return service


def rows(service: CatalogService, columns: dict[str, Any], by: Any = CALLER, **query: Any) -> list[Any]:
    found = service.query_dashboard(by, DashboardQuery.model_validate({"columns": columns, **query}))
    assert found.columns == list(columns)
    assert all(list(row) == found.columns for row in found.rows)
    return [tuple(row.values()) for row in found.rows]


def test_assets_are_counted_by_any_field(inventory: CatalogService) -> None:
    assert rows(inventory, {"type": TYPE, "n": COUNT}) == [("Table", 7), ("View", 1)]
    assert rows(inventory, {"space": {"field": "NAMESPACE"}, "n": COUNT}, order_by="space") in (
        [(None, 3), ("sales", 2), ("sales.eu", 2), ("secret", 1)],
        [("sales", 2), ("sales.eu", 2), ("secret", 1), (None, 3)],
    )
    by_owner = rows(inventory, {"owner": OWNER, "n": COUNT})
    assert sorted(map(repr, by_owner)) == sorted(
        map(repr, [("ann", 2), ("bob", 1), (1, 2), (None, 2), ({"team": "x"}, 1)])
    )
    assert [count for _, count in by_owner] == [2, 2, 2, 1, 1]
    both = rows(inventory, {"type": TYPE, "owner": OWNER, "n": COUNT}, order_by="-n")
    assert sum(count for *_, count in both) == 8
    assert ("View", 1, 1) in both


def test_counts_of_values_and_of_different_values(inventory: CatalogService) -> None:
    columns = {
        "assets": COUNT,
        "owned": {**OWNER, "agg": "COUNT"},
        "owners": {**OWNER, "agg": "COUNT_DISTINCT"},
        "named": {"field": "DISPLAY_NAME", "agg": "COUNT"},
        "types": {"field": "TYPE", "agg": "COUNT_DISTINCT"},
    }
    assert rows(inventory, columns) == [(8, 6, 4, 2, 2)]


def test_without_a_number_there_is_a_row_for_each_asset(inventory: CatalogService) -> None:
    found = rows(inventory, {"id": {"field": "ID"}, "owner": OWNER, "at": {"field": "CREATED"}}, limit=3)
    assert found[:2] == [
        ("a0", "ann", "2026-03-01T12:00:00.000000Z"),
        ("a1", "bob", "2026-03-01T12:00:01.000000Z"),
    ]
    query = DashboardQuery.model_validate({"columns": {"id": {"field": "ID"}}, "limit": 3})
    assert inventory.dashboard(CALLER, query).truncated
    assert not inventory.dashboard(CALLER, query.model_copy(update={"limit": 8})).truncated
    newest = rows(inventory, {"id": {"field": "ID"}, "at": {"field": "UPDATED"}}, order_by="-at", limit=1)
    assert newest[0][0] == "a8"


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ({"field": "TYPE", "value": "View"}, "3"),
        ({"field": "TYPE", "type": "NOT_EQUAL_TO", "value": "Table"}, "3"),
        ({"field": "NAMESPACE", "type": "NOT_IN", "values": ["sales", "secret"]}, "02468"),
        ({"field": "NAMESPACE", "type": "STARTS_WITH", "value": "sales"}, "1256"),
        ({"field": "NAMESPACE", "type": "STARTS_WITH", "value": "%"}, ""),
        ({"field": "DISPLAY_NAME", "type": "EXISTS"}, "01"),
        ({"field": "ID", "type": "IN", "values": ["a1", "a2", "A1"]}, "12"),
        ({"field": "ID", "type": "IN", "values": []}, ""),
        ({"field": "METADATA", "key": "owner", "type": "IN", "values": ["ann", 1]}, "0234"),
        ({"field": "METADATA", "key": "owner", "type": "NOT_EXISTS"}, "8"),
        ({"field": "CREATED", "type": "GREATER_THAN", "value": "2026-03-01T12:00:05Z"}, "68"),
        ({"field": "UPDATED", "type": "LESS_THAN_OR_EQUAL_TO", "value": "2026-03-01T13:00:01+01:00"}, "01"),
    ],
)
def test_conditions(inventory: CatalogService, condition: dict[str, Any], ids: str) -> None:
    found = rows(inventory, {"id": {"field": "ID"}}, where=[condition])
    assert "".join(row[0][1:] for row in found) == ids


def test_what_is_closed_to_the_caller_counts_nowhere(inventory: CatalogService) -> None:
    assert rows(inventory, {"type": TYPE, "n": COUNT}, caller("secret")) == [("Table", 7)]
    assert rows(inventory, {"n": COUNT}, caller(tenant="other")) == [(0,)]


def test_a_dashboard_is_two_statements(inventory: CatalogService) -> None:
    with counted_statements(inventory.engine) as statements:
        rows(inventory, {"type": TYPE, "owner": OWNER, "n": COUNT})
    assert len(statements) == 2


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"columns": {"a": {"field": "METADATA"}}}, "needs a key"),
        ({"columns": {"a": {"field": "TYPE", "key": "x"}}}, "takes no key"),
        ({"columns": {"a": {"field": "METADATA", "key": "password"}}}, "secret"),
        ({"columns": {"a": TYPE}, "order_by": "-b"}, "not one of the columns"),
        ({"columns": {"a": TYPE}, "where": [{"field": "TYPE", "type": "REGEX", "value": "x"}]}, "REGEX"),
        ({"columns": {"a": TYPE}, "where": [{**OWNER, "type": "REGEX", "value": "x"}]}, "REGEX"),
        ({"columns": {"a": TYPE}, "where": [{"field": "TYPE", "value": 1}]}, "needs a text"),
        ({"columns": {"a": TYPE}, "where": [{"field": "TYPE", "type": "IN", "value": "x"}]}, "list of texts"),
        ({"columns": {"a": TYPE}, "where": [{"field": "CREATED", "value": "x"}]}, "compares no times"),
        (
            {"columns": {"a": TYPE}, "where": [{"field": "CREATED", "type": "LESS_THAN", "value": "noon"}]},
            "2026-03-29T07:00:00Z",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(query: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        DashboardQuery.model_validate(query)
    assert told in f"{refused.value} {refused.value.hint}"


def test_the_namespaces_of_conditions_are_known() -> None:
    where = [
        {"field": "NAMESPACE", "value": "a"},
        {"field": "NAMESPACE", "type": "IN", "values": ["b", "c"]},
        {"field": "TYPE", "value": "T"},
    ]
    query = DashboardQuery.model_validate({"columns": {"n": COUNT}, "where": where})
    assert query.named_namespaces == ["a", "b", "c"]


@pytest.mark.parametrize(
    "expectation",
    [
        Expectation(max_staleness="PT6H"),
        Expectation(max_staleness="P1M", timezone="Europe/Paris"),
        Expectation(max_staleness="P1Y1M"),
        Expectation(deadline="07:00", timezone="Europe/Paris"),
        Expectation(deadline="07:00", window="P1M"),
    ],
    ids=str,
)
@pytest.mark.parametrize("day", [0, 27, 29, 30, 90])
def test_stale_since_is_the_edge_of_staleness(expectation: Expectation, day: int) -> None:
    now = NOON + timedelta(days=day)
    edge = stale_since(expectation, now)
    assert expectation.is_stale(edge, now)
    assert not expectation.is_stale(edge + timedelta(microseconds=1), now)


def written(conn: Any, pk: int, *events: tuple[int, str, datetime]) -> None:
    conn.execute(
        insert(tables.event),
        [
            {"seq": seq, "event_id": f"event-{seq}", "tenant": DEFAULT_TENANT, "asset_pk": pk, "kind": kind,
             "created": created, "type": "T", "payload": "{}", "diff": "{}", "source": "{}", "depth": 0}
            for seq, kind, created in events
        ],
    )  # fmt: skip


@pytest.fixture
def log(service: CatalogService) -> CatalogService:
    """``a`` is written at 12 and at 15, used at 14; ``b`` at 13 by a log that is purged; ``c`` expects nothing."""
    with write(service.engine) as conn:
        pks = add_assets(
            conn,
            [
                {"id": "a", "metadata": {"freshness": "PT2H"}, "created": NOON, "updated": NOON + 3 * HOUR},
                {"id": "b", "metadata": {"freshness": "PT4H"}, "created": NOON, "updated": NOON + HOUR,
                 "namespace": "secret"},
                {"id": "c", "created": NOON, "updated": NOON},
                {"id": "d", "metadata": {"freshness": "PT1S"}, "created": NOON, "deleted": True},
            ],
        )  # fmt: skip
        written(
            conn,
            pks["a"],
            (1, "CREATED", NOON),
            (2, "USED", NOON + 2 * HOUR),
            (3, "UPDATED", NOON + 3 * HOUR),
        )
    return service


def series(service: CatalogService, by: Any = CALLER, **query: Any) -> list[tuple[int, int, int]]:
    window = {"from_time": NOON - HOUR, "to_time": NOON + 6 * HOUR, "points": 8}
    found = service.staleness(by, StalenessQuery.model_validate({**window, **query}))
    return [(point.stale, point.fresh, point.unknown) for point in found.points]


def test_staleness_over_time(log: CatalogService) -> None:
    assert series(log) == [
        (0, 0, 0),  # 11: nothing is there
        (0, 1, 1),  # 12: a is new, of b's writes nobody knows
        (0, 2, 0),  # 13
        (1, 1, 0),  # 14: a is two hours old
        (0, 2, 0),  # 15
        (0, 2, 0),  # 16
        (2, 0, 0),  # 17: both
        (2, 0, 0),  # 18
    ]
    # A moment between, so that the last write before it is not among those of the window.
    assert series(log, from_time=NOON + 1.5 * HOUR, to_time=NOON + 2.5 * HOUR, points=2) == [
        (0, 2, 0),
        (1, 1, 0),
    ]
    assert series(log, caller("secret"))[-1] == (1, 0, 0)
    assert series(log, expectation={"max_staleness": "PT1H"}, per_asset=False)[-1] == (3, 0, 0)
    assert series(log, expectation={"max_staleness": "P1D"})[-1] == (2, 1, 0)
    assert series(log, namespace="secret")[-1] == (1, 0, 0)


def test_staleness_is_bounded(log: CatalogService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staleness_module, "MAX_ASSETS", 1)
    found = log.staleness(CALLER, StalenessQuery(from_time=NOON, to_time=NOON + HOUR))
    assert (found.assets, found.left_out, len(found.points)) == (1, 1, 50)
    monkeypatch.setattr(staleness_module, "MAX_WRITES", 0)
    with pytest.raises(InvalidQuery, match="shorter time"):
        series(log)
    with pytest.raises(InvalidQuery, match="before to_time"):
        series(log, to_time=NOON - 2 * HOUR)


def test_the_last_moment_is_now_at_latest(log: CatalogService) -> None:
    found = log.staleness(CALLER, StalenessQuery(to_time=datetime(2100, 1, 1, tzinfo=timezone.utc)))
    times = [point.time for point in found.points]
    assert times[-1] <= datetime.now(timezone.utc) + timedelta(minutes=1)
    assert times[-1] - times[0] == timedelta(days=7)


def test_the_gauge_of_stale_assets(log: CatalogService) -> None:
    for after, count in ((1, 0), (5, 2), (3, 0)):
        with read(log.engine) as conn:
            # ``updated`` is what counts now: a at 15, b at 13.
            assert stale_now(conn, CALLER, NOON + after * HOUR) == count
    with read(log.engine) as conn, counted_statements(log.engine) as statements:
        assert stale_now(conn, caller("secret"), NOON + 5 * HOUR) == 1
    assert len(statements) <= 1 + 3
