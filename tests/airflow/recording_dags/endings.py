"""Every way a task can end, each with an output of its own named after the task."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import (
    ExternalPythonOperator,
    PythonOperator,
    ShortCircuitOperator,
)
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.providers.standard.sensors.python import PythonSensor
from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import DAG, Asset, AssetAlias, BaseOperator, asset, task, task_group
from airflow.sdk.exceptions import AirflowSkipException

from airflow_assets import configure, emit
from airflow_assets.types import CatalogAsset, Dataset, Table

SOURCE = Dataset("source", namespace="endings", format="csv")


def out(name: str) -> Table:
    """An output that tells who recorded it: only the task itself can render `by`."""
    return Table(f"out.{name}", namespace="endings", metadata={"owner": "data", "by": "{{ ti.task_id }}"})


# Of a deferral: Airflow fails a task that runs again before its executor has told of the exit that deferred it.
A_WHILE = timedelta(seconds=8)


class Deferring(BaseOperator):
    """Emits, is deferred, emits again and returns."""

    def execute(self, context: Any) -> None:
        emit(outputs=["emitted.before_deferral"])
        self.defer(trigger=TimeDeltaTrigger(A_WHILE), method_name="go_on")

    def go_on(self, context: Any, event: Any = None) -> str:
        emit(outputs=["emitted.after_deferral"])
        return "resumed"


class EndsInTriggerer(BaseOperator):
    """Ends where no code of ours runs."""

    def execute(self, context: Any) -> None:
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds=1), end_from_trigger=True), method_name="none")


class OwnPostExecute(PythonOperator):
    def post_execute(self, context: Any, result: Any = None) -> None:
        print("post_execute has run")


class FailingPostExecute(PythonOperator):
    def post_execute(self, context: Any, result: Any = None) -> None:
        raise ValueError("post_execute fails")


def _skip() -> None:
    raise AirflowSkipException("not today")


def _fail() -> None:
    raise ValueError("the body fails")


def _fail_once(ti: Any) -> int:
    if ti.try_number == 1:
        raise ValueError("the first try fails")
    return ti.try_number


def _asset_lines() -> None:
    print('::{"assets": {"inputs": ["source"], "outputs": [{"id": "line.external", "type": "T"}]}}::')


with DAG("other", schedule=None):
    EmptyOperator(task_id="nothing")

with DAG("uri_owner", schedule=None):
    EmptyOperator(task_id="defines", inlets=[Asset("by_uri", "s3://bucket/by_uri"), Asset("by_name")])


@asset.multi(schedule=None, outlets=[out("several"), Asset("several_native")])
def several() -> None: ...


@asset(schedule=None)
def single(by_name: Asset) -> None: ...


with DAG("endings", schedule=None, is_paused_upon_creation=False) as dag:
    plain = PythonOperator(
        task_id="plain", python_callable=lambda: 42, inlets=[SOURCE], outlets=[
            Table("out.plain", namespace="endings", system="duckdb", metadata={"rows": "{{ result }}", "day": "{{ run_id }}"})
        ],
    )  # fmt: skip

    @task(inlets=[SOURCE], outlets=[out("taskflow"), Asset("native", "s3://bucket/native", extra={"k": "v"})])
    def taskflow(*, outlet_events: Any) -> dict[str, int]:
        outlet_events[Asset("native", "s3://bucket/native")].extra = {"rows": 7}
        return {"rows": 7}

    @task(outlets=[out("mapped")])
    def mapped(number: int) -> int:
        return number

    @task_group
    def group(number: int) -> None:
        @task(outlets=[out("mapped_group")])
        def inside(number: int) -> int:
            return number

        inside(number)

    @task.branch(outlets=[out("branch")])
    def branch() -> str:
        return "taken"

    short_circuit = ShortCircuitOperator(
        task_id="short_circuit", python_callable=lambda: False, outlets=[out("short_circuit")]
    )
    skip = PythonOperator(task_id="skip", python_callable=_skip, outlets=[out("skip")])
    trigger = TriggerDagRunOperator(task_id="trigger", trigger_dag_id="other", outlets=[out("trigger")])
    waiting_trigger = TriggerDagRunOperator(
        task_id="waiting_trigger", trigger_dag_id="other", wait_for_completion=True, deferrable=True,
        poke_interval=8, outlets=[out("waiting_trigger")],
    )  # fmt: skip
    empty = EmptyOperator(task_id="empty", inlets=[SOURCE], outlets=[out("empty")])

    make = PythonOperator(task_id="make", python_callable=lambda: 1, outlets=[out("make")])
    unmake = PythonOperator(task_id="unmake", python_callable=lambda: 1, outlets=[out("unmake")])
    deferring = Deferring(task_id="deferring", outlets=[out("deferring")])
    in_triggerer = EndsInTriggerer(task_id="in_triggerer", outlets=[out("in_triggerer")])
    sensor = PythonSensor(
        task_id="sensor", mode="reschedule", poke_interval=10, outlets=[out("sensor")],
        python_callable=lambda task_reschedule_count: task_reschedule_count > 0,
    )  # fmt: skip
    own_post = OwnPostExecute(task_id="own_post", python_callable=lambda: 1, outlets=[out("own_post")])
    failing_post = FailingPostExecute(
        task_id="failing_post", python_callable=lambda: 1, outlets=[out("failing_post")]
    )
    failing = PythonOperator(
        task_id="failing", python_callable=_fail, inlets=[SOURCE], outlets=[out("failing")]
    )
    retried = PythonOperator(
        task_id="retried", python_callable=_fail_once, retries=1, retry_delay=timedelta(seconds=1),
        outlets=[Table("out.retried", namespace="endings", metadata={"try": "{{ result }}"})],
    )  # fmt: skip
    cleared = PythonOperator(task_id="cleared", python_callable=lambda: 1, outlets=[out("cleared")])
    by_hand = PythonOperator(task_id="by_hand", python_callable=_fail, outlets=[out("by_hand")])

    @task(outlets=[AssetAlias("an_alias")])
    def alias(*, outlet_events: Any) -> None:
        outlet_events[AssetAlias("an_alias")].add(Asset("added", "s3://bucket/added"), extra={"rows": 3})

    @task(inlets=[Asset.ref(uri="s3://bucket/by_uri"), Asset.ref(name="by_name")])
    def reference() -> None:
        emit(inputs=["source"], outputs=[CatalogAsset("emitted.reference", type="REPORT", rows=1)])

    @task
    def emit_only() -> None:
        emit(inputs=["source"], outputs=["emitted.one"])
        emit(inputs=["emitted.one"], outputs=[{"id": "emitted.two", "type": "T", "displayName": "Two"}])

    bash = configure(
        BashOperator(
            task_id="bash", bash_command="""echo '::{"assets": [{"id": "line.bash", "type": "T"}]}::'"""
        ),
        enable_auto=True,
    )

    @task.bash
    def task_bash() -> str:
        return """echo '::{"assets": {"id": "line.task_bash", "type": "T"}}::'"""

    configure(task_bash(), enable_auto=True)
    external = configure(
        ExternalPythonOperator(
            task_id="external", python=str(Path(sys.base_prefix, "bin", "python3")), expect_airflow=False,
            python_callable=_asset_lines,
        ),
        enable_auto=True,
    )  # fmt: skip

    warned = PythonOperator(
        task_id="warned", python_callable=lambda: 42,
        outlets=[out("warned"), Table("out.unrendered", namespace="endings", metadata={"x": "{{ result.a.b }}"})],
    )  # fmt: skip
    failed_by_us = configure(
        PythonOperator(task_id="failed_by_us", python_callable=lambda: {"kept": 1}, outlets=[
            out("failed_by_us"), Table("out.unrendered", namespace="endings", metadata={"x": "{{ result.a.b }}"})
        ]),
        asset_failure_behavior="FAIL",
    )  # fmt: skip
    malformed = configure(
        PythonOperator(
            task_id="malformed",
            python_callable=lambda: "",
            retries=3,
            outlets=[out("x"), Table("{{ result }}")],
        ),
        asset_failure_behavior="IGNORE",
    )

    @task
    def downstream() -> dict[str, Any]:
        from airflow_assets.client import get_client

        return get_client().get_asset("out.plain").to_json()

    taken = EmptyOperator(task_id="taken")
    plain >> downstream()
    taskflow()
    mapped.expand(number=[1, 2, 3])
    group.expand(number=[1, 2])
    branch() >> [taken, EmptyOperator(task_id="not_taken")]
    short_circuit >> EmptyOperator(task_id="never")
    make.as_setup() >> EmptyOperator(task_id="between") >> unmake.as_teardown(setups=make)
    alias()
    reference()
    emit_only()
