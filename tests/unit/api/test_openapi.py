"""The checked-in OpenAPI document is the one the code makes."""

from __future__ import annotations

from pathlib import Path

import yaml

from airflow_assets.api.openapi import document
from airflow_assets.schemas.operations import API_PREFIX, OPERATIONS
from scripts.write_openapi import text

CHECKED_IN = Path(__file__).parents[3] / "docs" / "openapi.yaml"


def test_the_checked_in_document_has_not_drifted() -> None:
    written = CHECKED_IN.read_text(encoding="utf-8")
    assert yaml.safe_load(written) == document(), "run: python -m scripts.write_openapi"
    assert written == text(), "run: python -m scripts.write_openapi"


def test_every_operation_is_there_under_its_name() -> None:
    paths = document()["paths"]
    for operation in OPERATIONS.values():
        found = paths[API_PREFIX + operation.path][operation.method.lower()]
        assert found["operationId"] == operation.name
        assert found["x-permission"] == operation.action.value
        assert str(operation.status) in found["responses"]
        assert {"401", "403", "422", "503", "default"} <= set(found["responses"])


def test_every_reference_resolves() -> None:
    whole = document()

    def walk(node: object) -> None:
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                target: object = whole
                for part in reference.removeprefix("#/").split("/"):
                    assert isinstance(target, dict)
                    assert part in target, reference
                    target = target[part]
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(whole)
