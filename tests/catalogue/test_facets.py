"""Facets: exact counts by value, under the filter, for what the caller may see."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.catalog import facets as facets_module
from airflow_assets.catalog.engine import read, write
from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.schemas.queries import FacetQuery
from tests.support.catalog_rows import CALLER, add_assets, caller, counted_statements

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.queries import FacetResult

LONG = "x" * 400


@pytest.fixture
def engine(service: CatalogService) -> Engine:
    values = [1, 1.0, True, "1", None, [1], {"a": 1}, LONG, LONG + "y"]
    with write(service.engine) as conn:
        add_assets(
            conn,
            [
                {
                    "id": f"{n:03}",
                    "type": "T" if n % 3 else "t",
                    "namespace": [None, "a", "a.b", "a.b.c"][n % 4],
                    "deleted": n >= 90,
                    "metadata": {"v": values[n % 10], "n": n} if n % 10 < 9 else {"n": n},
                }
                for n in range(100)
            ],
        )
    return service.engine


def counted(engine: Engine, by: Caller = CALLER, **query: Any) -> FacetResult:
    with read(engine) as conn:
        return facets_module.facets(conn, by, FacetQuery(**query))


def as_dict(found: FacetResult, at: int = 0) -> dict[str, int]:
    return {repr(value.value): value.count for value in found.facets[at].values}


def test_columns_and_metadata_are_counted(engine: Engine) -> None:
    found = counted(engine, facets=["type", "namespace", "metadata.v"])
    assert as_dict(found) == {"'T'": 60, "'t'": 30}
    assert as_dict(found, 1) == {"'a'": 23, "'a.b'": 22, "'a.b.c'": 22}
    assert (found.facets[1].missing, found.facets[1].other) == (23, 0)
    values = found.facets[2]
    assert as_dict(found, 2) == {
        "1": 18, "True": 9, "'1'": 9, "None": 9, "[1]": 9, "{'a': 1}": 9, repr(LONG): 9, repr(LONG + "y"): 9,
    }  # fmt: skip
    assert values.values[0].count == 18
    assert (values.missing, values.other) == (9, 0)
    assert (found.total, found.total_is_lower_bound) == (90, False)


def test_only_the_most_frequent_are_listed(engine: Engine) -> None:
    (facet,) = counted(engine, facets=["metadata.v"], top=3).facets
    assert [value.count for value in facet.values] == [18, 9, 9]
    assert facet.other == 90 - 9 - 36
    (facet,) = counted(engine, facets=["metadata.n"], top=5, include_deleted=True).facets
    assert (len(facet.values), facet.other, facet.missing) == (5, 95, 0)


def test_filters_and_closed_namespaces_narrow_the_counts(engine: Engine) -> None:
    query = [{"field": "n", "type": "LESS_THAN", "value": 40}]
    found = counted(engine, caller("a.b"), facets=["namespace"], metadata_query=query)
    assert as_dict(found) == {"'a'": 10}
    assert (found.total, found.facets[0].missing) == (20, 10)
    assert counted(engine, facets=["type"], ids=["001", "002", "nothing"]).total == 2
    empty = counted(engine, facets=["type", "metadata.v"], types=["nothing"])
    assert [(f.values, f.missing, f.other) for f in empty.facets] == [([], 0, 0), ([], 0, 0)]


def test_a_key_that_nobody_has_is_missing_everywhere(engine: Engine) -> None:
    (facet,) = counted(engine, facets=["metadata.nothing"]).facets
    assert (facet.values, facet.missing, facet.other) == ([], 90, 0)


def test_regex_conditions_are_counted_too(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    query = [{"field": "v", "type": "REGEX", "value": "y$"}]
    found = counted(engine, facets=["metadata.v"], metadata_query=query)
    assert as_dict(found) == {repr(LONG + "y"): 9}
    assert (found.total, found.total_is_lower_bound) == (9, False)
    monkeypatch.setattr(facets_module, "MAX_TOTAL", 10)
    cut = counted(engine, facets=[], metadata_query=query)
    assert cut.total < 9
    assert cut.total_is_lower_bound


def test_the_total_is_counted_to_a_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facets_module, "MAX_TOTAL", 50)
    found = counted(engine, facets=["type"])
    assert (found.total, found.total_is_lower_bound) == (50, True)
    assert sum(Counter(as_dict(found)).values()) == 90


def test_statements_are_bounded(engine: Engine) -> None:
    names = ["type", "namespace", "metadata.v", "metadata.n"]
    with counted_statements(engine) as statements:
        counted(engine, facets=[*names, *names], top=1_000)
    assert len(statements) == len(names) + 2


@pytest.mark.parametrize(
    "name", ["", "id", "Type", "metadata", "metadata.", "metadata.password", "metadata.\0"]
)
def test_unknown_facets_are_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidRequest):
        counted(engine, facets=[name])


def test_too_many_facets_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidQuery, match="at most 20"):
        counted(engine, facets=[f"metadata.{n}" for n in range(21)])
