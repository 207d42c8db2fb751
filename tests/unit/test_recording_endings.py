"""Every way a body can end, and what is recorded of it."""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.python import ExternalPythonOperator, PythonOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import DAG, Asset, AssetAlias, BaseOperator
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSkipException,
    AirflowTaskTimeout,
    DagRunTriggerException,
    DownstreamTasksSkipped,
    TaskDeferred,
)
from airflow.sdk.log import mask_secret

from airflow_assets import configure, emit, listener
from airflow_assets.exceptions import AssetCatalogError, AssetLocked, CatalogUnavailable, InvalidRequest
from airflow_assets.listener import on_task_instance_running
from airflow_assets.recording import wrapper
from airflow_assets.schemas.lineage import Problem, TaskState
from airflow_assets.types import Dataset, Table
from tests.support.recording import FakeTaskInstance, ListeningCatalog, run_task

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Dataset("raw", namespace="n", format="csv")
TARGET = Table("orders", namespace="n", metadata={"rows": "{{ result }}", "day": "{{ ds }}", "owner": "data"})


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> ListeningCatalog:
    listening = ListeningCatalog()
    monkeypatch.setattr("airflow_assets.client.get_client", lambda: listening)
    return listening


def task(body: Callable[..., Any], **arguments: Any) -> PythonOperator:
    arguments = {"inlets": [SOURCE], "outlets": [TARGET], **arguments}
    with DAG("d", schedule=None):
        return PythonOperator(task_id="t", python_callable=body, **arguments)


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def test_a_return_is_recorded_with_its_result_in_scope(catalog: ListeningCatalog) -> None:
    ti, result = run_task(task(lambda: 42), try_number=2)
    assert result == 42
    record = catalog.record
    assert record.state is TaskState.SUCCESS
    assert (record.task.dag_id, record.task.run_id, record.task.task_id) == ("d", "manual__1", "t")
    assert (record.task.map_index, record.task.try_number, record.task.ti_id) == (-1, 2, str(ti.id))
    assert record.start_date is not None
    assert record.end_date is not None
    assert record.start_date <= record.end_date
    (source,), (target,) = catalog.bundle.inputs, catalog.bundle.outputs
    assert (source.id, source.type, source.namespace) == ("raw", "airflow_assets.types.Dataset", "n")
    assert (target.id, target.type, target.namespace) == ("orders", "airflow_assets.types.Table", "n")
    assert target.metadata == {"rows": 42, "day": "2026-11-30", "owner": "data"}


@pytest.mark.parametrize(
    ("error", "max_tries", "state"),
    [
        (ValueError("no"), 0, TaskState.FAILED),
        (ValueError("no"), 1, TaskState.UP_FOR_RETRY),
        (AirflowFailException("no"), 1, TaskState.FAILED),
        (AirflowTaskTimeout("late"), 1, TaskState.UP_FOR_RETRY),
        (SystemExit(1), 0, TaskState.FAILED),
        (AirflowSkipException("not today"), 1, TaskState.SKIPPED),
    ],
)
def test_a_bad_end_leaves_lineage(
    catalog: ListeningCatalog, error: BaseException, max_tries: int, state: TaskState
) -> None:
    with pytest.raises(type(error)) as caught:
        run_task(task(raising(error)), max_tries=max_tries)
    assert caught.value is error
    assert catalog.record.state is state
    assert [asset.id for asset in catalog.bundle.outputs] == ["orders"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise KeyError("its text")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("no day \0 like that"), "ValueError", "no day \ufffd like that"),
        (AirflowFailException("no"), "airflow.sdk.exceptions.AirflowFailException", "no"),
        (OSError("postgres://etl:hunter2@db/x gave up"), "OSError", "postgres://etl:***@db/x gave up"),
        (RuntimeError("the value is s3cr3t-of-airflow"), "RuntimeError", "the value is ***"),
        (RuntimeError("x" * 50_000), "RuntimeError", "x" * 1_999 + "…"),
        (Unspeakable(), f"{__name__}.Unspeakable", "(its text cannot be told: KeyError)"),
    ],
)
def test_the_exception_is_recorded_without_secrets(
    catalog: ListeningCatalog, error: Exception, kind: str, message: str
) -> None:
    mask_secret("s3cr3t-of-airflow")
    with pytest.raises(type(error)):
        run_task(task(raising(error)))
    assert catalog.record.error is not None
    assert (catalog.record.error.type, catalog.record.error.message) == (kind, message)


