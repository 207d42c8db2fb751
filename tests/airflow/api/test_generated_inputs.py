"""Inputs generated from the OpenAPI document, sensible and absurd, find no 500 and no answer that it does not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, assume, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from airflow_assets.api.openapi import document
from tests.airflow.api.conftest import user_headers

if TYPE_CHECKING:
    from tests.support.asgi import AsgiClient

EXAMPLES = 40
"""Of each operation: the whole takes well under a minute."""
BASE = "http://catalogue.test"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def headers(client: AsgiClient) -> dict[str, str]:
    return user_headers("admin")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_input_breaks_an_operation(
    case: schemathesis.Case, client: AsgiClient, headers: dict[str, str]
) -> None:
    _cut_short(case.body)
    sent = requests.Request(**case.as_transport_kwargs(base_url=BASE, headers=headers)).prepare()
    assert sent.method
    assert sent.url
    # No application that is mounted gets such a path: Starlette's pattern of a mount ends at a line break.
    assume("%0A" not in sent.url.partition("?")[0])
    answer = client.request(sent.method, sent.url, content=sent.body, headers=dict(sent.headers))
    case.validate_response(answer, checks=CHECKS)


def _cut_short(body: object) -> None:
    """Nobody has 25 seconds for each generated wait."""
    if isinstance(body, dict) and isinstance(body.get("timeout"), (int, float)):
        body["timeout"] = min(body["timeout"], 0.01)
