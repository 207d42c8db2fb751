"""The check of OpenLineage events finds what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.openlineage_rules import problems

GOLDEN = Path(__file__).parents[1] / "exporters" / "golden" / "success.json"


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        (["run", "runId"], "x", "event.run.runId is 'x', no uuid"),
        (["eventTime"], "2026-01-01T00:00:00", "without a zone"),
        (["eventType"], "DONE", "event.eventType is 'DONE', not one of"),
        (["job", "nmae"], "x", "event.job has the unknown member nmae"),
        (["outputs", 0, "facets", "schema", "fields", 0, "name"], 3, "is 3, not str"),
        (["outputs", 0, "facets", "tags", "_schemaURL"], "https://x/y", "which is no DatasetFacet"),
    ],
)
def test_a_fault_is_found(path: list[Any], value: Any, found: str) -> None:
    event = json.loads(GOLDEN.read_text())[1]
    assert problems(event) == []
    place = event
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (problem,) = problems(event)
    assert found in problem