def test_a_skip_is_no_error(catalog: ListeningCatalog) -> None:
    with pytest.raises(AirflowSkipException):
        run_task(task(raising(AirflowSkipException("not today"))))
    assert catalog.record.error is None


@pytest.mark.parametrize(
    "error", [CatalogUnavailable("gone"), RuntimeError("bug"), AirflowTaskTimeout("late")]
)
def test_a_bad_end_stays_the_bodys_own(catalog: ListeningCatalog, error: BaseException) -> None:
    catalog.error = error
    own = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught:
        run_task(configure(task(raising(own)), asset_failure_behavior="FAIL"))
    assert caught.value is own


def test_what_needs_a_result_is_left_out_where_there_is_none(catalog: ListeningCatalog) -> None:
    made = task(
        raising(ValueError("no")), outlets=[Table("part_{{ result }}"), Table("day_{{ ds }}"), TARGET]
    )
    with pytest.raises(ValueError, match="no"):
        run_task(made)
    assert [asset.id for asset in catalog.bundle.outputs] == ["day_2026-11-30", "orders"]
    assert "outlets[0].id" in catalog.record.warnings[0]


def test_a_malformed_declaration_does_not_fail_a_failed_task_again(catalog: ListeningCatalog) -> None:
    failing = configure(task(raising(ValueError("mine"))), outputs=[{"id": ""}])
    with pytest.raises(ValueError, match="mine"):
        run_task(failing)
    assert [asset.id for asset in catalog.bundle.outputs] == ["orders"]


@pytest.mark.parametrize(
    "error",
    [
        TaskDeferred(trigger=TimeDeltaTrigger(timedelta(seconds=1)), method_name="x"),
        AirflowRescheduleException(None),
    ],
)
def test_a_pause_records_nothing(catalog: ListeningCatalog, error: BaseException) -> None:
    with pytest.raises(type(error)):
        run_task(task(raising(error)))
    assert catalog.records == []


def test_branches_end_well(catalog: ListeningCatalog) -> None:
    with pytest.raises(DownstreamTasksSkipped):
        run_task(task(raising(DownstreamTasksSkipped(tasks=["x"])), outlets=[Table("b")]))
    assert catalog.record.state is TaskState.SUCCESS


@pytest.mark.parametrize(
    ("waits", "deferrable", "recorded"),
    [(False, False, 1), (True, False, 1), (True, True, 0)],
)
def test_a_triggered_run(catalog: ListeningCatalog, waits: bool, deferrable: bool, recorded: int) -> None:
    with DAG("d", schedule=None):
        trigger = TriggerDagRunOperator(
            task_id="t",
            trigger_dag_id="other",
            trigger_run_id="r",
            wait_for_completion=waits,
            deferrable=deferrable,
            fail_when_dag_is_paused=False,
            outlets=[Table("b")],
        )
    with pytest.raises(DagRunTriggerException):
        run_task(trigger)
    assert len(catalog.records) == recorded


class Deferring(BaseOperator):
    def execute(self, context: Any) -> None:
        emit(outputs=["before"])
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds=1)), method_name="go_on", kwargs={"n": 1})

    def go_on(self, context: Any, n: int, event: Any = None) -> int:
        emit(outputs=["after"])
        return n


def test_a_deferred_task_is_recorded_once_with_what_it_emitted_before(catalog: ListeningCatalog) -> None:
    with DAG("d", schedule=None):
        deferring = Deferring(task_id="t", outlets=[TARGET])
    with pytest.raises(TaskDeferred) as deferred:
        run_task(deferring)
    assert catalog.records == []
    assert deferred.value.kwargs is not None
    assert wrapper.CARRIED in deferred.value.kwargs
    _, result = run_task(deferring, resume={"next_method": "go_on", "next_kwargs": deferred.value.kwargs})
    assert result == 1
    outputs = [asset.id for bundle in catalog.record.bundles for asset in bundle.outputs]
    assert outputs == ["orders", "before", "after"]


class Restarting(Deferring):
    def go_on(self, context: Any, n: int, event: Any = None) -> int:
        return 7

    def execute(self, context: Any) -> Any:
        return 7


