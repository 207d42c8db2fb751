"""Generated metadata and conditions that meet at the edges: near-equal numbers, long texts, nested values."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas import rules
from airflow_assets.schemas.metadata_query import RANGES, MetadataCondition, Operator

busy_machine = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For tests without a database: how long an example takes tells nothing when others use the machine."""

_LONG = "ab" * 126  # 252 bytes: the indexed part ends in what follows
FIELDS = ("owner", "Owner", "tier", "größe", "cost centre", "not", "1st")

texts = st.one_of(
    st.sampled_from(
        ["", "a", "A", "ab", "b%", "b_", "a\\", "é", "e\u0301", "\N{GRINNING FACE}", "1", "true", "null"]
    ),
    st.builds(lambda end: _LONG + end, st.text("abé%", max_size=6)),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
)
numbers = st.one_of(
    st.sampled_from(
        [0, -0.0, 1, 1.0, -1, 2, 0.1, 1e22, 10**22, 1e23, 10**23, 2**53, 2**53 + 1, float(2**53), 5e-324]
    ),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**200), 10**200),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(scalars, min_size=15, max_size=20),  # beyond the indexed part
        st.dictionaries(st.sampled_from(["k", "K", "é"]), inner, max_size=3),
    ),
    max_leaves=6,
)
metadatas = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4)

_PATTERNS = ["^a", "b$", "a.*b", "(?i)A", r"\d", "é", "^$", "[^a]", r"\x{1F600}", "%"]


@st.composite
def conditions(draw: st.DrawFn) -> MetadataCondition:
    """Any condition that the rules allow."""
    operator = draw(st.sampled_from(list(Operator)))
    field = draw(st.sampled_from(FIELDS))
    try:
        return MetadataCondition(field=field, type=operator, value=draw(_value_for(operator)))
    except InvalidRequest:
        assume(False)
        raise


def _value_for(operator: Operator) -> st.SearchStrategy[Any]:
    if operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return st.none()
    if operator in {Operator.IN, Operator.NOT_IN}:
        return st.lists(json_values, max_size=4)
    if operator in RANGES:
        return st.one_of(numbers, texts)
    if operator in {Operator.STARTS_WITH, Operator.ENDS_WITH}:
        return texts
    if operator is Operator.REGEX:
        return st.sampled_from(_PATTERNS)
    return json_values


def plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata in its stored form."""
    return rules.metadata(metadata)
