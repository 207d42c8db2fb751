"""What an author may say about a script, and what the triggerer makes of it."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.log import mask_secret
from airflow.serialization.serialized_objects import DagSerialization

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.running.definition import Definition
from airflow_assets.schemas.polls import ScriptPoll
from airflow_assets.sensors import PythonScriptSensor
from airflow_assets.sensors import ScriptTrigger as ShortName
from airflow_assets.triggers import EventTrigger, ScriptTrigger, any_of
from airflow_assets.triggers.script_poll import ScriptWait, ScriptWatch, found_by

if TYPE_CHECKING:
    from collections.abc import Callable

FULL: dict[str, Any] = {
    "script": "print(1)", "exit_condition": "exit 0", "interval": "PT10S", "edge": False, "image": "python:3.12",
    "runner": "container", "timeout": 5, "network": "none",
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"exit_condition": ""}, "exit_condition is blank"),
        ({"exit_condition": " \n "}, "exit_condition is blank"),
        ({"exit_condition": None}, "not a text"),
        ({"script": "  "}, "script is blank"),
        ({"script": None}, "script is blank"),
        ({"script": "x" * 40_000}, "at most 40,000"),
        ({"script": "a = '\0'"}, "U+0000"),
        ({"script": "a = '\ud800'"}, "surrogate"),
        ({"interval": "10 s"}, "not a duration"),
        ({"interval": "PT0.5S"}, "between one second"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": "60"}, "timeout='60'"),
        ({"timeout": 3601}, "at most 3600"),
        ({"timeout": True}, "timeout=True"),
        ({"runner": "docker"}, "auto, process, container"),
        ({"runner": "process", "image": "x"}, "image='x' cannot be used with runner='process'"),
        ({"image": ""}, "image=''"),
        ({"image": "--privileged"}, "image='--privileged'"),
        ({"image": "x", "python": "/usr/bin/python3"}, "python='/usr/bin/python3'"),
        ({"network": "none"}, "network='none'"),
        ({"stop_after": ["done"]}, "queued, running, success, failed"),
        ({"when": "{{ trigger"}, "cannot be read"),
    ],
)
def test_a_mistake_is_told_where_it_is_written(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ScriptTrigger(**{"script": "pass", "exit_condition": "exit 0", **arguments})
    assert says in str(caught.value)
    assert __file__ in str(caught.value)


def test_the_condition_must_be_given() -> None:
    with pytest.raises(TypeError, match="exit_condition"):
        ScriptTrigger("pass")  # type: ignore[call-arg]


def test_defaults_are_the_contracts() -> None:
    parameters = inspect.signature(ScriptTrigger).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert list(parameters)[:7] == [
        "script",
        "exit_condition",
        "interval",
        "edge",
        "image",
        "runner",
        "timeout",
    ]
    assert defaults["interval"] == "PT1M"
    assert defaults["edge"] is True
    assert defaults["allow_concurrent"] is False
    in_container = Definition("pass", "exit 0", runner="container").configured()
    assert in_container.image == "python:3.13-slim"
    assert Definition("pass", "exit 0").configured().image is None


def test_equal_triggers_share_a_memory_and_any_difference_makes_another() -> None:
    whole = ScriptTrigger(**FULL).poll()
    assert ScriptTrigger(**{**FULL, "interval": timedelta(seconds=10)}).poll() == whole
    assert ScriptTrigger(**{**FULL, "when": "{{ trigger.exitCode }}"}).poll() == whole, (
        "the Dag's own business"
    )
    others = [
        ScriptTrigger(**{**FULL, "script": "print(2)"}),
        ScriptTrigger(**{**FULL, "exit_condition": "exit 1"}),
    ]
    others += [ScriptTrigger(**{k: v for k, v in FULL.items() if k != left}) for left in list(FULL)[2:]]
    assert len({trigger.poll().key for trigger in others} | {whole.key}) == len(FULL) + 1


def test_the_marker_reads_well_and_holds_no_script() -> None:
    trigger = ScriptTrigger("secret = 'do not show'", exit_condition="rows=[1-9]\n")
    marker = trigger.as_schedule()
    assert marker.name.startswith("script with rows=[1-9] #")
    assert marker.group == "airflow_assets.script"
    assert marker.uri.startswith("x-airflow-assets://script/")
    assert "do not show" not in json.dumps([marker.name, marker.extra])
    assert len(ScriptTrigger("pass", exit_condition="é" * 1_000).as_schedule().name) <= 250


def test_what_airflow_keeps_of_it_makes_it_again() -> None:
    [watcher] = ScriptTrigger(**FULL).as_schedule().watchers
    path, arguments = watcher.trigger.serialize()
    assert path == "airflow_assets.triggers.script_poll.ScriptWatch"
    rebuilt = ScriptWatch(**json.loads(json.dumps(arguments)))
    assert rebuilt.poll == ScriptTrigger(**FULL).poll()
    assert rebuilt.serialize() == (path, arguments)
    dag = DAG("scripted", schedule=any_of(ScriptTrigger(**FULL), EventTrigger(asset_id="a"), cron="@daily"))
    assert json.dumps(DagSerialization.to_dict(dag)) == json.dumps(DagSerialization.to_dict(dag))


def found(**members: Any) -> dict[str, Any]:
    return dict(asyncio.run(found_by(Definition(**members), "A test")))


def test_what_a_check_reports(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    mask_secret("known-to-airflow")
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__SCRIPT_ENV", "GIVEN_TOKEN, ABSENT")
    monkeypatch.setenv("GIVEN_TOKEN", "given-secret")
    script = """
