"""The OpenLineage exporter against a real HTTP server that checks every event."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from airflow.models.connection import Connection

from airflow_assets.exporters import ExportFailed, OpenLineageAssetExporter
from airflow_assets.exporters.openlineage import delivery
from airflow_assets.exporters.openlineage.runs import Runs
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef, AssetUpdate, Rename
from airflow_assets.schemas.lineage import Bundle, TaskError, TaskState
from airflow_assets.schemas.purge import Purge
from airflow_assets.schemas.shipping import LineageRead, ShipperQuery
from tests.support.catalog_rows import CALLER
from tests.support.openlineage_receiver import Receiver
from tests.support.shipping import FILE, ORDERS, TABLE, record, shipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.catalog.service import CatalogService

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver.running() as running:
        yield running
    assert running.wrong == []


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Short pauses between attempts; files below the test's own folder."""
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.02)
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__STORAGE_PATH", f"file://{tmp_path}/store")
    monkeypatch.chdir(tmp_path)  # openlineage-python looks for a file openlineage.yml there


def exporter(receiver: Receiver, **more: Any) -> OpenLineageAssetExporter:
    return OpenLineageAssetExporter("ol", uri=receiver.url, **more)


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["eventType"] for event in events]


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


RICH = AssetInput(
    id="s3://lake/reports/daily.parquet",
    type=FILE,
    description="What was *sold*.",
    metadata={
        "owner": "data-team",
        "tags": {"pii": False, "tier": "gold"},
        "columns": [{"name": "day", "type": "date", "description": "UTC"}, {"name": "total"}, "plain"],
        "columnLineage": {
            "fields": {
                "total": {
                    "inputFields": [
                        {"namespace": "postgres://db:5432", "name": "shop.public.orders", "field": "amount"}
                    ]
                }
            }
        },
    },
)
GOLDEN_CASES: dict[str, dict[str, Any]] = {
    "success": {"outputs": [RICH]},
    "failure": {
        "state": TaskState.FAILED,
        "warnings": ["The declared assets could not be rendered."],
        "error": TaskError(
            type="psycopg2.OperationalError", message="no answer from postgres://etl:hunter2@db:5432/shop"
        ),
    },
    "skip": {"state": TaskState.SKIPPED},
    "retry": {"state": TaskState.UP_FOR_RETRY},
    "mapped": {"map_index": 3, "outputs": [AssetInput(id="report", type=FILE)]},
    "deferred": {
        "bundles": [
            Bundle(inputs=[ORDERS], outputs=[AssetInput(id="a", type=FILE)]),
            Bundle(outputs=[AssetInput(id="file:///data/b.csv", type=FILE)]),
        ]
    },
}


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_golden(
    case: str, catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sent of one try, whole. A deferred try is recorded when it is resumed; here with two bundles."""
    monkeypatch.setattr(Runs, "engine", "3.3.2")
    record(catalog, **GOLDEN_CASES[case])
    outcome = shipped(catalog, exporter(receiver))
    sent = sorted(receiver.events, key=lambda event: event["eventTime"])
    assert outcome.outputs["ol"]["sent"] == len(sent)
    text = json.dumps(sent, indent=1, sort_keys=True) + "\n"
    file = GOLDEN / f"{case}.json"
    if os.environ.get("GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"GOLDEN=write pytest writes {file.name} anew"


def test_each_try_is_a_run_of_its_own_that_starts_before_it_ends(
    catalog: CatalogService, receiver: Receiver
) -> None:
    receiver.behave = lambda event, _: "slow" if event["eventType"] == "START" else 201
    record(catalog, state=TaskState.UP_FOR_RETRY)
    record(catalog, try_number=2)
    record(catalog, map_index=0)
    record(catalog, run_id="r2")
    shipped(catalog, exporter(receiver))
    runs: dict[str, list[str]] = {}
    for event in receiver.events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert sorted(runs.values()) == [["START", "COMPLETE"]] * 3 + [["START", "FAIL"]]
    parents = {event["run"]["facets"]["parent"]["run"]["runId"] for event in receiver.events}
    assert len(parents) == 2


def test_a_second_run_ships_only_what_is_new(catalog: CatalogService, receiver: Receiver) -> None:
    record(catalog)
    assert shipped(catalog, exporter(receiver)).size == 1
    assert shipped(catalog, exporter(receiver)).to_json() == {
        "size": 0,
        "endFetchedDate": None,
        "outputs": {"ol": {"size": 0, "changes": 0, "sent": 0, "deadLetters": 0}},
    }
    record(catalog, run_id="r2")
    assert shipped(catalog, exporter(receiver)).size == 1
    assert len(receiver.events) == 4


@pytest.mark.parametrize("first", [500, 503, 429, 408, "close", "hang"])
def test_what_passes_is_tried_again_and_delivered_once(
    first: int | str, catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = 1 if first == "hang" else 60
    extra = {"transport": {"type": "http", "url": receiver.url, "timeout": patience}}
    monkeypatch.setenv("AIRFLOW_CONN_OL", Connection(conn_type="generic", extra=extra).as_json())
    receiver.behave = lambda _event, times: first if times <= 2 else 201
    for number in range(5):
        record(catalog, run_id=f"r{number}")
    shipped(catalog, OpenLineageAssetExporter("ol", conn_id="ol"))
    assert receiver.requests >= 30
    if first != "hang":  # on a busy machine an answer may come too late, after the event was taken
        assert len(receiver.events) == 10
    assert len({json.dumps(event, sort_keys=True) for event in receiver.events}) == 10


def test_a_server_that_stays_down_fails_the_exporter_and_loses_nothing(
    catalog: CatalogService, receiver: Receiver
) -> None:
    record(catalog)
    receiver.behave = lambda *_: 500
    with pytest.raises(ExportFailed, match=r"answered 500 .* after 6 attempts"):
        shipped(catalog, exporter(receiver))
    receiver.behave = lambda *_: 201
    shipped(catalog, exporter(receiver))
    assert kinds(receiver.events) == ["START", "COMPLETE"]


def test_a_refused_event_goes_into_a_dead_letter_file_and_holds_nothing_back(
    catalog: CatalogService, receiver: Receiver
) -> None:
    receiver.behave = lambda event, _: 422 if event["eventType"] == "FAIL" else 201
    record(catalog, state=TaskState.FAILED)
    record(catalog, run_id="r2")
    result = shipped(catalog, exporter(receiver)).outputs["ol"]
    assert (result["sent"], result["deadLetters"]) == (3, 1)
    (uri,) = result["deadLetterUris"]
    (letter,) = [json.loads(line) for line in Path(uri.removeprefix("file://")).read_text().splitlines()]
    assert letter["event"]["eventType"] == "FAIL"
    assert "422" in letter["reason"]
    assert '{"why": "because"}' in letter["reason"]
    assert shipped(catalog, exporter(receiver)).size == 0


@pytest.mark.parametrize("status", [401, 403, 404, 407])
def test_a_refused_sender_fails_and_loses_nothing(
    status: int, catalog: CatalogService, receiver: Receiver
) -> None:
    record(catalog)
    receiver.behave = lambda *_: status
    with pytest.raises(ExportFailed, match=rf"answered {status}.*Correct the address or the credentials"):
        shipped(catalog, exporter(receiver))
    assert receiver.requests == 1
    receiver.behave = lambda *_: 201
    assert shipped(catalog, exporter(receiver)).size == 1


def test_a_missing_mapped_key_is_named_and_everything_else_is_sent(
    catalog: CatalogService, receiver: Receiver
) -> None:
    outputs = [
        AssetInput(
            id="good", type=TABLE, metadata={"wh": "postgres://dwh:5432", "fq": "a.b.c", "who": ["x"]}
        ),
        AssetInput(id="bad", type=TABLE, metadata={"wh": "postgres://dwh:5432"}),
        AssetInput(id="odd", type=TABLE, metadata={"wh": 7, "fq": "a.b.d", "who": "x"}),
        AssetInput(id="report", type=FILE),
    ]
    record(catalog, bundles=[Bundle(outputs=outputs)])
    mappings = {TABLE: {"namespace": "wh", "name": "fq", "ownership": "who"}}
    with pytest.raises(ExportFailed) as failed:
        shipped(catalog, exporter(receiver, mappings=mappings))
    assert f"The asset 'bad' of the mapped type {TABLE!r} has no metadata key 'fq', 'who'." in str(
        failed.value
    )
    assert "'odd'" in str(failed.value)
    sent = receiver.events[-1]["outputs"]
    assert names(sent) == [("postgres://dwh:5432", "a.b.c"), ("airflow_assets", "report")]
    assert sent[0]["facets"]["ownership"]["owners"] == [{"name": "x"}]
    assert shipped(catalog, exporter(receiver, mappings=mappings)).size == 0, "all else is confirmed"


def test_mappings_are_checked_when_they_are_written() -> None:
    with pytest.raises(ValueError, match=r"mappings\['T'\] has the part 'nmae'; known are"):
        OpenLineageAssetExporter("ol", uri="http://h", mappings={"T": {"nmae": "x"}})
    with pytest.raises(ValueError, match="uri is 'kafka://x'"):
        OpenLineageAssetExporter("ol", uri="kafka://x")
    with pytest.raises(ValueError, match="'a b' is no id of an exporter"):
        OpenLineageAssetExporter("a b", uri="http://h")


def test_the_connection_gives_address_and_credentials(
    catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = receiver.url.removeprefix("http://").split(":")
    conn = Connection(
        conn_type="http",
        host=f"{host}:{port}/base",
        password="the key",
        extra={"headers": {"X-Team": "data"}, "compression": "gzip", "endpoint": "lineage", "timeout": 3},
    )
    monkeypatch.setenv("AIRFLOW_CONN_OL", conn.as_json())
    record(catalog)
    shipped(catalog, OpenLineageAssetExporter("ol", conn_id="ol"))
    for headers in receiver.headers:
        assert headers["Authorization"] == "Bearer the key"
        assert headers["X-Team"] == "data"
        assert headers["Content-Encoding"] == "gzip"
        assert headers["path"] == "/base/lineage"
    assert kinds(receiver.events) == ["START", "COMPLETE"]


def test_the_queued_transport_confirms_too(
    catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"transport": {"type": "async_http", "url": receiver.url, "retry": {"total": 1}}}
    monkeypatch.setenv("AIRFLOW_CONN_OL", Connection(conn_type="generic", extra=extra).as_json())
    for number in range(20):
        record(catalog, run_id=f"r{number}")
    shipped(catalog, OpenLineageAssetExporter("ol", conn_id="ol"))
    assert len(receiver.events) == 40
    record(catalog, run_id="refused")
    receiver.behave = lambda event, _: 422 if event["eventType"] == "COMPLETE" else 201
    result = shipped(catalog, OpenLineageAssetExporter("ol", conn_id="ol")).outputs["ol"]
    assert (result["sent"], result["deadLetters"]) == (1, 1)


def test_the_transports_file_and_composite(
    catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    to_file = {"type": "file", "log_file_path": str(tmp_path / "ol.jsonl"), "append": True}
    both = {
        "type": "composite",
        "continue_on_failure": False,
        "transports": [to_file, {"type": "http", "url": receiver.url, "retry": {"total": 0}}],
    }
    monkeypatch.setenv(
        "AIRFLOW_CONN_OL", Connection(conn_type="generic", extra={"transport": both}).as_json()
    )
    record(catalog)
    receiver.behave = lambda _event, times: 500 if times == 1 else 201
    shipped(catalog, OpenLineageAssetExporter("ol", conn_id="ol"))
    assert kinds(receiver.events) == ["START", "COMPLETE"]
    written = [json.loads(line)["eventType"] for line in (tmp_path / "ol.jsonl").read_text().splitlines()]
    assert set(written) == {"START", "COMPLETE"}


class StandInProducer:
    """No broker runs here: of Kafka this shows only that we wait until the producer holds nothing any more."""

    made: ClassVar[list[StandInProducer]] = []
    slow_flushes: ClassVar[int] = 0

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, self.left, self.taken = config, type(self).slow_flushes, []
        self.made.append(self)

    def produce(self, *, topic: str, key: str, value: bytes, on_delivery: Any) -> None:
        self.taken.append((topic, key, json.loads(value)["eventType"]))

    def flush(self, timeout: float = -1) -> int:
        self.left = max(0, self.left - 1)
        return self.left


@pytest.mark.parametrize(("slow_flushes", "well"), [(3, True), (10**9, False)])
def test_kafka_has_confirmed_when_its_producer_holds_nothing(
    slow_flushes: int, well: bool, catalog: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", SimpleNamespace(Producer=StandInProducer))
    monkeypatch.setattr(StandInProducer, "made", [])
    monkeypatch.setattr(StandInProducer, "slow_flushes", slow_flushes)
    monkeypatch.setattr(delivery, "WAIT", 60.0 if well else 0.05)
    config = {"bootstrap.servers": "127.0.0.1:9"}
    transport = {"type": "kafka", "config": config, "topic": "lineage", "flush": False}
    conn = Connection(conn_type="generic", extra={"transport": transport})
    monkeypatch.setenv("AIRFLOW_CONN_OL", conn.as_json())
    record(catalog)
    outcome = shipped(catalog, OpenLineageAssetExporter("ol", conn_id="ol"), fail=False)
    (producer,) = StandInProducer.made
    assert producer.config["bootstrap.servers"] == config["bootstrap.servers"]
    assert producer.taken == [("lineage", "run:default/etl", kind) for kind in ("START", "COMPLETE")]
    if well:
        assert outcome.outputs["ol"]["sent"] == 2
    else:
        assert "Kafka has not confirmed" in str(outcome.errors["ol"])
        assert catalog.list_shippers(CALLER, ShipperQuery()).items[0].confirmed is None


def test_nothing_configured_is_an_error_that_says_what_to_do(
    catalog: CatalogService, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(catalog)
    with pytest.raises(ExportFailed, match="give uri= or conn_id="):
        shipped(catalog, OpenLineageAssetExporter("ol"))
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    with pytest.raises(ExportFailed, match="OPENLINEAGE_DISABLED"):
        shipped(catalog, OpenLineageAssetExporter("ol", uri="http://127.0.0.1:9"))


def test_the_transport_of_the_provider_is_used_when_nothing_is_given(
    catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = json.dumps({"type": "http", "url": receiver.url})
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", transport)
    _forget_provider_settings()
    record(catalog)
    shipped(catalog, OpenLineageAssetExporter("ol"))
    _forget_provider_settings()
    sent = [event["dataset"] for event in receiver.events]  # so configured, the provider is active
    assert names(sent) == [("postgres://db:5432", "shop.public.orders"), ("airflow_assets", "report")]


def _forget_provider_settings() -> None:
    """The provider keeps what it has read for the life of a process."""
    from airflow.providers.openlineage import conf

    for value in vars(conf).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def test_where_the_provider_is_active_only_datasets_are_added_to_its_runs(
    catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a real run of Airflow: see tests/airflow/test_shipping.py."""
    monkeypatch.setattr(Runs, "active", True)
    record(catalog, outputs=[RICH])
    shipped(catalog, exporter(receiver))
    assert {event.get("eventType") for event in receiver.events} == {None}, "Airflow has forgotten the run"
    datasets = [event["dataset"] for event in receiver.events]
    assert names(datasets) == [
        ("postgres://db:5432", "shop.public.orders"),
        ("s3://lake", "reports/daily.parquet"),
    ]
    assert datasets[1]["facets"]["ownership"]["owners"] == [{"name": "data-team"}]


def test_killed_in_the_middle_and_run_again_nothing_is_lost_and_runs_are_the_same(
    catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_assets.exporters.reading.PAGE", 10)
    for number in range(40):
        record(catalog, run_id=f"r{number}")

    class Killed(BaseException):
        pass

    def die(event: dict[str, Any], _: int) -> int:
        if len(receiver.events) >= 50:
            raise_in_main.set()
        return 201

    raise_in_main = threading.Event()
    receiver.behave = die
    ours = exporter(receiver)
    send = ours.export

    def export(batch: Any) -> None:
        send(batch)
        if raise_in_main.is_set():
            raise Killed

    monkeypatch.setattr(ours, "export", export)
    with pytest.raises(Killed):
        shipped(catalog, ours)
    receiver.behave = lambda *_: 201
    before = len(receiver.events)
    assert 50 <= before < 80
    shipped(catalog, exporter(receiver))
    unique = {json.dumps(event, sort_keys=True) for event in receiver.events}
    assert len(unique) == 80
    assert len(receiver.events) - 80 <= 20, "at most the batch that was not confirmed comes twice"


def test_threads_and_connections_are_few_and_end(catalog: CatalogService, receiver: Receiver) -> None:
    before = threading.active_count()
    for number in range(100):
        record(catalog, run_id=f"r{number}")
    shipped(catalog, exporter(receiver))
    assert len(receiver.events) == 200
    assert receiver.connections <= delivery.THREADS + 1
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("openlineage")]
    assert ours == []
    assert threading.active_count() <= before + delivery.THREADS  # the receiver's, one a connection


def test_one_failing_exporter_holds_back_no_other(
    catalog: CatalogService, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    with Receiver.running() as broken:
        broken.behave = lambda *_: 403
        record(catalog)
        both = [OpenLineageAssetExporter("broken", uri=broken.url), exporter(receiver)]
        with caplog.at_level(logging.ERROR), pytest.raises(ExportFailed, match="Exporter 'broken' failed"):
            shipped(catalog, *both)
        assert kinds(receiver.events) == ["START", "COMPLETE"]
        broken.behave = lambda *_: 201
        both = [OpenLineageAssetExporter("broken", uri=broken.url), exporter(receiver)]
        outcome = shipped(catalog, *both)
        assert [outcome.outputs[name]["size"] for name in ("broken", "ol")] == [1, 0]
        assert (len(broken.events), len(receiver.events)) == (2, 2)


def test_deletion_waits_for_every_exporter(catalog: CatalogService, receiver: Receiver) -> None:
    with Receiver.running() as broken:
        broken.behave = lambda *_: 403
        record(catalog)

        def both() -> list[OpenLineageAssetExporter]:
            return [OpenLineageAssetExporter("broken", uri=broken.url), exporter(receiver)]

        assert shipped(catalog, *both(), delete=True, fail=False).deleted == 0
        broken.behave = lambda *_: 201
        assert shipped(catalog, *both(), delete=True).deleted == 1
        assert catalog.read_lineage(CALLER, LineageRead(after=0)).items == []


def test_a_deleted_asset_is_a_dropped_dataset(catalog: CatalogService, receiver: Receiver) -> None:
    record(catalog, outputs=[AssetInput(id="gs://b/x", type=FILE)])
    catalog.delete_asset(CALLER, "gs://b/x")
    record(catalog, run_id="r2", bundles=[Bundle(inputs=[AssetRef(id="plain")])])
    shipped(catalog, exporter(receiver))
    (output,) = [output for event in receiver.events for output in event.get("outputs", [])]
    assert names([output]) == [("gs://b", "x")]
    assert output["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"


def lives(receiver: Receiver) -> list[tuple[str, str, str | None]]:
    """The events of datasets: namespace and name, and what happened to it."""
    datasets = [event["dataset"] for event in receiver.events if "dataset" in event]
    life = [one["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") for one in datasets]
    return [(one["namespace"], one["name"], kind) for one, kind in zip(datasets, life, strict=True)]


@pytest.mark.parametrize("active", [False, True])
def test_what_no_task_did_is_sent_as_events_of_datasets(
    active: bool, catalog: CatalogService, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes by people, deletions and purges; also beside the provider, which cannot know of them."""
    monkeypatch.setattr("airflow_assets.exporters.reading.PAGE", 3)
    monkeypatch.setattr(Runs, "active", active)
    record(catalog, outputs=[AssetInput(id="report", type=FILE)])
    by_task = Caller(source=Source(kind=SourceKind.TASK, dag_id="tidy"))
    catalog.create_asset(CALLER, AssetInput(id="plain", type=TABLE, metadata={"owner": "data-team"}))
    catalog.upsert_asset(by_task, AssetInput(id="of a task", type=TABLE))
    catalog.update_asset(CALLER, "plain", AssetUpdate(description="What was *sold*."))
    catalog.rename_asset(CALLER, Rename(old_id="plain", new_id="named"))
    catalog.create_asset(CALLER, AssetInput(id="s3-like", type=FILE, uri="s3://lake/x.parquet"))
    record(catalog, run_id="r2", bundles=[Bundle(inputs=[ORDERS])])
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    purge = Purge(asset_id="s3-like", end_date=tomorrow, purge_asset_usages=False, purge_asset_lineages=False)
    assert catalog.purge(by_task, purge).purged_assets_count == 1
    catalog.delete_asset(CALLER, "named")

    outcome = shipped(catalog, exporter(receiver))
    assert (outcome.size, outcome.outputs["ol"]["changes"]) == (2, 6)
    of_assets = [one for one in lives(receiver) if one[1] in {"plain", "named"}]
    assert of_assets == [
        ("airflow_assets", "plain", "CREATE"),
        ("airflow_assets", "plain", None),
        ("airflow_assets", "named", "RENAME"),
        ("airflow_assets", "named", "DROP"),
    ]
    assert [one for one in lives(receiver) if one[0] == "s3://lake"] == [
        ("s3://lake", "x.parquet", "CREATE"),
        ("s3://lake", "x.parquet", "DROP"),
    ]
    renamed = next(
        event["dataset"] for event in receiver.events if event.get("dataset", {}).get("name") == "named"
    )
    assert renamed["facets"]["lifecycleStateChange"]["previousIdentifier"] == {
        "namespace": "airflow_assets",
        "name": "plain",
    }
    assert renamed["facets"]["ownership"]["owners"] == [{"name": "data-team"}]
    assert "of a task" not in {name for _, name, _ in lives(receiver)}, (
        "it has a run, and lineage if declared"
    )
    again = shipped(catalog, exporter(receiver)).outputs["ol"]
    assert (again["size"], again["changes"], again["sent"]) == (0, 0, 0)


def test_changes_follow_the_filter_and_have_no_dag(catalog: CatalogService, receiver: Receiver) -> None:
    catalog.create_asset(CALLER, AssetInput(id="a", type=TABLE, namespace="sales"))
    catalog.create_asset(CALLER, AssetInput(id="b", type=FILE))
    shipped(catalog, exporter(receiver), key="one", asset_types=[TABLE], asset_namespace="sales")
    assert [name for _, name, _ in lives(receiver)] == ["a"]
    shipped(catalog, exporter(receiver), key="two", dag_id="etl")
    assert len(lives(receiver)) == 1


def test_how_a_run_ended_is_in_the_catalogue(catalog: CatalogService, receiver: Receiver) -> None:
    record(catalog)
    with Receiver.running() as broken:
        broken.behave = lambda *_: 403
        shipped(catalog, OpenLineageAssetExporter("broken", uri=broken.url), exporter(receiver), fail=False)
    failed, well = catalog.list_shippers(CALLER, ShipperQuery()).items
    assert (failed.key, failed.exporter, failed.confirmed) == ("etl.ship", "broken", None)
    assert failed.result is not None
    assert "answered 403" in (failed.result.error or "")
    assert failed.waiting_since is not None
    assert failed.backlog > 0
    assert well.result is not None
    assert (well.exporter, well.result.size, well.result.error) == ("ol", 1, None)
    assert (well.backlog, well.waiting_since) == (0, None)
    assert well.confirmed is not None
