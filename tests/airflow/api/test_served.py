"""The API as a real API server serves it: mounted by the plugin, its background jobs running."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from airflow_assets.schemas.operations import API_PREFIX

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess


@pytest.mark.smoke
def test_it_is_mounted_and_its_jobs_run(airflow: AirflowProcess) -> None:
    def healthy() -> object:
        found = airflow.api("GET", f"{API_PREFIX}/health")
        return found if found["status"] == "healthy" else None

    health = airflow.wait_until(healthy, 240, "the background jobs to run")
    assert health["jobs"]["dispatcher"]["running"] is True
    metrics = airflow.request("GET", f"{API_PREFIX}/metrics").text
    assert 'airflow_assets_job_running{job="dispatcher"} 1' in metrics


@pytest.mark.smoke
def test_it_stores_and_finds_an_asset_under_an_awkward_id(airflow: AirflowProcess) -> None:
    asset = {
        "id": "s3://bucket/a b?c#d%e@f:😀",
        "type": "airflow_assets.types.File",
        "metadata": {"n": 2**53 + 1},
    }
    airflow.api("POST", f"{API_PREFIX}/upsert", json=asset)
    path = f"{API_PREFIX}/assets/s3%3A%2F%2Fbucket%2Fa%20b%3Fc%23d%25e%40f%3A%F0%9F%98%80"
    found = airflow.api("GET", path)
    assert (found["id"], found["metadata"]) == (asset["id"], asset["metadata"])


def test_nobody_is_answered_and_the_session_cookie_is(airflow: AirflowProcess) -> None:
    assert airflow.request("GET", f"{API_PREFIX}/assets", user=None).status_code == 401
    cookie = {"Cookie": f"_token={airflow.token('viewer')}"}
    assert airflow.request("GET", f"{API_PREFIX}/assets", user=None, headers=cookie).status_code == 200
    written = airflow.request(
        "POST", f"{API_PREFIX}/upsert", user=None, headers=cookie, json={"id": "a", "type": "t"}
    )
    assert written.status_code == 403


def test_an_error_of_the_mounted_application_is_a_problem(airflow: AirflowProcess) -> None:
    answer = airflow.request("GET", f"{API_PREFIX}/nothing")
    assert answer.status_code == httpx.codes.NOT_FOUND
    assert answer.headers["content-type"] == "application/problem+json"