def test_a_resumed_body_that_calls_execute_is_recorded_once(catalog: ListeningCatalog) -> None:
    with DAG("d", schedule=None):
        restarting = Restarting(task_id="t", outlets=[TARGET])
    run_task(restarting, resume={"next_method": "execute", "next_kwargs": {}})
    assert catalog.bundle.outputs[0].metadata == {"rows": 7, "day": "2026-11-30", "owner": "data"}


def test_a_forked_child_records_nothing(catalog: ListeningCatalog) -> None:
    def body() -> int:
        pid = os.fork()
        if pid == 0:
            raise SystemExit(0)
        return os.waitpid(pid, 0)[1]

    parent = os.getpid()
    try:
        run_task(task(body))
    except SystemExit:
        assert os.getpid() != parent
        os._exit(0 if not catalog.records else 9)
    assert catalog.bundle.outputs[0].metadata is not None
    assert catalog.bundle.outputs[0].metadata["rows"] == 0


def test_emitted_bundles_stay_apart(catalog: ListeningCatalog) -> None:
    def body() -> None:
        emit(inputs=["a"], outputs=Table("b", rows=1))
        emit(inputs=[Asset("c"), {"id": "d", "type": "X"}], outputs=["e", {"id": "f", "owner": "me"}])

    run_task(task(body, inlets=[], outlets=[]))
    first, second = catalog.record.bundles
    assert ([a.id for a in first.inputs], [a.id for a in first.outputs]) == (["a"], ["b"])
    assert ([a.id for a in second.inputs], [a.id for a in second.outputs]) == (["c", "d"], ["e", "f"])
    assert first.outputs[0].metadata == {"rows": 1}
    assert second.inputs[1].type == "X"
    assert second.outputs[1].metadata == {"owner": "me"}


def test_nothing_emitted_is_a_template(catalog: ListeningCatalog) -> None:
    run_task(task(lambda: emit(outputs=[Table("b", note="{{ conn.x.password }}")]), inlets=[], outlets=[]))
    assert catalog.bundle.outputs[0].metadata == {"note": "{{ conn.x.password }}"}


def test_emit_names_what_is_wrong_and_where(catalog: ListeningCatalog) -> None:
    def body() -> None:
        with pytest.raises(AssetCatalogError, match=r"outputs\[1\]\.id"):
            emit(outputs=["a", {"id": ""}])
        with pytest.raises(AssetCatalogError, match=r"inputs\[0\] is a int"):
            emit(inputs=[3])

    run_task(task(body, inlets=[], outlets=[]))
    assert catalog.records == []


def test_emit_outside_a_task() -> None:
    with pytest.raises(InvalidRequest, match="no task is running"):
        emit(outputs=["a"])


def test_threads_of_a_body_may_emit(catalog: ListeningCatalog) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def body() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: emit(outputs=[f"t{n}"]), range(20)))

    run_task(task(body, inlets=[], outlets=[]))
    assert len(catalog.record.bundles) == 20


def test_alias_outlets_record_what_was_added(catalog: ListeningCatalog) -> None:
    alias = AssetAlias("al")

    def body(outlet_events: Any) -> None:
        outlet_events[alias].add(Asset("plain", "s3://b/plain", extra={"a": 1}), extra={"b": 2})
        outlet_events[alias].add(Table("ours", namespace="n", metadata={"c": 3}))

    run_task(task(body, inlets=[], outlets=[alias]))
    plain, ours = catalog.bundle.outputs
    assert (plain.id, plain.uri, plain.metadata) == ("plain", "s3://b/plain", {"a": 1, "b": 2})
    assert plain.type == "airflow_assets.types.External"
    assert (ours.id, ours.namespace, ours.metadata) == ("ours", "n", {"c": 3})


def test_the_extra_of_an_event_is_metadata(catalog: ListeningCatalog) -> None:
    native = Asset("native", extra={"owner": "data", "sql": "{{ not rendered }}"})

    def body(outlet_events: Any) -> int:
        outlet_events[native].extra = {"rows": 3}
        outlet_events[TARGET].extra = {"rows": 4, "quality": "ok"}
        return 5

    run_task(task(body, outlets=[native, TARGET]))
    first, second = catalog.bundle.outputs
    assert first.metadata == {"owner": "data", "sql": "{{ not rendered }}", "rows": 3}
    assert second.metadata == {"rows": 4, "quality": "ok", "day": "2026-11-30", "owner": "data"}


