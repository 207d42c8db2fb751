"""`airflow assets-catalog` on a host of the server, over HTTP from elsewhere, and its doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from airflow_assets.cli import exit_codes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.airflow_process import AirflowProcess

URIS = """
from airflow.sdk import DAG, Asset
from airflow.providers.standard.operators.empty import EmptyOperator

with DAG("cli_uri_{number}", schedule=None):
    EmptyOperator(task_id="t", outlets=[Asset("cli.twice", "x-cli://{number}")])
"""


class Catalog:
    """Runs the command in the environment of an Airflow, or in one that knows only its address."""

    def __init__(self, airflow: AirflowProcess, env: dict[str, str] | None = None) -> None:
        self._airflow = airflow
        self._env = airflow.environment if env is None else env

    def __call__(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "airflow", "assets-catalog", *arguments],
            env={**self._env, **env}, cwd=self._airflow.home, capture_output=True, text=True, timeout=180, check=False,
            input=stdin,
        )  # fmt: skip
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done


@pytest.fixture
def here(airflow: AirflowProcess) -> Catalog:
    return Catalog(airflow)


@pytest.fixture
def elsewhere(airflow: AirflowProcess, tmp_path: Path) -> Catalog:
    """A laptop: no Airflow database, no configuration."""
    return Catalog(
        airflow, {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path / "home")}
    )


def test_on_the_server_it_works_in_the_name_of_the_hosts_user(airflow: AirflowProcess, here: Catalog) -> None:
    made = here(
        "create", "cli.one", "--type", "T", "--namespace", "cli", "--metadata", '{"tier": 2}', "-o", "json"
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["metadata"] == {"tier": 2}, "standard output holds the result alone"
    again = here("create", "cli.one", "--type", "T")
    assert (again.returncode, again.stdout) == (exit_codes.CONFLICT, "")
    assert again.stderr.rstrip().split("\n")[-2].startswith("error: ")
    event = airflow.api("GET", "/airflow_assets/api/v1/events?assetId=cli.one")["items"][0]
    assert event["source"]["kind"] == "cli"
    found = here("list", "--where", "tier >= 2", "--namespace", "cli", "-o", "plain")
    assert found.stdout.startswith("cli.one\tT\tcli\t")


def test_from_elsewhere_the_users_rights_count(airflow: AirflowProcess, elsewhere: Catalog) -> None:
    address = ("--api_url", airflow.base_url)
    op = (*address, "--username", "op")
    made = elsewhere("create", "cli.two", "--type", "T", "-o", "json", *op, AIRFLOW_ASSETS_PASSWORD="op")
    assert made.returncode == 0, made.stderr
    viewer = {"AIRFLOW_ASSETS_TOKEN": airflow.token("viewer")}
    assert json.loads(elsewhere("get", "cli.two", "-o", "json", *address, **viewer).stdout)["id"] == "cli.two"
    refused = elsewhere("delete", "cli.two", "--yes", *address, **viewer)
    assert refused.returncode == exit_codes.REFUSED
    assert "viewer" in refused.stderr
    wrong = elsewhere("get", "cli.two", *op, AIRFLOW_ASSETS_PASSWORD="wrong")
    assert wrong.returncode == exit_codes.REFUSED
    assert "'op'" in wrong.stderr
    doctor = elsewhere("doctor", *address, **viewer)
    assert doctor.returncode == 0, doctor.stdout


def test_an_address_where_nobody_answers(elsewhere: Catalog) -> None:
    lost = elsewhere(
        "list",
        "--api_url",
        "http://127.0.0.1:9",
        AIRFLOW_ASSETS_TOKEN="x",
        AIRFLOW__AIRFLOW_ASSETS__CLIENT_PATIENCE="1",
    )
    assert lost.returncode == exit_codes.UNAVAILABLE
    assert "127.0.0.1:9" in lost.stderr


def test_an_export_read_into_the_same_catalogue_changes_nothing(here: Catalog, tmp_path: Path) -> None:
    here("create", "cli.exported", "--type", "T")
    file = tmp_path / "catalog.jsonl"
    assert here("export", str(file)).returncode == 0
    lines = file.read_text().splitlines()
    assert any('"cli.exported"' in line for line in lines)
    read = here("import", str(file), "-o", "json")
    assert read.returncode == 0, read.stderr
    assert json.loads(read.stdout) == {"imported": 0, "skipped": len(lines)}
    assert here("export").stdout.splitlines() == lines, "and to standard output it is the same"
    broken = here("import", stdin=lines[0] + "\nnonsense\n")
    assert broken.returncode == exit_codes.INVALID
    assert "Line 2" in broken.stderr


def test_the_doctor_finds_nothing_on_a_healthy_airflow(airflow: AirflowProcess, here: Catalog) -> None:
    found = here("doctor", "-o", "json")
    checks = json.loads(found.stdout)
    assert [check for check in checks if check["status"] == "problem"] == []
    assert found.returncode == 0
    assert {check["check"] for check in checks} == {
        "tables", "options", "secret", "address", "clock", "jobs", "dispatcher", "follower", "pending runs", "names",
    }  # fmt: skip
    address = " ".join(check["found"] for check in checks if check["check"] == "address")
    assert "accepts the secret" in address
    assert "worker" in address
    assert "triggerer" in address


def test_the_doctor_names_what_is_wrong_and_the_way_out(airflow: AirflowProcess, here: Catalog) -> None:
    for number in (1, 2):
        airflow.write_dag(f"cli_uri_{number}.py", URIS.format(number=number))
        airflow.wait_for_dag(f"cli_uri_{number}")
    other = {
        "AIRFLOW_CONN_AIRFLOW_ASSETS_DEFAULT": json.dumps(
            {"conn_type": "airflow-assets", "extra": {"secret": "x" * 43}}
        )
    }
    found = here("doctor", "-o", "json", **other, AIRFLOW__AIRFLOW_ASSETS__API_URL="http://127.0.0.1:9")
    assert found.returncode == exit_codes.PROBLEMS
    problems = {}
    for check in json.loads(found.stdout):
        if check["status"] == "problem":
            problems.setdefault(check["check"], []).append(check)
    assert set(problems) == {"address", "names"}
    said = json.dumps(problems)
    assert "127.0.0.1:9" in said
    assert "refuses the secret" in said
    assert "x-cli://1" in said
    assert "cli_uri_2.py" in said
    assert all(check["wayOut"] for checks in problems.values() for check in checks)
    for number in (1, 2):
        (airflow.dags_folder / f"cli_uri_{number}.py").unlink()


def test_after_a_rotation_both_secrets_are_accepted_and_tasks_go_on(
    airflow: AirflowProcess, here: Catalog
) -> None:
    before = json.loads(here("doctor", "-o", "json").stdout)
    rotated = here("rotate-secret", "--yes")
    assert rotated.returncode == 0, rotated.stderr
    assert "fingerprint" in rotated.stderr
    after = here("doctor", "-o", "json")
    assert after.returncode == 0, after.stdout
    prints = [
        next(c["found"] for c in checks if c["check"] == "secret")
        for checks in (before, json.loads(after.stdout))
    ]
    assert prints[0] != prints[1]
    elsewhere = here("rotate-secret", "--yes", "--api_url", airflow.base_url)
    assert elsewhere.returncode == exit_codes.UNAVAILABLE
