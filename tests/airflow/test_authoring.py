"""Assets written in Python on a real Airflow: the same project run by it and by the local runner says the same."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_assets.authoring.contexts import InputContext, PartitionContext
from airflow_assets.authoring.engine.events import EventType, StepEvent
from airflow_assets.authoring.handlers.files import PickleIOHandler
from airflow_assets.authoring.partitions.keys import PartitionKey
from airflow_assets.authoring.storage.client import ClientStorage
from airflow_assets.authoring.storage.interface import Storage
from airflow_assets.authoring.storage.records import NewRun, StepRecorder
from airflow_assets.client import get_client
from airflow_assets.testing import memory_storage
from tests.airflow.test_recording_dag_test import run_file
from tests.support.airflow_process import AirflowProcess

if TYPE_CHECKING:
    from airflow_assets.authoring.repository import CodeRepository
    from airflow_assets.authoring.storage.records import AssetRecord

pytestmark = [pytest.mark.real_airflow, pytest.mark.slow]

EVENTS = "/airflow_assets/api/v1/events"
FILE = Path(__file__).parent / "authoring_dags" / "shop.py"
DAGS = (
    "shop.materialize",
    "shop.observe",
    "halves.materialize",
    "days.materialize",
    "days_after.materialize",
    "gates.materialize",
    "gates.compact",
    "burst_target.materialize",
)
BURST = 20


@dataclass
class Side:
    """One of the two: what it recorded, and where its values are."""

    storage: Storage
    values: Path
    runs: dict[str, str] = field(default_factory=dict)

    def value(self, name: str, key: str | None = None) -> Any:
        """The stored value of an asset."""
        partition = PartitionContext([key]) if key else None
        store = PickleIOHandler(path=str(self.values))
        return store.load_input(InputContext(name, "test", partition=partition))

    def record(self, name: str) -> AssetRecord:
        """What is known of an asset."""
        found = self.storage.get_asset_record(name)
        assert found is not None, name
        return found

    def said(self, name: str) -> list[tuple[str, str]]:
        """The metadata of the last materialization, but for the place of the values and the time it took."""
        found = self.storage.get_latest_materialization(name)
        assert found is not None, name
        metadata = {key: text for key, text in found.metadata if key != "write_duration_s"}
        return sorted((key, text.replace(str(self.values), "")) for key, text in metadata.items())

    def kinds(self, run: str) -> set[tuple[str, str]]:
        """The events of a run."""
        return {
            (one.event_type, one.asset_key or "") for one in self.storage.get_events_for_run(self.runs[run])
        }

    def status(self, run: str) -> str:
        """The status of a run in the storage."""
        found = self.storage.get_run(self.runs[run])
        assert found is not None, run
        return found.status


@dataclass
class InAirflow(Side):
    """The side of Airflow."""

    airflow: AirflowProcess = field(kw_only=True)

    def start(self, dag_id: str, **more: Any) -> None:
        """Start a run of a Dag; it goes on while others start."""
        body = {"logical_date": None, "dag_run_id": "run", **more}
        self.airflow.api("POST", f"/api/v2/dags/{dag_id}/dagRuns", json=body)
        self.runs[dag_id] = f"{dag_id}/run"

    def end(self, dag_id: str, state: str = "success") -> dict[tuple[str, int], str]:
        """Wait for the end of the run, and return the states of its tasks."""
        self.airflow.wait_for_run(dag_id, "run", state, timeout=480)
        return self.states(dag_id, "run")

    def states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        """The states of a run's tasks."""
        found = self.airflow.task_instances(dag_id, run_id)
        return {(ti["task_id"], ti["map_index"]): ti["state"] for ti in found}