def test_name_references_are_ids(catalog: ListeningCatalog) -> None:
    run_task(task(lambda: 1, inlets=[Asset.ref(name="raw")], outlets=[Asset.ref(name="orders")]))
    assert [a.id for a in catalog.bundle.inputs] == ["raw"]
    assert [a.id for a in catalog.bundle.outputs] == ["orders"]


def test_other_lineage_objects_are_passed_over(catalog: ListeningCatalog) -> None:
    run_task(task(lambda: 1, inlets=["text", {"some": "entity"}], outlets=[object()]))
    assert catalog.records == []


def test_one_asset_named_twice_is_one_output(catalog: ListeningCatalog) -> None:
    configured = configure(task(lambda: 1), outputs=[{"id": "orders", "owner": "other", "more": 1}])
    run_task(configured)
    assert catalog.bundle.outputs[0].type == "airflow_assets.types.Table"
    assert catalog.bundle.outputs[0].metadata == {
        "rows": 1,
        "day": "2026-11-30",
        "owner": "other",
        "more": 1,
    }


@pytest.mark.parametrize(
    ("outputs", "result", "ids"),
    [
        ("{{ result }}", [{"id": "a", "type": "X"}, "b"], ["a", "b"]),
        ("{{ result }}", "c", ["c"]),
        ("{{ result | tojson }}", ["d"], ["d"]),
        ('[{"id": "{{ result }}"}]', "e", ["e"]),
        (["{{ params.table }}_{{ ds }}"], None, ["orders_2026-11-30"]),
        ([Table("{{ params.table }}", namespace="{{ result }}")], "n", ["orders"]),
        ("plain", None, ["plain"]),
        ("{{ result }}", None, []),
    ],
)
def test_configured_outputs_are_templates(
    catalog: ListeningCatalog, outputs: Any, result: Any, ids: list[str]
) -> None:
    run_task(configure(task(lambda: result, inlets=[], outlets=[]), outputs=outputs))
    found = [asset.id for record in catalog.records for bundle in record.bundles for asset in bundle.outputs]
    assert found == ids


def test_what_came_out_of_a_template_is_no_template(catalog: ListeningCatalog) -> None:
    run_task(
        configure(task(lambda: [{"id": "a", "x": "{{ ds }}"}], inlets=[], outlets=[]), outputs="{{ result }}")
    )
    assert catalog.bundle.outputs[0].metadata == {"x": "{{ ds }}"}


@pytest.mark.parametrize("how", ["FAIL", "WARN", "IGNORE"])
@pytest.mark.parametrize(
    ("declaration", "path"),
    [
        ({"outlets": [TARGET, Table("{{ params.blank }}")]}, r"outlets\[1\]\.id"),
        ({"outlets": [Table("x", namespace="{{ result }}")]}, r"outlets\[0\]\.namespace"),
        ({"inlets": [Table("{{ params.blank }}")]}, r"inlets\[0\]\.id"),
    ],
)
def test_a_malformed_declaration_fails_whatever_the_behaviour(
    catalog: ListeningCatalog, how: str, declaration: dict[str, Any], path: str
) -> None:
    made = configure(task(lambda: "No Namespace", **declaration), asset_failure_behavior=how)
    with pytest.raises(AirflowFailException, match=path):
        run_task(made, max_tries=3)
    assert catalog.records == []


def test_an_output_that_cannot_be_rendered_costs_itself_alone(catalog: ListeningCatalog) -> None:
    run_task(task(lambda: 1, outlets=[Table("bad", x="{{ result.nothing.at_all }}"), TARGET]))
    assert [a.id for a in catalog.bundle.inputs] == ["raw"]
    assert [a.id for a in catalog.bundle.outputs] == ["orders"]
    (warning,) = catalog.record.warnings
    assert "outlets[0].metadata.x" in warning
    assert "result.nothing" in warning
    assert catalog.record.note is True


LOCKED = AssetLocked("'orders' is locked by run r2 until 12:00.", hint="Wait for it, or release it.")


@pytest.fixture
def locked(catalog: ListeningCatalog) -> ListeningCatalog:
    catalog.problems = [Problem(asset_id="orders", problem=LOCKED.to_problem())]
    return catalog


