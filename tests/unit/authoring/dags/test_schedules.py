"""What starts a Dag, which of its steps, and which partitions read what has changed."""

from __future__ import annotations

import warnings
from datetime import datetime
from typing import Any

import pendulum
import pytest
from airflow.sdk import (
    AssetOrTimeSchedule,
    CronPartitionTimetable,
    CronTriggerTimetable,
    PartitionedAtRuntime,
)
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction

from airflow_assets.authoring.assets import Asset
from airflow_assets.authoring.automation import AutomationCondition as Condition
from airflow_assets.authoring.dags.compile import to_dags
from airflow_assets.authoring.dags.event_keys import changed_by, readers
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.nodes import Edge
from airflow_assets.authoring.graph.resolve import Registered, resolve
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.edges import Ends
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.partitions.mappings import PartitionMapping
from airflow_assets.schemas.declared import EXTRA_KEY
from tests.unit.authoring.dags.test_compile import STORE, asset

DAYS = PartitionsDefinition.daily(datetime(2026, 1, 1), end=datetime(2026, 1, 6))  # noqa: DTZ001 - naive UTC
AB = PartitionsDefinition.static_(["a", "b"])
DAILY = Condition.on_cron("0 6 * * *", "Europe/Berlin")


def schedule(dag_id: str, *assets: Any) -> Any:
    return to_dags(resolve(assets, Registered()))[dag_id].schedule


def filters(condition: Any) -> list[str]:
    """The assets whose events a schedule waits for."""
    markers = getattr(condition, "objects", None) or [condition]
    return [one.extra[EXTRA_KEY]["filter"]["assetId"] for one in markers]


class TestEvents:
    def test_what_another_dag_makes_or_nobody_starts_a_run(self) -> None:
        feed = Asset.external(name="feed", io_handler=STORE)
        found = schedule("y.materialize", asset("a", group="x"), feed, asset("b", "a", "feed", group="y"))
        assert filters(found) == ["a", "feed"]
        made, outside = (one.extra[EXTRA_KEY] for one in found.objects)
        assert "metadata.materialization" in made["when"]
        assert "when" not in outside

    def test_edges_that_only_order_count(self) -> None:
        found = schedule(
            "y.materialize", asset("a", group="x"), asset("b", deps=[AssetDef.dep("a")], group="y")
        )
        assert filters(found) == ["a"]

    def test_any_deps_updated_says_what_no_condition_says(self) -> None:
        condition = Condition.any_deps_updated()
        found = schedule(
            "y.materialize", asset("a", group="x"), asset("b", "a", group="y", automation_condition=condition)
        )
        assert filters(found) == ["a"]

    def test_inside_a_dag_nothing_is_waited_for(self) -> None:
        assert schedule("g.materialize", asset("a", group="g"), asset("b", "a", group="g")) is None

    def test_an_upstream_without_partitions_says_no_key_and_starts_nothing(self) -> None:
        found = schedule(
            "y.materialize", asset("a", group="x"), asset("b", "a", group="y", partitions_def=AB)
        )
        assert isinstance(found, PartitionedAtRuntime)

    def test_it_is_never_a_bare_native_asset(self) -> None:
        found = schedule("y.materialize", asset("a", group="x"), asset("b", "a", group="y"))
        assert found.uri.startswith("x-airflow-assets://event/")


