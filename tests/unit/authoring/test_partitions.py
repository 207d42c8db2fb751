"""Partition definitions, keys, ranges, mappings and backfill strategies."""

# ruff: noqa: DTZ001 - the definitions take naive datetimes, which mean UTC

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from airflow_assets.authoring.errors import ExecutionError, PartitionDefinitionError, PartitionValidationError
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition as Definition
from airflow_assets.authoring.partitions.edges import ABSENT, WHOLE, Ends, Load
from airflow_assets.authoring.partitions.keys import PartitionKey, PartitionKeyRange
from airflow_assets.authoring.partitions.mappings import PartitionMapping as Mapping
from airflow_assets.authoring.partitions.mappings import check_edge, load_of_edge
from airflow_assets.authoring.partitions.strategy import BackfillStrategy

JANUARY = datetime(2026, 1, 1)
DAYS = Definition.daily(JANUARY, end=datetime(2026, 1, 6))
ABC = Definition.static_(["a", "b", "c"])
GRID = Definition.multi({"region": Definition.static_(["eu", "us"]), "day": DAYS})


def single(*keys: str) -> PartitionKey:
    return PartitionKey.single(keys)


def texts(definition: Definition) -> list[str]:
    return [str(key) for key in definition.get_partition_keys()]


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (Definition.static_(["b", "a", "b"]), ["b", "a"]),
        (DAYS, ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]),
        (
            Definition.daily(datetime(2026, 1, 1, 1), end=datetime(2026, 1, 3, 1)),
            ["2026-01-02", "2026-01-03"],
        ),
        (Definition.daily(JANUARY, end=datetime(2025, 1, 1)), []),
        (Definition.hourly(JANUARY, end=datetime(2026, 1, 1, 2)), ["2026-01-01T00:00", "2026-01-01T01:00"]),
        (
            Definition.time_window(JANUARY, interval_seconds=43_200, end=datetime(2026, 1, 1, 13)),
            ["2026-01-01T00:00:00", "2026-01-01T12:00:00"],
        ),
        (
            Definition.time_window(JANUARY, "0 0 * * 1", end=datetime(2026, 1, 20), fmt="%Y-%m-%d"),
            ["2026-01-05", "2026-01-12", "2026-01-19"],
        ),
        (
            Definition.multi({"x": Definition.static_(["1", "2"]), "a": Definition.static_(["p", "q"])}),
            ["a=p|x=1", "a=q|x=1", "a=p|x=2", "a=q|x=2"],
        ),
    ],
)
def test_keys_in_their_order(definition: Definition, expected: list[str]) -> None:
    assert texts(definition) == expected


def test_an_open_definition_has_the_windows_that_have_begun() -> None:
    today = datetime.now(timezone.utc).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    keys = Definition.hourly(today)
    assert len(keys.get_partition_keys()) in {datetime.now(timezone.utc).hour + 1, 1}
    assert not keys.validate_partition_key(single("2999-01-01T00:00"))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Definition.static_([]), PartitionDefinitionError),
        (lambda: Definition.static_([""]), PartitionDefinitionError),
        (lambda: Definition.static_(["a|b"]), PartitionDefinitionError),
        (lambda: Definition.static_(["a,b"]), PartitionDefinitionError),
        (lambda: Definition.static_("ab"), TypeError),
        (lambda: Definition.daily(datetime(2026, 1, 1, tzinfo=timezone.utc)), TypeError),
        (lambda: Definition.daily(datetime(2026, 1, 1, 0, 0, 0, 5)), PartitionDefinitionError),
        (lambda: Definition.time_window(JANUARY), PartitionDefinitionError),
        (lambda: Definition.time_window(JANUARY, "0 0 * * *", 60), PartitionDefinitionError),
        (lambda: Definition.time_window(JANUARY, "nonsense"), PartitionDefinitionError),
        (lambda: Definition.time_window(JANUARY, interval_seconds=0), PartitionDefinitionError),
        (lambda: Definition.hourly(JANUARY, fmt="%Y-%m-%d"), PartitionDefinitionError),
        (lambda: Definition.multi({}), PartitionDefinitionError),
        (lambda: Definition.multi({"a=b": ABC}), PartitionDefinitionError),
        (lambda: Definition.multi({"a": GRID}), PartitionDefinitionError),
        (lambda: Definition.dynamic(""), PartitionDefinitionError),
        (lambda: Definition.dynamic("tenants").get_partition_keys(), NotImplementedError),
        (lambda: PartitionKey.single([]), PartitionDefinitionError),
        (lambda: PartitionKey.single(""), PartitionDefinitionError),
        (lambda: PartitionKey.multi({}), PartitionDefinitionError),
        (lambda: PartitionKey.from_json('{"many": ["a"]}'), PartitionDefinitionError),
        (lambda: Mapping.specific_partitions([]), PartitionValidationError),
        (lambda: Mapping.multi({}), PartitionValidationError),
        (lambda: Mapping.for_keys(["a"]), TypeError),  # type: ignore[list-item]
        (lambda: Mapping.static_({"a": ["b"]}), TypeError),  # type: ignore[dict-item]
        (lambda: BackfillStrategy.per_dimension(["a"], []), PartitionDefinitionError),
        (lambda: BackfillStrategy.per_dimension(["a"], ["a"]), PartitionDefinitionError),
    ],
)
def test_what_a_definition_refuses(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("definition", "key", "valid"),
    [
        (ABC, single("a", "c"), True),
        (ABC, single("a", "x"), False),
        (ABC, PartitionKey.multi({"x": "a"}), False),
        (DAYS, single("2026-01-05"), True),
        (DAYS, single("2026-01-06"), False),
        (DAYS, single("2026-1-5"), False),
        (GRID, PartitionKey.multi({"region": ["eu", "us"], "day": "2026-01-01"}), True),
        (GRID, PartitionKey.multi({"region": "eu"}), False),
        (GRID, single("eu"), False),
    ],
)
def test_which_keys_belong_to_it(definition: Definition, key: PartitionKey, valid: bool) -> None:
    assert definition.validate_partition_key(key) is valid


