"""What the command ``docker`` is asked for. A recording stand-in takes its place: there is no engine here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from airflow_assets.running.limits import MIB, Limits, Script
from airflow_assets.running.result import ScriptNotRun
from airflow_assets.running.run import run_script_now
from tests.support.docker_stand_in import DockerStandIn

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "python:3.13-slim"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DockerStandIn:
    found = DockerStandIn(tmp_path / "bin").install()
    monkeypatch.setenv("PATH", found.path)
    monkeypatch.setenv("DOCKER_HOST", "unix:///somewhere")
    return found


def test_what_an_engine_is_asked_for(docker: DockerStandIn) -> None:
    limits = Limits(memory=300 * MIB, files=99, file_size=7 * MIB)
    script = Script("print('::{\"outputs\": {\"in\": \"container\"}}::')", image=IMAGE, network="none",
                    env={"API_TOKEN": "very-secret"}, limits=limits)  # fmt: skip
    assert run_script_now(script).variables == {"in": "container"}
    [call] = docker.calls
    options = call["args"][: call["args"].index(IMAGE)]
    name = next(option for option in options if option.startswith("--name=airflow-assets-"))
    assert options == [
        "run", "--rm", "--interactive", "--init", name, "--label=airflow_assets.script", "--network=none",
        "--memory=314572800", "--memory-swap=314572800", "--pids-limit=256", "--ulimit=nofile=99",
        "--ulimit=fsize=7340032", "--ulimit=core=0", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        "--read-only", "--tmpfs=/work:rw,size=7340032,mode=1777", "--workdir=/work", "--env=HOME=/work",
        "--env=TMPDIR=/work", "--log-driver=none", "--env=API_TOKEN",
    ]  # fmt: skip
    assert call["args"][len(options) + 1 :][:4] == ["python", "-I", "-u", "-c"]
    assert "very-secret" not in " ".join(call["args"])
    assert call["env"]["API_TOKEN"] == "very-secret"
    assert call["env"]["DOCKER_HOST"] == "unix:///somewhere"
    assert "AIRFLOW_HOME" not in call["env"]


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_container_that_takes_too_long_is_removed(docker: DockerStandIn, stubborn: bool) -> None:
    docker.install(stubborn=stubborn)
    begun = time.monotonic()
    with pytest.raises(ScriptNotRun) as caught:
        run_script_now(Script("import time; time.sleep(100)", image=IMAGE, limits=Limits(timeout=1)))
    assert caught.value.reason == "timeout"
    assert time.monotonic() - begun < 1 + 5
    ran, removed = docker.calls
    name = next(option for option in ran["args"] if option.startswith("--name="))[len("--name=") :]
    assert removed["args"] == ["rm", "--force", name]


def test_an_exit_code_of_the_script_is_not_taken_for_the_engines(docker: DockerStandIn) -> None:
    for code in (1, 125, 126, 127):
        assert run_script_now(Script(f"raise SystemExit({code})", image=IMAGE)).exit_code == code


@pytest.mark.parametrize(
    "answer",
    [
        (125, "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n"),
        (
            125,
            "Unable to find image 'python:3.13-slim' locally\ndocker: Error response from daemon: no such host.\n",
        ),
        (127, 'docker: Error response from daemon: exec: "python": executable file not found in $PATH.\n'),
        (1, ""),
    ],
)
def test_a_container_that_did_not_begin_is_no_outcome(docker: DockerStandIn, answer: tuple[int, str]) -> None:
    docker.install(answer)
    with pytest.raises(ScriptNotRun, match="did not begin") as caught:
        run_script_now(Script("pass", image=IMAGE))
    assert caught.value.reason == "no_engine"
    assert caught.value.logs == answer[1]


def test_an_image_without_an_engine_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScriptNotRun, match="'docker', which is not on the PATH") as caught:
        run_script_now(Script("pass", image=IMAGE))
    assert caught.value.reason == "no_engine"