class TestCrons:
    def test_on_cron_of_all_that_a_dag_has_is_its_cron(self) -> None:
        found = schedule(
            "g.materialize",
            asset("a", group="g", automation_condition=DAILY),
            asset("b", "a", group="g", automation_condition=DAILY),
            asset("c", "b", group="g"),
        )
        assert isinstance(found, CronTriggerTimetable)
        assert (found.expression, str(found.timezone)) == ("0 6 * * *", "Europe/Berlin")

    def test_a_tick_alone_asks_nothing_of_its_dependencies(self) -> None:
        tick = Condition.cron_tick_passed("0 6 * * *")
        found = schedule(
            "y.materialize", asset("a", group="x"), asset("b", "a", group="y", automation_condition=tick)
        )
        assert isinstance(found, CronTriggerTimetable)

    def test_a_cron_and_events_start_one_dag(self) -> None:
        found = schedule(
            "y.materialize",
            asset("a", group="x"),
            asset("b", "a", group="y"),
            asset("c", group="y", automation_condition=DAILY),
        )
        assert isinstance(found, AssetOrTimeSchedule)

    def test_two_crons_in_one_dag_are_refused_with_the_way_out(self) -> None:
        with pytest.raises(ConfigurationError, match="group of their own"):
            schedule(
                "g.materialize",
                asset("a", group="g", automation_condition=DAILY),
                asset("b", group="g", automation_condition=Condition.on_cron("0 7 * * *")),
            )

    def test_the_latest_window_is_airflows_partition_where_the_grid_is_the_cron(self) -> None:
        latest = Condition.on_cron("0 0 * * *") & Condition.in_latest_time_window()
        found = schedule("a.materialize", asset("a", partitions_def=DAYS, automation_condition=latest))
        assert isinstance(found, CronPartitionTimetable)
        assert found.key_format == "%Y-%m-%d"
        other = Condition.on_cron("0 6 * * *") & Condition.in_latest_time_window()
        found = schedule("a.materialize", asset("a", partitions_def=DAYS, automation_condition=other))
        assert type(found) is CronTriggerTimetable

    def test_the_scheduler_reads_them_back(self) -> None:
        """The latest window is the one that begins with the tick, for Airflow as for the step."""
        latest = Condition.on_cron("0 0 * * *") & Condition.in_latest_time_window()
        dags = to_dags(
            resolve(
                [
                    asset("a", partitions_def=DAYS, automation_condition=latest),
                    asset("b", group="x"),
                    asset("c", "b", group="y"),
                    asset("d", group="y", automation_condition=DAILY),
                ],
                Registered(),
            )
        )
        read = {name: DagSerialization.from_dict(DagSerialization.to_dict(dag)) for name, dag in dags.items()}
        timetable: Any = read["a.materialize"].timetable
        run = timetable.next_dagrun_info_v2(
            last_dagrun_info=None,
            restriction=TimeRestriction(earliest=pendulum.datetime(2026, 1, 3), latest=None, catchup=True),
        )
        assert run.partition_key == "2026-01-03"
        assert read["y.materialize"].timetable.asset_condition is not None

    def test_partitions_without_a_schedule_take_a_key_by_hand(self) -> None:
        assert isinstance(schedule("a.materialize", asset("a", partitions_def=AB)), PartitionedAtRuntime)


class TestNotBuilt:
    @pytest.mark.parametrize(
        ("condition", "partitions"),
        [
            (Condition.eager(), None),
            (Condition.on_missing(), None),
            (Condition.code_version_changed(), None),
            (DAILY & ~Condition.in_progress(), None),
            (DAILY, DAYS),  # a tick would be for every window there ever was
            (Condition.on_cron("0 6 * * *") | Condition.in_latest_time_window(), DAYS),
        ],
    )
    def test_what_no_schedule_says_exactly_starts_nothing_and_is_told(
        self, condition: Condition, partitions: Any
    ) -> None:
        with pytest.warns(UserWarning, match="'a' is not started by its automation condition"):
            dags = to_dags(
                resolve([asset("a", automation_condition=condition, partitions_def=partitions)], Registered())
            )
        dag = dags["a.materialize"]
        assert dag.schedule is None or isinstance(dag.schedule, PartitionedAtRuntime)
        assert "started by hand only" in str(dag.doc_md)

    def test_on_cron_whose_dependency_another_dag_makes_is_not_exact(self) -> None:
        with pytest.warns(UserWarning, match="'b'"):
            found = schedule(
                "y.materialize", asset("a", group="x"), asset("b", "a", group="y", automation_condition=DAILY)
            )
        assert found is None

    def test_what_is_built_warns_of_nothing(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            schedule("a.materialize", asset("a", automation_condition=DAILY))


class TestKeysOfEvents:
    @pytest.mark.parametrize(
        ("mapping", "down", "up", "changed", "expected"),
        [
            (None, DAYS, DAYS, "2026-01-02", ["2026-01-02"]),
            (PartitionMapping.identity(), DAYS, DAYS, "2026-01-02", ["2026-01-02"]),
            (PartitionMapping.time_window(-1), DAYS, DAYS, "2026-01-02", ["2026-01-03"]),
            (PartitionMapping.time_window(-1), DAYS, DAYS, "2026-01-05", []),
            (
                PartitionMapping.static_({"a": "x", "b": "x"}),
                AB,
                PartitionsDefinition.static_(["x"]),
                "x",
                ["a", "b"],
            ),
            (PartitionMapping.all_partitions(), AB, AB, "a", ["a", "b"]),
            (PartitionMapping.subset(), AB, PartitionsDefinition.static_(["a"]), "a", ["a"]),
        ],
    )
    def test_the_partitions_that_load_what_changed(
        self, mapping: Any, down: Any, up: Any, changed: str, expected: list[str]
    ) -> None:
        edge = Edge("up", loads=True, mapping=mapping)
        found = readers(edge, PartitionKey.single(changed), Ends(down, up, None))
        assert [str(one) for one in found] == expected

    def test_an_event_of_the_whole_asset_names_none(self) -> None:
        assert changed_by({"metadata": {"materialization": {"data_version": "1"}}}) is None
        assert changed_by({"metadata": None}) is None
        document = {"metadata": {"materialization": {"partition_key": {"multi": {"d": ["1"], "r": ["eu"]}}}}}
        assert str(changed_by(document)) == "d=1|r=eu"