import json, os
outputs = {"a": os.environ["GIVEN_TOKEN"], "b": ["known-to-airflow"], "password": "p4ss", "n": 1}
print("::" + json.dumps({"outputs": outputs}) + "::")
print("::{}}::")
"""
    finding = found(script=script, exit_condition=" n=1 ")
    assert finding["matched"] is True
    payload = finding["payload"]
    assert set(payload) == {"timestamp", "condition", "exitCode", "vars"}
    assert payload["condition"] == "n=1"
    assert payload["exitCode"] == 0
    assert payload["vars"] == {"a": "***", "b": ["***"], "password": "***", "n": 1}
    assert "no JSON" in caplog.text


def test_a_failure_is_an_answer_with_no_variables() -> None:
    script = "print('::{\"outputs\": {\"a\": 1}}::'); raise SystemExit('no luck')"
    finding = found(script=script, exit_condition="no luck")
    assert (finding["matched"], finding["payload"]["exitCode"], finding["payload"]["vars"]) == (True, 1, None)
    assert found(script=script, exit_condition="exit 0")["matched"] is False


def test_no_outcome_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    finding = found(script="print('x'); import time; time.sleep(60)", exit_condition="exit 0", timeout=0.5)
    assert set(finding) == {"error"}
    assert "not done after 0.5 s" in finding["error"]
    assert "A test has no answer" in caplog.text
    assert set(found(script="pass", exit_condition="exit 0", python="/nowhere")) == {"error"}


def test_at_most_so_many_scripts_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__SCRIPT_SLOTS", "2")
    running, most = 0, 0

    async def counting(definition: Definition, name: str) -> dict[str, Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return {"matched": False}

    monkeypatch.setattr("airflow_assets.triggers.script_poll.found_by", counting)
    poll = ScriptPoll(definition_key="0" * 64).to_json()

    async def all_at_once() -> None:
        watches = [ScriptWatch(poll, Definition("pass", "exit 0").to_json()) for _ in range(10)]
        await asyncio.gather(*(watch.check() for watch in watches))

    asyncio.run(all_at_once())
    assert most == 2


@pytest.mark.parametrize("option", ["A=1", "A B"])
def test_a_wrong_option_names_itself(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.exceptions import AirflowConfigException

    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__SCRIPT_ENV", option)
    with pytest.raises(AirflowConfigException, match="script_env"):
        Definition("pass", "exit 0").configured()


def sensor(**arguments: Any) -> PythonScriptSensor:
    return PythonScriptSensor(task_id="wait", **{"script": "pass", "exit_condition": "exit 0", **arguments})


def test_the_sensor_pokes() -> None:
    assert ShortName is PythonScriptSensor
    script = 'print(\'::{"outputs": {"rows": 3}}::\')'
    done = sensor(script=script, exit_condition="rows=3").poke({})  # type: ignore[arg-type]
    assert done.is_done
    assert done.xcom_value["vars"] == {"rows": 3}
    assert not sensor(script=script, exit_condition="rows=4").poke({}).is_done  # type: ignore[arg-type]
    assert not sensor(python="/nowhere").poke({}).is_done  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sensor(exit_condition=" "), "blank"),
        (lambda: sensor(script_timeout=-1), "timeout=-1"),
        (lambda: sensor(runner="x"), "auto, process, container"),
    ],
)
def test_the_sensor_checks_constants_when_parsed(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        make()
    templated = sensor(exit_condition="{{ params.condition }}", script="{{ params.script }}")
    templated.exit_condition = " "
    with pytest.raises(InvalidRequest, match="blank"):
        templated.poke({})  # type: ignore[arg-type]


def test_a_deferred_sensor_goes_on_in_the_triggerer(tmp_path: Any) -> None:
    flag = tmp_path / "flag"
    script = f'from pathlib import Path\nprint(\'::{{"outputs": {{"there": %s}}}}::\' % str(Path({str(flag)!r}).exists()).lower())'
    wait = ScriptWait(Definition(script, "there=true").to_json(), 0.05, "A sensor")
    path, arguments = wait.serialize()
    assert path == "airflow_assets.triggers.script_poll.ScriptWait"
    rebuilt = ScriptWait(**json.loads(json.dumps(arguments)))

    async def fired() -> Any:
        task = asyncio.ensure_future(anext(rebuilt.run()))
        await asyncio.sleep(0.5)
        assert not task.done()
        flag.touch()
        return await asyncio.wait_for(task, 20)

    assert asyncio.run(fired()).payload["vars"] == {"there": True}