def test_dynamic_keys_come_from_the_storage() -> None:
    registered = {"tenants": ["acme", "bolt"]}
    tenants = Definition.dynamic("tenants")
    assert [str(key) for key in tenants.get_partition_keys(registered.__getitem__)] == ["acme", "bolt"]
    assert tenants.validate_partition_key(single("bolt"), registered.__getitem__)
    assert not tenants.validate_partition_key(single("zeta"), registered.__getitem__)


@pytest.mark.parametrize(
    "key",
    [
        single("a"),
        single("b", "a"),
        PartitionKey.multi({"region": ["eu", "us"], "day": "2026-01-01"}),
        PartitionKey.set_of([single("a"), single("b")]),
        PartitionKey.set_of(
            [PartitionKey.multi({"x": "1", "y": "2"}), PartitionKey.multi({"x": "2", "y": "1"})]
        ),
    ],
)
def test_a_key_survives_json(key: PartitionKey) -> None:
    assert PartitionKey.from_json(key.to_json()) == key
    if not key.combinations:
        assert PartitionKey.parse(str(key)) == key
    assert hash(PartitionKey.from_json(key.to_json())) == hash(key)


def test_a_key_stands_for_its_partitions() -> None:
    key = PartitionKey.multi({"region": ["us", "eu"], "day": "2026-01-01"})
    assert [str(one) for one in key] == ["day=2026-01-01|region=us", "day=2026-01-01|region=eu"]
    assert key.keys == {"day": ["2026-01-01"], "region": ["us", "eu"]}
    assert single("b", "a").key == ["b", "a"]
    with pytest.raises(AttributeError, match="'keys'"):
        _ = key.key


def test_ranges() -> None:
    inside = DAYS.in_range(PartitionKeyRange.single("2026-01-02", "2026-01-04"))
    assert [str(key) for key in inside] == ["2026-01-02", "2026-01-03", "2026-01-04"]
    grid = GRID.in_range(PartitionKeyRange.multi({"day": ("2026-01-01", "2026-01-02")}))
    assert len(grid) == 4
    assert len(GRID.in_range(PartitionKeyRange.multi({"region": ["us"]}))) == 5
    for wrong in (("2026-01-04", "2026-01-02"), ("2026-01-04", "2027-01-01")):
        with pytest.raises(PartitionDefinitionError):
            DAYS.in_range(PartitionKeyRange.single(*wrong))