def test_warn_is_the_default_and_says_asset_rule_and_way_out(
    locked: ListeningCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    _, result = run_task(task(lambda: 42))
    assert result == 42
    for part in ("'orders'", "locked by run r2", "Wait for it", "asset_failure_behavior=WARN"):
        assert part in caplog.text
    assert locked.record.note is True
    assert locked.corrections == []


def test_ignore_says_so_in_the_log(locked: ListeningCatalog, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    _, result = run_task(configure(task(lambda: 42), asset_failure_behavior="IGNORE"))
    assert result == 42
    assert "asset_failure_behavior=IGNORE" in caplog.text
    assert locked.record.note is False


@pytest.mark.parametrize(("max_tries", "state"), [(0, TaskState.FAILED), (1, TaskState.UP_FOR_RETRY)])
def test_fail_fails_corrects_the_lineage_and_keeps_the_result(
    locked: ListeningCatalog, max_tries: int, state: TaskState
) -> None:
    failing = configure(task(lambda: 42), asset_failure_behavior="FAIL")
    with pytest.raises(AirflowException, match="asset_failure_behavior=FAIL") as caught:
        run_task(failing, max_tries=max_tries)
    assert "locked by run r2" in str(caught.value)
    assert not isinstance(caught.value, AirflowFailException)
    (correction,) = locked.corrections
    assert correction.state is state
    assert correction.task == locked.record.task


def test_a_failed_record_loses_no_result(catalog: ListeningCatalog) -> None:
    catalog.error = CatalogUnavailable("The API server does not answer.")
    made = configure(task(lambda: {"a": 1, "b": 2}, multiple_outputs=True), asset_failure_behavior="FAIL")
    instances: list[FakeTaskInstance] = []
    with pytest.raises(AirflowException, match="does not answer"):
        run_task(made, instances=instances)
    assert instances[0].xcoms == {"a": 1, "b": 2, "return_value": {"a": 1, "b": 2}}
    assert catalog.corrections == []


@pytest.mark.parametrize(
    "error", [CatalogUnavailable("gone"), RuntimeError("bug"), AirflowTaskTimeout("late")]
)
@pytest.mark.parametrize("how", ["WARN", "IGNORE"])
def test_an_unreachable_or_broken_catalogue_leaves_the_task_successful(
    catalog: ListeningCatalog, error: BaseException, how: str
) -> None:
    catalog.error = error
    _, result = run_task(configure(task(lambda: 42), asset_failure_behavior=how))
    assert result == 42


def test_a_behaviour_that_cannot_be_read_counts_as_warn(
    locked: ListeningCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    _, result = run_task(configure(task(lambda: 42), asset_failure_behavior="{{ params.nothing }}"))
    assert result == 42
    assert "counts as WARN" in caplog.text
    with pytest.raises(AirflowException):
        run_task(configure(task(lambda: 42), asset_failure_behavior="{{ 'fail' }}"))


def test_a_task_without_declarations_costs_next_to_nothing(
    catalog: ListeningCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under 1 ms, and no call: the recorder alone is timed, around a body that does nothing."""
    plain = task(lambda: None, inlets=[], outlets=[])
    run_task(plain)

    def spent() -> float:
        ti = FakeTaskInstance(plain)
        ti.context = {"ti": ti}
        ti.task.execute = lambda context: None
        before = time.perf_counter()
        on_task_instance_running(previous_state=None, task_instance=ti)
        ti.task.execute(context=ti.context)
        return time.perf_counter() - before

    times = sorted(spent() for _ in range(200))
    assert times[len(times) // 2] < 0.001, f"median {times[len(times) // 2] * 1000:.3f} ms"
    assert catalog.records == []


def test_the_hook_in_the_api_server_does_nothing() -> None:
    class Row:
        """Airflow's ORM row, which has no operator."""

    on_task_instance_running(previous_state=None, task_instance=Row())


def test_whatever_is_broken_in_us_the_body_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "attach", lambda ti: 1 / 0)
    _, result = run_task(task(lambda: 42))
    assert result == 42
    assert "will not be recorded" in caplog.text


@pytest.mark.parametrize("module", ["recorder", "airflow_runtime", "declarations"])
def test_a_broken_module_of_ours_costs_the_record_alone(
    catalog: ListeningCatalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, module: str
) -> None:
    for name in ("recorder", "airflow_runtime", "declarations"):
        monkeypatch.delitem(sys.modules, f"airflow_assets.recording.{name}", raising=False)
    monkeypatch.setitem(sys.modules, f"airflow_assets.recording.{module}", None)
    _, result = run_task(task(lambda: 42))
    assert result == 42
    own = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught:
        run_task(task(raising(own)))
    assert caught.value is own
    assert catalog.records == []
    assert "will not be recorded" in caplog.text


def test_an_option_that_is_none_of_the_behaviours_counts_as_warn(
    locked: ListeningCatalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__ASSET_FAILURE_BEHAVIOR", "EXPLODE")
    _, result = run_task(task(lambda: 42))
    assert result == 42
    assert "counts as WARN" in caplog.text


def test_a_problem_is_counted(locked: ListeningCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.observability import stats

    counted: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(stats, "incr", lambda name, tags: counted.append((name, tags)))
    run_task(task(lambda: 42))
    assert counted == [
        ("airflow_assets.record_problems", {"dag_id": "d", "task_id": "t", "behavior": "WARN"})
    ]


def test_disabled_means_untouched(monkeypatch: pytest.MonkeyPatch, catalog: ListeningCatalog) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__ENABLED", "False")
    ti, _ = run_task(task(lambda: 42))
    assert "execute" not in vars(ti.task)
    assert catalog.records == []


def test_bash_and_asset_lines(catalog: ListeningCatalog) -> None:
    lines = (
        r"""echo '::{"assets": {"inputs": ["a"], "outputs": [{"id": "b", "type": "T", "rows": 3}]}}::'""",
        r"""echo '::{"assets": {"id": "old-one"}}::'; echo '::{"assets": [{"id": "o1"}, {"id": "o2"}]}::'""",
        r"""echo '::{"outputs": {"x": 1}}::'; echo 'text ::{"assets": {"id": "no"}}::'""",
    )
    with DAG("d", schedule=None):
        bash = configure(BashOperator(task_id="t", bash_command="; ".join(lines)), enable_auto=True)
    run_task(bash)
    ids = [([i.id for i in b.inputs], [o.id for o in b.outputs]) for b in catalog.record.bundles]
    assert ids == [(["a"], ["b"]), ([], ["old-one"]), ([], ["o1", "o2"])]
    assert catalog.record.bundles[0].outputs[0].metadata == {"rows": 3}


def test_external_python_and_asset_lines(catalog: ListeningCatalog) -> None:
    # An interpreter without Airflow: with it, the script would ask for the task runner's socket.
    python = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")

    def body() -> int:
        print('::{"assets": {"outputs": [{"id": "from-outside", "type": "T"}]}}::')
        return 5

    with DAG("d", schedule=None):
        outside = ExternalPythonOperator(
            task_id="t", python=str(python), python_callable=body, expect_airflow=False, outlets=[TARGET]
        )
    _, result = run_task(configure(outside, enable_auto=True))
    assert result == 5
    assert [[a.id for a in b.outputs] for b in catalog.record.bundles] == [["orders"], ["from-outside"]]


def test_asset_lines_are_not_read_unless_asked_for(catalog: ListeningCatalog) -> None:
    with DAG("d", schedule=None):
        bash = BashOperator(task_id="t", bash_command="""echo '::{"assets": {"id": "x"}}::'""")
    run_task(bash)
    assert catalog.records == []


def test_an_asset_line_that_is_wrong_is_a_problem(catalog: ListeningCatalog) -> None:
    with DAG("d", schedule=None):
        bash = configure(
            BashOperator(
                task_id="t",
                bash_command="""echo '::{"assets": }::'; echo '::{"assets": [{"id": ""}]}::'""",
                outlets=[TARGET],
            ),
            enable_auto="{{ 'yes' }}",
        )
    run_task(bash)
    first, second = catalog.record.warnings
    assert "script line 1" in first
    assert "script line 2: outputs[0].id" in second


def test_operators_whose_output_is_not_read_say_so(
    catalog: ListeningCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    run_task(
        configure(task(lambda: print('::{"assets": {"id": "x"}}::'), inlets=[], outlets=[]), enable_auto=True)
    )
    assert caplog.text.count("output of PythonOperator is not read") == 1
    assert catalog.records == []
