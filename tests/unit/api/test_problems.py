"""Whatever goes wrong is answered with a problem document that a client can read."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError

from airflow_assets import exceptions
from airflow_assets.api import problems
from airflow_assets.api.envelope import Envelope
from airflow_assets.exceptions import AssetCatalogError, AssetNotFound, from_problem
from airflow_assets.schemas.base import Page
from tests.support.asgi import AsgiClient

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = Path(__file__).parents[3] / "docs" / "errors"


def classes(kind: type[AssetCatalogError] = AssetCatalogError) -> list[type[AssetCatalogError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in classes(child))]


def test_every_error_has_a_page_and_every_page_an_error() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {kind.code for kind in classes()}


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.code)
def test_a_page_says_what_why_and_the_way_out(kind: type[AssetCatalogError]) -> None:
    text = (PAGES / f"{kind.code}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {kind.title}\n")
    assert f"`{kind.code}` · HTTP {kind.status} · Python `airflow_assets.exceptions.{kind.__name__}`" in text
    for word in ("## What happened", "Why", "ay out"):
        assert word in text


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.code)
def test_every_error_is_in_the_drawn_tree(kind: type[AssetCatalogError]) -> None:
    assert exceptions.__doc__ is not None
    assert f"{kind.__name__} " in exceptions.__doc__ or f"{kind.__name__}\n" in exceptions.__doc__


@pytest.fixture(scope="module")
def client() -> Iterator[AsgiClient]:
    app = FastAPI(openapi_url=None)
    problems.install(app)
    app.add_middleware(Envelope)

    @app.get("/bug")
    def bug() -> None:
        raise RuntimeError("password=hunter2 in SELECT * FROM secret_table")

    @app.get("/database")
    def database() -> None:
        raise OperationalError("SELECT 1", {}, Exception("host db.internal refused"))

    @app.get("/missing")
    def missing() -> None:
        raise AssetNotFound("No asset 'a\ud800' \U0001f600.", hint="Search.", value=float("nan"), item=object)

    @app.get("/unreadable")
    def unreadable() -> None:
        Page[int].model_validate({"items": ["row of the database"]})

    @app.get("/typed/{number}")
    def typed(number: int) -> int:
        return number

    with AsgiClient(app) as client:
        yield client


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    document: dict[str, Any] = json.loads(answer.content, parse_constant=pytest.fail)
    assert document["type"] == f"urn:airflow-assets:problem:{code}"
    assert document["status"] == status
    assert document["detail"]
    return document


def test_a_bug_shows_a_number_and_nothing_else(client: AsgiClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client.get("/bug")
    document = problem(answer, 500, "catalog-error")
    assert "hunter2" not in answer.text
    assert "secret_table" not in answer.text
    assert document["logId"] in caplog.text
    assert "hunter2" in caplog.text


def test_a_stored_row_that_cannot_be_read_is_no_fault_of_the_caller(client: AsgiClient) -> None:
    answer = client.get("/unreadable")
    problem(answer, 500, "catalog-error")
    assert "row of the database" not in answer.text


def test_a_database_that_is_away_is_unavailable(client: AsgiClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = client.get("/database")
    document = problem(answer, 503, "catalog-unavailable")
    assert answer.headers["retry-after"] == "1"
    assert "db.internal" not in answer.text
    assert document["logId"] in caplog.text


def test_values_that_json_cannot_hold_do_not_break_the_answer(client: AsgiClient) -> None:
    document = problem(client.get("/missing"), 404, "asset-not-found")
    assert document["value"] == "nan"
    error = from_problem(document)
    assert type(error) is AssetNotFound
    assert error.hint == "Search."


def test_unknown_address_and_method(client: AsgiClient) -> None:
    assert "/nothing/here" in problem(client.get("/nothing/here"), 404, "not-found")["detail"]
    answer = client.post("/bug")
    assert problem(answer, 405, "method-not-allowed")["hint"] == "Use GET."
    assert answer.headers["allow"] == "GET"


def test_what_fastapi_finds_is_an_invalid_request(client: AsgiClient) -> None:
    document = problem(client.get("/typed/x"), 422, "invalid-request")
    assert document["field"] == "path.number"
    assert document["errors"][0]["field"] == "path.number"


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.code)
def test_an_error_survives_the_wire_and_a_pickle(kind: type[AssetCatalogError]) -> None:
    error = kind("It happened.", hint="Do this.", field="id", limit=3)
    sent = problems.problem_response(error)
    assert sent.status_code == kind.status
    received = from_problem(json.loads(bytes(sent.body)))
    for copy in (received, pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own bytes
        assert type(copy) is kind
        assert (copy.detail, copy.hint, copy.members) == (error.detail, error.hint, error.members)
    assert ("www-authenticate" in sent.headers) == (kind.status == 401)
