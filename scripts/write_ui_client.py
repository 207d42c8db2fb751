"""Write ui/src/api/generated.ts anew: ``python -m scripts.write_openapi`` does it too. A test tells of drift.

The page's client is typed by the same document that others are given, docs/openapi.yaml: the schemas become
interfaces, the operations one table for the program and one interface for the type checker.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs" / "openapi.yaml"
TARGET = ROOT / "ui" / "src" / "api" / "generated.ts"
_PRIMITIVES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_METHODS = ("get", "post", "put", "delete")


def text() -> str:
    """Return the module's text."""
    document = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]
    operations = [
        (path, method, item[method])
        for path, item in document["paths"].items()
        for method in _METHODS
        if method in item
    ]
    parts = ["// Written by scripts/write_ui_client.py from docs/openapi.yaml; do not edit.", ""]
    parts += [f"export type {_name(name)} = {_type(schema)};\n" for name, schema in schemas.items()]
    parts.append("/** What each operation takes and gives; `undefined` where it takes nothing. */")
    parts.append("export interface Operations {")
    parts += [_signature(operation) for _, _, operation in operations]
    parts += ["}", "", "/** Method and path, below Airflow's own base address, of each operation. */"]
    parts.append(
        "export const OPERATIONS: Record<keyof Operations, readonly [method: string, path: string]> = {"
    )
    parts += [
        f"  {operation['operationId']}: [{json.dumps(method.upper())}, {json.dumps(path.lstrip('/'))}],"
        for path, method, operation in operations
    ]
    parts.append("};")
    return "\n".join(parts) + "\n"


def _signature(operation: dict[str, Any]) -> str:
    body = _content(operation.get("requestBody", {}))
    response = _content(
        next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    )
    inside = [parameter for parameter in operation.get("parameters", ()) if "$ref" not in parameter]
    path = [parameter["name"] for parameter in inside if parameter["in"] == "path"]
    members = {
        "path": "string" if path else "undefined",
        "query": _query([parameter for parameter in inside if parameter["in"] == "query"]),
        "body": _type(body) if body else "undefined",
        "response": _type(response) if response else "undefined",
    }
    joined = "; ".join(f"{name}: {kind}" for name, kind in members.items())
    return f"  {operation['operationId']}: {{ {joined} }};"


def _query(parameters: list[dict[str, Any]]) -> str:
    if not parameters:
        return "undefined"
    members = [
        f"{parameter['name']}{'' if parameter['required'] else '?'}: {_type(_schema_of(parameter))}"
        for parameter in parameters
    ]
    return f"{{ {'; '.join(members)} }}"


def _schema_of(parameter: dict[str, Any]) -> dict[str, Any]:
    schema = parameter.get("schema") or parameter["content"]["application/json"]["schema"]
    return dict(schema)


def _content(holder: dict[str, Any]) -> dict[str, Any] | None:
    for media in holder.get("content", {}).values():
        return dict(media["schema"])
    return None


def _name(name: str) -> str:
    """``Page_Asset_`` is what OpenAPI makes of ``Page[Asset]``."""
    return re.sub(r"[^A-Za-z0-9]", "", name)


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _name(schema["$ref"].rpartition("/")[2])
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(choice) for choice in schema["anyOf"]))
    containers = {"array": _array, "object": _object}
    kind = schema.get("type", "")
    if isinstance(kind, list):
        return _plain(kind)
    return containers[kind](schema) if kind in containers else _plain(kind)


def _plain(kind: str | list[str]) -> str:
    kinds = [kind] if isinstance(kind, str) else kind
    return " | ".join(_PRIMITIVES.get(one, "unknown") for one in kinds)


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(item) for item in schema['prefixItems'])}]"
    item = _type(schema.get("items", {}))
    return f"({item})[]" if " | " in item else f"{item}[]"


def _object(schema: dict[str, Any]) -> str:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    if not properties:
        more = schema.get("additionalProperties", True)
        return f"Record<string, {_type(more) if isinstance(more, dict) else 'unknown'}>"
    members = [
        f"  {name}{'' if name in required else '?'}: {_type(definition)};"
        for name, definition in properties.items()
    ]
    return "\n".join(["{", *members, "}"])


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
