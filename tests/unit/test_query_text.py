"""The text form of metadata queries: what it reads, where it points when it cannot, and that it says what it read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.query_text import format_conditions, parse
from tests.support.json_values import busy_machine, conditions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        (
            'owner = "team3" and tier >= 2',
            [("owner", "EQUAL_TO", "team3"), ("tier", "GREATER_THAN_OR_EQUAL_TO", 2)],
        ),
        (
            "owner=team3 AND tier>=2",
            [("owner", "EQUAL_TO", "team3"), ("tier", "GREATER_THAN_OR_EQUAL_TO", 2)],
        ),
        ("a != true", [("a", "NOT_EQUAL_TO", True)]),
        ("a = truest", [("a", "EQUAL_TO", "truest")]),
        ("a = null", [("a", "EQUAL_TO", None)]),
        ("a = 2.50", [("a", "EQUAL_TO", 2.5)]),
        ("a = 2nd", [("a", "EQUAL_TO", "2nd")]),
        ("a = 9007199254740993", [("a", "EQUAL_TO", 9007199254740993)]),
        ("a in (x, 1, null)", [("a", "IN", ["x", 1, None])]),
        ("a not in ()", [("a", "NOT_IN", [])]),
        ("a exists and b not exists", [("a", "EXISTS", None), ("b", "NOT_EXISTS", None)]),
        ('"cost centre" ^= a', [("cost centre", "STARTS_WITH", "a")]),
        (
            '"and" $= a and index *= [1] and note ~ "^a b$"',
            [("and", "ENDS_WITH", "a"), ("index", "CONTAINS", [1]), ("note", "REGEX", "^a b$")],
        ),
        ("größe < 3", [("größe", "LESS_THAN", 3)]),
    ],
)
def test_reads(text: str, expected: list[tuple[str, str, object]]) -> None:
    assert [(c.field, c.type.value, c.value) for c in parse(text)] == expected


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("owner", 6, "expected one of"),
        ("owner =", 8, "expected a value"),
        ("= 3", 1, "expected a metadata key"),
        ("a = 1 or b = 2", 7, "expected 'and'"),
        ("a in 1", 6, "expected '('"),
        ("a in (1 2)", 9, "expected ','"),
        ("a in (1", 8, "expected ','"),
        ('a = "x', 5, "this is not JSON"),
        ("a = [NaN]", 5, "NaN is not JSON"),
        ("a = 1 and a > true", 11, "needs a number or a text"),
        ('a ~ "("', 1, "RE2 refuses"),
        ("password = x", 1, "would read a secret"),
        ('a = "\\u0000"', 1, "U+0000"),
        ("a = 1" + "0" * 5000, 5, "too long"),
        ("a = " + "[" * 100_000, 5, "JSON"),
    ],
)
def test_points_at_what_it_cannot_read(text: str, position: int, problem: str) -> None:
    with pytest.raises(InvalidQuery, match=re.escape(problem)) as caught:
        parse(text)
    assert caught.value.members["position"] == position
    assert f"position {position}" in str(caught.value)


@busy_machine
@given(st.lists(conditions(), max_size=5))
def test_what_is_written_reads_back(wanted: list[MetadataCondition]) -> None:
    read = parse(format_conditions(wanted))
    assert [c.to_json() for c in read] == [c.to_json() for c in wanted]
    assert [type(c.value) for c in read] == [type(c.value) for c in wanted]


@busy_machine
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    position = 1
    try:
        found = parse(text)
    except InvalidQuery as error:
        position = error.members["position"]
    else:
        assert parse(format_conditions(found)) == found
    assert 1 <= position <= len(text) + 1


def test_every_operator_has_a_text() -> None:
    values = {Operator.IN: [1], Operator.NOT_IN: [1], Operator.EXISTS: None, Operator.NOT_EXISTS: None}
    for operator in Operator:
        condition = MetadataCondition(field="a", type=operator, value=values.get(operator, "x"))
        assert parse(format_conditions([condition])) == [condition]