@pytest.fixture(scope="module")
def shop() -> Any:
    """The module of the Dag file, imported without its Dags."""
    spec = importlib.util.spec_from_file_location("authoring_shop", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_ASSETS_SHOP", "imported")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def remote(airflow: AirflowProcess) -> InAirflow:
    airflow.write_dag("authoring_shop.py", FILE.read_text())
    client = get_client(api_url=airflow.base_url, token=airflow.token())
    side = InAirflow(ClientStorage(client), airflow.home / "values", airflow=airflow)
    airflow.wait_for_dag(DAGS[-1], timeout=300)
    for dag_id in DAGS:
        airflow.unpause(dag_id)
    for dag_id in ("gates.materialize", "shop.observe", "shop.materialize", "halves.materialize"):
        side.start(dag_id)
    side.start("days.materialize", partition_key="2026-01-02")
    return side


@pytest.fixture(scope="module")
def local(shop: Any, tmp_path_factory: pytest.TempPathFactory) -> Side:
    values = tmp_path_factory.mktemp("local")
    repo: CodeRepository = shop.shop(values)
    storage = memory_storage()
    repo.resolve(storage)
    side = Side(storage, values)

    def run(name: str, result: Any) -> None:
        side.runs[name] = result.run_id

    run("shop.observe", repo.observe())
    run("shop.materialize", repo.materialize(["orders", "revenue", "low", "high", "report"]))
    halves = ["kept", "lost", "of_kept", "of_lost"]
    run("halves.materialize", repo.materialize(halves, raise_on_error=False))
    run("days.materialize", repo.materialize(["daily"], PartitionKey.single("2026-01-02")))
    run("days_after", repo.materialize(["day_after"], PartitionKey.single("2026-01-03")))
    return side


def test_a_materialize_waits_at_its_gate_and_an_exclusive_action_behind_it(remote: InAirflow) -> None:
    airflow = remote.airflow
    running = ("StepStart", "big")
    airflow.wait_until(lambda: running in remote.kinds("gates.materialize"), 480, "big to be materialized")
    remote.start("gates.compact")
    waiting = ("StepSlotWaiting", "big")
    airflow.wait_until(lambda: waiting in remote.kinds("gates.compact"), 480, "the action to wait")
    assert ("ActionCompleted", "big") not in remote.kinds("gates.compact")
    (remote.values / "gate-big").touch()
    remote.end("gates.materialize")
    remote.end("gates.compact")
    (done,) = [
        one
        for one in remote.storage.get_events_for_run("gates.compact/run")
        if one.event_type == "ActionCompleted"
    ]
    assert dict(done.metadata)["after"] == '{"Bool":{"value":true}}'


def test_both_make_the_same_values_metadata_versions_and_staleness(remote: InAirflow, local: Side) -> None:
    remote.end("shop.observe")
    states = remote.end("shop.materialize")
    assert set(states.values()) == {"success"}
    for name in ("orders", "revenue", "low", "high", "report"):
        assert remote.value(name) == local.value(name), name
        assert remote.said(name) == local.said(name), name
    for name in ("orders", "revenue", "low", "high", "feed"):
        here, there = local.record(name), remote.record(name)
        for member in (
            "tags", "kinds", "group", "code_version", "last_data_version",
            "last_materialization_code_version", "last_input_data_versions",
        ):  # fmt: skip
            assert getattr(here, member) == getattr(there, member), (name, member)
    staleness = remote.storage.compute_staleness()
    for name, (status, causes) in local.storage.compute_staleness().items():
        if name.partition("/")[0] in {"orders", "revenue", "low", "high", "report", "feed"}:
            assert staleness[name] == (status, causes), name
    assert remote.status("shop.materialize") == local.status("shop.materialize") == "Success"


def test_both_say_the_same_about_each_step_and_the_catalogue_hears_it_once(
    remote: InAirflow, local: Side
) -> None:
    remote.end("shop.materialize")
    assert remote.kinds("shop.materialize") == local.kinds("shop.materialize")
    events = remote.storage.get_events_for_run(remote.runs["shop.materialize"])
    made = [one.asset_key for one in events if one.event_type == "Materialization"]
    assert len(made) == len(set(made))
    for name in ("orders", "revenue", "low", "report"):
        found = remote.airflow.api("GET", EVENTS, params={"assetId": name})["items"]
        assert [one["event"] for one in found if one["event"] in {"CREATED", "UPDATED"}] == ["CREATED"], name


def test_a_fan_out_is_a_mapped_task_for_each_element(remote: InAirflow) -> None:
    states = remote.end("shop.materialize")
    assert {index for task, index in states if task == "report.square"} == {0, 1, 2}
    assert remote.value("report") == 14


def test_what_a_multi_asset_made_before_it_failed_stands(remote: InAirflow, local: Side) -> None:
    states = remote.end("halves.materialize", "failed")
    assert states == {("half", -1): "failed", ("of_kept", -1): "success", ("of_lost", -1): "failed"}
    assert remote.value("of_kept") == local.value("of_kept") == 2
    assert remote.kinds("halves.materialize") == local.kinds("halves.materialize")
    assert remote.status("halves.materialize") == local.status("halves.materialize") == "Failure"


def test_a_partition_starts_the_one_that_reads_it_in_another_dag(remote: InAirflow, local: Side) -> None:
    airflow = remote.airflow
    remote.end("days.materialize")
    dag_id = "days_after.materialize"
    airflow.wait_until(lambda: airflow.runs(dag_id), 480, "the event of the partition to start a run")
    (run,) = airflow.runs(dag_id)
    airflow.wait_for_run(dag_id, run["dag_run_id"], timeout=480)
    assert remote.value("day_after", "2026-01-03") == local.value("day_after", "2026-01-03")
    for name in ("daily", "day_after"):
        keys = local.storage.get_materialized_partitions(name)
        assert remote.storage.get_materialized_partitions(name) == keys
        assert remote.record(name).last_data_version == local.record(name).last_data_version


def test_a_burst_of_materializations_leaves_nothing_waiting(remote: InAirflow) -> None:
    airflow, dag_id = remote.airflow, "burst_target.materialize"
    (remote.values / "tick.pkl").write_bytes(b"\x80\x05K\x01.")  # what the source's handler would have stored
    for number in range(BURST):
        run_id = f"burst-{number}"
        recorder = StepRecorder(run_id, "tick")
        recorder(StepEvent(EventType.Materialization, "tick", data_version=f"v{number}"))
        remote.storage.record(run_id, recorder.drain(), run=NewRun(run_id, ("tick",)))

    def over() -> bool:
        states = [run["state"] for run in airflow.runs(dag_id)]
        assert "failed" not in states
        return states == ["success"] * BURST

    airflow.wait_until(over, 480, f"{BURST} runs to end")
    assert remote.value("tock") == 2
    assert remote.record("tock").last_input_data_versions == [("tick", f"v{BURST - 1}")]


DAG_TEST = """

if __name__ == "__main__":
    import json

    from airflow_assets.authoring.storage.client import ClientStorage

    run = globals()["halves.materialize"].test()
    storage = ClientStorage()
    found = storage.get_run(f"halves.materialize/{run.run_id}")
    versions = {one.asset_key: one.last_data_version for one in storage.get_asset_records(["kept", "of_kept"])}
    print(json.dumps({"state": run.state, "status": found.status, "versions": versions}))
"""


def test_dag_test_runs_the_same_without_an_airflow(tmp_path: Path, local: Side) -> None:
    told = run_file(tmp_path, FILE.read_text() + DAG_TEST)
    versions = {name: local.record(name).last_data_version for name in ("kept", "of_kept")}
    assert told == {"state": "failed", "status": "Failure", "versions": versions}
    assert Side(local.storage, tmp_path / "values").value("of_kept") == 2
