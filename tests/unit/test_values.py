from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.catalog.values import (
    SORT_LENGTH,
    equal,
    id_sort,
    sort_bytes,
    tag,
    value_columns,
    value_hash,
)

NUMBERS = st.one_of(
    st.integers(),
    st.integers(min_value=-(10**400), max_value=10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(min_value=2**53 - 3, max_value=2**53 + 3),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=["\0"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def exact(number: float) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def canonical(value: Any) -> Any:
    """An independent statement of equality: a tree of tagged, hashable parts."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    if isinstance(value, (int, float)):
        return ("number", exact(value))
    if isinstance(value, list):
        return ("array", tuple(canonical(item) for item in value))
    return ("object", frozenset((key, canonical(item)) for key, item in value.items()))


@given(NUMBERS, NUMBERS)
def test_number_bytes_order_as_the_numbers_do(left: float, right: float) -> None:
    assert (sort_bytes(left) < sort_bytes(right)) == (exact(left) < exact(right))
    assert (sort_bytes(left) == sort_bytes(right)) == (exact(left) == exact(right))


@given(TEXTS, TEXTS)
def test_text_bytes_order_by_code_point(left: str, right: str) -> None:
    assert (sort_bytes(left) < sort_bytes(right)) == (left < right)


@given(VALUES, VALUES)
def test_hash_is_equal_exactly_when_the_values_are(left: Any, right: Any) -> None:
    assert equal(left, right) == (canonical(left) == canonical(right))
    assert equal(left, json.loads(json.dumps(left)))


@given(st.dictionaries(TEXTS, VALUES, min_size=2, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    assert value_hash(value) == value_hash(dict(reversed(value.items())))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (True, 1, False),
        (True, "true", False),
        (1, "1", False),
        (None, "", False),
        (None, False, False),
        ([], {}, False),
        (2**53, 2**53 + 1, False),
        (2**53 + 1, float(2**53), False),
        (0.1, 1e-1, True),
        (1e22, 10**22, True),
        ([1, [2, 3]], [1, [2], 3], False),
        ({"a": "b"}, {"ab": ""}, False),
        (["ab", "c"], ["a", "bc"], False),
    ],
)
def test_equality(left: Any, right: Any, same: bool) -> None:
    assert equal(left, right) is same


@given(st.lists(VALUES, max_size=20), VALUES)
def test_an_array_contains_the_hashes_of_its_elements(items: list[Any], other: Any) -> None:
    whole = sort_bytes(items)
    assert all(value_hash(item) in whole for item in items)
    assert (value_hash(other) in whole) == any(equal(other, item) for item in items)


def test_columns_keep_what_does_not_fit_the_index() -> None:
    short, long = value_columns("k", "x" * SORT_LENGTH), value_columns("k", "x" * (SORT_LENGTH + 1))
    assert (short["value_rest"], long["value_rest"]) == (None, b"x" * 256)
    assert short["value_sort"] == long["value_sort"]
    assert short["value_hash"] != long["value_hash"]
    assert [tag(v) for v in (None, True, 1, 1.5, "x", [], {})] == list("nbddsao")


def test_id_sort_is_the_first_bytes_of_the_id() -> None:
    assert id_sort("a") == b"a"
    assert id_sort("\U0001f980" * 1500) == ("\U0001f980" * 64).encode()[:255]