TWO = Definition.static_(["1", "2"])
UP = Definition.multi({"day": DAYS, "kind": TWO})
LOADS = [
    # mapping, downstream, upstream, key, what is loaded
    (None, ABC, ABC, single("b"), Load(single("b"))),
    (None, ABC, None, single("b"), WHOLE),
    (None, None, None, None, WHOLE),
    (Mapping.identity(), ABC, ABC, single("b", "a"), Load(single("b", "a"))),
    (Mapping.all_partitions(), None, ABC, None, WHOLE),
    (Mapping.all_partitions(), ABC, DAYS, single("b"), WHOLE),
    (Mapping.static_({"a": "1", "b": "2", "c": "1"}), ABC, TWO, single("c"), Load(single("1"))),
    (Mapping.time_window(-1), DAYS, DAYS, single("2026-01-02"), Load(single("2026-01-01"))),
    (Mapping.time_window(2), DAYS, DAYS, single("2026-01-02"), Load(single("2026-01-04"))),
    (Mapping.specific_partitions(["a", "c"]), None, ABC, None, Load(single("a", "c"))),
    (Mapping.for_keys([single("a"), PartitionKeyRange.single("b", "c")]), ABC, None, single("b"), WHOLE),
    (Mapping.for_keys([single("a")]), ABC, None, single("b"), ABSENT),
    (Mapping.subset(), ABC, Definition.static_(["a"]), single("a"), Load(single("a"))),
    (Mapping.subset(), ABC, Definition.static_(["a"]), single("b"), ABSENT),
    (
        Mapping.multi({"day": Mapping.time_window(-1), "kind": ("region", Mapping.static_({"eu": "1", "us": "2"}))}),
        GRID,
        UP,
        PartitionKey.multi({"day": "2026-01-02", "region": "us"}),
        Load(PartitionKey.multi({"day": "2026-01-01", "kind": "2"})),
    ),
    (
        Mapping.multi_to_single("day", Mapping.time_window(-1)),
        GRID,
        DAYS,
        PartitionKey.multi({"day": "2026-01-03", "region": "us"}),
        Load(single("2026-01-02")),
    ),
    (
        Mapping.multi_to_single("day"),
        DAYS,
        UP,
        single("2026-01-03"),
        Load(PartitionKey.multi({"day": "2026-01-03", "kind": ["1", "2"]})),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("mapping", "downstream", "upstream", "key", "expected"), LOADS)
def test_what_is_loaded(
    mapping: Mapping | None,
    downstream: Definition | None,
    upstream: Definition | None,
    key: PartitionKey | None,
    expected: Load,
) -> None:
    ends = Ends(downstream, upstream)
    check_edge(mapping, ends)
    assert load_of_edge(mapping, key, ends) == expected


@pytest.mark.parametrize(
    ("mapping", "downstream", "upstream"),
    [
        (None, None, ABC),
        (None, ABC, DAYS),
        (None, ABC, TWO),
        (None, Definition.dynamic("x"), Definition.dynamic("y")),
        (None, DAYS, Definition.daily(JANUARY, fmt="%Y%m%d")),
        (Mapping.identity(), ABC, None),
        (Mapping.static_({"a": "9", "b": "1", "c": "1"}), ABC, TWO),
        (Mapping.static_({"a": "1"}), ABC, TWO),
        (Mapping.time_window(-1), ABC, ABC),
        (Mapping.time_window(-1), Definition.daily(JANUARY, fmt="%Y-%m-%dT%H"), Definition.time_window(JANUARY, "0 6 * * *", fmt="%Y-%m-%dT%H")),
        (Mapping.specific_partitions(["a"]), ABC, ABC),
        (Mapping.specific_partitions(["z"]), None, ABC),
        (Mapping.for_keys([single("a")]), ABC, ABC),
        (Mapping.subset(), Definition.static_(["a"]), ABC),
        (Mapping.multi({"day": Mapping.identity()}), GRID, UP),
        (Mapping.multi_to_single("nope"), GRID, DAYS),
        (Mapping.multi_to_single("day"), DAYS, DAYS),
    ],
)  # fmt: skip
def test_edges_that_do_not_fit(
    mapping: Mapping | None, downstream: Definition | None, upstream: Definition | None
) -> None:
    with pytest.raises((PartitionValidationError, PartitionDefinitionError)):
        check_edge(mapping, Ends(downstream, upstream))


def test_a_window_outside_is_an_error_of_the_run() -> None:
    with pytest.raises(PartitionValidationError, match="2025-12-31"):
        load_of_edge(Mapping.time_window(-1), single("2026-01-01"), Ends(DAYS, DAYS))


def test_b88_per_dimension_is_a_run_for_each_combination() -> None:
    keys = GRID.get_partition_keys()[:2] + GRID.get_partition_keys()[5:7]
    runs = BackfillStrategy.per_dimension(["day"], ["region"]).runs(keys)
    assert [str(run) for run in runs] == ["day=2026-01-01|region=eu,us", "day=2026-01-02|region=eu,us"]
    with pytest.raises(ExecutionError, match="'week'"):
        BackfillStrategy.per_dimension(["week"], ["region"]).runs(keys)


def test_single_run_names_exactly_the_partitions() -> None:
    keys = [
        PartitionKey.multi({"day": "1", "region": "eu"}),
        PartitionKey.multi({"day": "2", "region": "us"}),
    ]
    (run,) = BackfillStrategy.single_run().runs(keys)
    assert list(run) == keys
    assert BackfillStrategy.multi_run().runs(keys) == keys
    assert BackfillStrategy.multi_run() == BackfillStrategy.multi_run()


def test_variants_are_classes() -> None:
    assert isinstance(ABC, Definition.Static)
    assert isinstance(Mapping.identity(), Mapping.Identity)
    assert isinstance(BackfillStrategy.single_run(), BackfillStrategy.SingleRun)
    assert ABC == Definition.static_(["a", "b", "c"]) != Definition.static_(["c", "b", "a"])
