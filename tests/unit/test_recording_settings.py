"""`configure`: what it takes, which level wins, and that the serialized Dag knows nothing of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, TaskGroup, task, task_group
from airflow.serialization.serialized_objects import DagSerialization

from airflow_assets import configure
from airflow_assets.recording.settings import FailureBehavior, settings_of


@task
def one(x: int = 0) -> int:
    return x


def test_every_kind_of_node_comes_back() -> None:
    with DAG("d", schedule=None) as dag:
        assert configure(dag, enable_auto=True) is dag
        operator = EmptyOperator(task_id="op")
        assert configure(operator, enable_auto=False) is operator
        result = one()
        assert configure(result, inputs=["r"]) is result
        mapped = one.override(task_id="mapped").expand(x=[1, 2])
        assert configure(mapped, inputs=["m"]) is mapped
        classic = PythonOperator.partial(task_id="classic", python_callable=print).expand(op_args=[[1]])
        assert configure(classic, inputs=["c"]) is classic
        with TaskGroup("g") as group:
            inside = EmptyOperator(task_id="inside")
        assert configure(group, inputs=["g"]) is group

        @task_group
        def over(x: int) -> None:
            one.override(task_id="deep")(x)

        expanded = over.expand(x=[1])
        assert configure(expanded, inputs=["e"]) is expanded

    found = {name: settings_of(dag.get_task(name)).inputs for name in dag.task_ids}
    assert found == {
        "op": None,
        "one": ["r"],
        "mapped": ["m"],
        "classic": ["c"],
        "g.inside": ["g"],
        "over.deep": ["e"],
    }
    assert settings_of(operator).enable_auto is False
    assert settings_of(inside).enable_auto is True


def test_a_mapped_task_keeps_its_settings_when_it_is_unmapped() -> None:
    with DAG("d", schedule=None) as dag:
        configure(
            PythonOperator.partial(task_id="m", python_callable=print).expand(op_args=[[1]]), inputs=["m"]
        )
    unmapped = dag.get_task("m").unmap({"op_args": [1]})
    assert settings_of(unmapped).inputs == ["m"]


def test_inner_wins_over_outer_setting_by_setting() -> None:
    with DAG("d", schedule=None) as dag, TaskGroup("a") as a, TaskGroup("b") as b:
        inner = EmptyOperator(task_id="t")
    configure(dag, enable_auto=True, asset_failure_behavior="FAIL", inputs=["dag"], outputs=["dag"])
    configure(a, inputs=["a"], outputs=["a"])
    configure(b, outputs=["b"])
    configure(inner, asset_failure_behavior="ignore")
    found = settings_of(inner)
    assert found.asset_failure_behavior is FailureBehavior.IGNORE
    assert (found.enable_auto, found.inputs, found.outputs) == (True, ["a"], ["b"])


def test_a_second_call_adds_to_the_first() -> None:
    with DAG("d", schedule=None):
        operator = EmptyOperator(task_id="t")
    configure(configure(operator, inputs=["a"]), outputs=["b"])
    assert (settings_of(operator).inputs, settings_of(operator).outputs) == (["a"], ["b"])


@pytest.mark.parametrize("wrong", [None, "task", 3, [one]])
def test_other_things_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="TaskFlow result"):
        configure(wrong, enable_auto=True)


def test_a_decorated_function_says_to_call_it() -> None:
    with pytest.raises(TypeError, match="Call the decorated function first"):
        configure(one, enable_auto=True)


def test_a_behaviour_of_another_name_is_refused_at_once() -> None:
    with DAG("d", schedule=None), pytest.raises(ValueError, match="FAIL, WARN, IGNORE"):
        configure(EmptyOperator(task_id="t"), asset_failure_behavior="explode")


def test_the_serialized_dag_does_not_change() -> None:
    def made(*, with_settings: bool) -> str:
        with DAG("d", schedule=None) as dag, TaskGroup("g") as group:
            nodes = [
                dag,
                group,
                EmptyOperator(task_id="op"),
                one(),
                one.override(task_id="m").expand(x=[1]),
            ]
            for node in nodes if with_settings else ():
                configure(node, enable_auto=True, asset_failure_behavior="FAIL", outputs=["a"])
        return json.dumps(DagSerialization.to_dict(dag), sort_keys=True)

    assert made(with_settings=True) == made(with_settings=False)
