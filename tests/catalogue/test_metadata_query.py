"""Metadata queries mean the same in SQL, on every database, as in Python; and what they mean."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from airflow_assets.catalog import metadata_sql, search
from airflow_assets.catalog.engine import read, write
from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.schemas.matching import conditions_hold
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.queries import AssetQuery, Sort
from tests.support.catalog_rows import add_assets, caller, ids
from tests.support.json_values import conditions, metadatas, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

_tenants = itertools.count()


def stored(engine: Engine, assets: Sequence[dict[str, Any]]) -> str:
    """Store assets with this metadata, called 0, 1, 2 ..., in a tenant of their own."""
    tenant = f"t{next(_tenants)}"
    with write(engine) as conn:
        add_assets(
            conn, [{"id": str(n), "tenant": tenant, "metadata": plain(m)} for n, m in enumerate(assets)]
        )
    return tenant


def found(engine: Engine, tenant: str, wanted: Sequence[MetadataCondition], **query: Any) -> list[str]:
    with read(engine) as conn:
        page = search.search(conn, caller(tenant=tenant), AssetQuery(metadata_query=list(wanted), **query))
    assert page.next_cursor is None
    return ids(page.items)


def condition(kind: str, value: Any = None, field: str = "k") -> MetadataCondition:
    return MetadataCondition(field=field, type=Operator(kind), value=value)


@pytest.mark.parametrize("few", [0, 1_000], ids=["walking the order", "starting from a condition"])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@example(
    assets=[{"tier": 10**22}, {"tier": 1e22}, {"tier": True}, {"tier": "1"}, {"tier": 1}, {"tier": None}, {}],
    wanted=[condition("EQUAL_TO", 1.0, "tier"), condition("NOT_EQUAL_TO", 1e22, "tier")],
)
@given(
    assets=st.lists(metadatas, min_size=1, max_size=8), wanted=st.lists(conditions(), min_size=1, max_size=4)
)
def test_sql_is_python(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    few: int,
    assets: list[Any],
    wanted: list[MetadataCondition],
) -> None:
    monkeypatch.setattr(metadata_sql, "FEW", few)
    tenant = stored(engine, assets)
    for some in ([], wanted, *([one] for one in wanted)):
        expected = [str(n) for n, metadata in enumerate(assets) if conditions_hold(plain(metadata), some)]
        assert found(engine, tenant, some) == expected
    assert found(engine, tenant, wanted, sort=Sort.CREATED_DESC, include_deleted=True) == _backwards(
        assets, wanted
    )


def _backwards(assets: list[Any], wanted: list[MetadataCondition]) -> list[str]:
    holds = [conditions_hold(plain(metadata), wanted) for metadata in assets]
    return [str(n) for n, held in reversed(list(enumerate(holds))) if held]


VALUES = [
    None,
    True,
    False,
    1,
    1.0,
    "1",
    "true",
    2**53,
    2**53 + 1,
    0.1,
    [],
    [1],
    [1, "a"],
    {},
    {"a": 1},
    "",
    "é",
    "e\u0301",
]
EQUAL = [
    (1, 1.0),
    ([1], [1.0]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}),
    (0, -0.0),
    (10**400, 10**400),
    (1e23, 10**23),
]


def test_equality_is_typed(engine: Engine) -> None:
    tenant = stored(engine, [{"k": value} for value in VALUES])
    for at, value in enumerate(VALUES):
        expected = {str(at)} if not (type(value) in {int, float} and value == 1) else {"3", "4"}
        assert set(found(engine, tenant, [condition("EQUAL_TO", value)])) == expected
        assert (
            set(found(engine, tenant, [condition("NOT_EQUAL_TO", value)]))
            == set(map(str, range(len(VALUES)))) - expected
        )
    for left, right in EQUAL:
        pair = stored(engine, [{"k": left}, {"k": right}])
        assert found(engine, pair, [condition("EQUAL_TO", right)]) == ["0", "1"]


def test_a_null_is_not_a_missing_key(engine: Engine) -> None:
    tenant = stored(engine, [{"k": None}, {}, {"k": 1}])
    assert found(engine, tenant, [condition("EXISTS")]) == ["0", "2"]
    assert found(engine, tenant, [condition("NOT_EXISTS")]) == ["1"]
    assert found(engine, tenant, [condition("EQUAL_TO", None)]) == ["0"]
    assert found(engine, tenant, [condition("NOT_EQUAL_TO", None)]) == ["1", "2"]
    assert found(engine, tenant, [condition("IN", [None, 1])]) == ["0", "2"]
    assert found(engine, tenant, [condition("NOT_IN", [1])]) == ["0", "1"]
    assert found(engine, tenant, [condition("IN", [])]) == []
    assert found(engine, tenant, [condition("NOT_IN", [])]) == ["0", "1", "2"]


def test_one_field_may_be_asked_twice_and_case_counts(engine: Engine) -> None:
    tenant = stored(engine, [{"k": n, "K": -n} for n in range(6)])
    assert found(engine, tenant, [condition("GREATER_THAN", 1), condition("LESS_THAN_OR_EQUAL_TO", 3)]) == [
        "2",
        "3",
    ]
    assert found(engine, tenant, [condition("EQUAL_TO", -3, field="K")]) == ["3"]


def test_ranges_compare_numbers_with_numbers_and_texts_with_texts(engine: Engine) -> None:
    tenant = stored(
        engine,
        [{"k": v} for v in (9, 10, "9", "10", True, None, [10], 9.5, -1, "\uffff", "\N{GRINNING FACE}")],
    )
    assert found(engine, tenant, [condition("GREATER_THAN_OR_EQUAL_TO", 9.5)]) == ["1", "7"]
    assert set(found(engine, tenant, [condition("GREATER_THAN", "10")])) == {"2", "9", "10"}
    assert found(engine, tenant, [condition("GREATER_THAN", "\uffff")]) == ["10"]


def test_values_longer_than_the_index_compare_exactly(engine: Engine) -> None:
    base = "x" * 254
    values = [base, base + "a", base + "ab", base + "ac", base + "é", base + "ab" + "z" * 70_000]
    tenant = stored(engine, [{"k": value} for value in values])
    for bound in values:
        for kind, holds in (("GREATER_THAN", str.__gt__), ("LESS_THAN_OR_EQUAL_TO", str.__le__), ("STARTS_WITH", str.startswith),
                            ("ENDS_WITH", str.endswith), ("CONTAINS", str.__contains__), ("EQUAL_TO", str.__eq__)):  # fmt: skip
            expected = [str(n) for n, value in enumerate(values) if holds(value, bound)]
            assert found(engine, tenant, [condition(kind, bound)]) == expected, (kind, len(bound))


def test_texts_are_literal_and_case_sensitive(engine: Engine) -> None:
    tenant = stored(
        engine, [{"k": value} for value in ("a%b", "axb", "A%B", "a_b", "a\\b", ["a%b"], "prefix a%b suffix")]
    )
    assert found(engine, tenant, [condition("CONTAINS", "a%b")]) == ["0", "5", "6"]
    assert found(engine, tenant, [condition("STARTS_WITH", "a%")]) == ["0"]
    assert found(engine, tenant, [condition("ENDS_WITH", "_b")]) == ["3"]
    assert found(engine, tenant, [condition("CONTAINS", "\\")]) == ["4"]


def test_a_list_contains_elements_of_any_kind(engine: Engine) -> None:
    long = list(range(100))
    tenant = stored(
        engine, [{"k": long}, {"k": [[1, 2], {"a": None}]}, {"k": ["1"]}, {"k": "1"}, {"k": [True, None]}]
    )
    assert found(engine, tenant, [condition("CONTAINS", 99.0)]) == ["0"]
    assert found(engine, tenant, [condition("CONTAINS", 1)]) == ["0"]
    assert found(engine, tenant, [condition("CONTAINS", "1")]) == ["2", "3"]
    assert found(engine, tenant, [condition("CONTAINS", [1, 2])]) == ["1"]
    assert found(engine, tenant, [condition("CONTAINS", {"a": None})]) == ["1"]
    assert found(engine, tenant, [condition("CONTAINS", True)]) == ["4"]
    assert found(engine, tenant, [condition("CONTAINS", None)]) == ["4"]


def test_regex_is_re2_on_texts(engine: Engine) -> None:
    tenant = stored(
        engine,
        [{"k": v} for v in ("team1", "team22", 1, ["team1"], None, "TEAM1", "größe", "x" * 300 + "end")],
    )
    assert found(engine, tenant, [condition("REGEX", r"^team\d$")]) == ["0"]
    assert found(engine, tenant, [condition("REGEX", r"(?i)TEAM1")]) == ["0", "5"]
    assert found(engine, tenant, [condition("REGEX", "ö.e")]) == ["6"]
    assert found(engine, tenant, [condition("REGEX", "xend$")]) == ["7"]
    assert found(engine, tenant, [condition("REGEX", "^team"), condition("REGEX", "2$")]) == ["1"]
    with pytest.raises(InvalidQuery, match="RE2 refuses"):
        condition("REGEX", "(?=a)")
    with pytest.raises(InvalidRequest, match="half of a surrogate pair"):
        condition("REGEX", "\ud800")


def test_regex_goes_on_where_a_request_stopped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SCAN", 10)
    values = ["yes" if n in {3, 24, 25, 26, 44} else "no" for n in range(45)]
    tenant = f"t{next(_tenants)}"
    with write(engine) as conn:
        add_assets(
            conn, [{"id": f"{n:02}", "tenant": tenant, "metadata": {"k": v}} for n, v in enumerate(values)]
        )
    for limit in (1, 2, 100):
        pages, cursor = [], None
        while True:
            query = AssetQuery(metadata_query=[condition("REGEX", "yes")], limit=limit, cursor=cursor)
            with read(engine) as conn:
                page = search.search(conn, caller(tenant=tenant), query)
            pages.append(ids(page.items))
            cursor = page.next_cursor
            if cursor is None:
                break
        assert list(itertools.chain(*pages)) == ["03", "24", "25", "26", "44"]
        assert all(len(page) <= limit for page in pages)
        assert [] in pages


def test_a_query_is_bounded(engine: Engine) -> None:
    with pytest.raises(InvalidQuery, match="at most 50"):
        found(engine, "none", [condition("EXISTS")] * 51)
    with pytest.raises(InvalidQuery, match="at most 50"):
        found(engine, "none", [condition("EXISTS")] * 51, ids=["a"])
    assert found(engine, "none", [condition(op.value, *_some(op)) for op in Operator] * 3) == []


def _some(operator: Operator) -> list[Any]:
    if operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return []
    return [["x"]] if operator in {Operator.IN, Operator.NOT_IN} else ["x"]
