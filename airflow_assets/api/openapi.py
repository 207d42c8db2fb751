"""The OpenAPI document, made from the table of operations; docs/openapi.yaml is its checked-in copy."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from airflow_assets import __version__
from airflow_assets.api.permissions import actions_of
from airflow_assets.catalog.service import CatalogService
from airflow_assets.exceptions import PROBLEM_PREFIX
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.credentials import FENCING_HEADER, TENANT_HEADER
from airflow_assets.schemas.fencing import MAX_HEADER
from airflow_assets.schemas.operations import API_PREFIX, JSON_PARAMETERS, OPERATIONS, Action, Operation

_REF = "#/components/schemas/{model}"
_PROBLEMS = {
    "400": "The page cursor was not made by this catalogue.",
    "401": "No credentials, or credentials that are not valid.",
    "403": "The caller may not do this.",
    "404": "There is no such asset or event.",
    "409": "The request contradicts what is stored.",
    "413": "The body is too large.",
    "422": "A value breaks a rule; the problem names field, rule and value.",
    "423": "Somebody else holds the asset's lock.",
    "503": "The catalogue is unavailable or overloaded.",
    "default": "Any other problem.",
}
_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "A problem document (RFC 9457). Its type may bring further members.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": [f"{PROBLEM_PREFIX}asset-not-found"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened."},
        "hint": {"type": "string", "description": "The way out."},
        "field": {"type": "string", "description": "The first value that broke a rule."},
    },
    "additionalProperties": True,
}
_TENANT = {
    "name": TENANT_HEADER,
    "in": "header",
    "description": "The tenant the request is about; default main.",
    "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,149}$", "default": "main"},
}
_FENCING_TOKENS = {
    "name": FENCING_HEADER,
    "in": "header",
    "description": "Under which locks it writes: base64url of a JSON object, asset id to fencing number.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]*={0,2}$", "maxLength": MAX_HEADER},
}
_READS = frozenset({Action.LIST, Action.VIEW})
_TEXT_ROUTES = {
    "rights": ("/rights", "Who the caller is, and what it may do.", "application/json"),
    "health": ("/health", "Whether database, tables and background jobs are well.", "application/json"),
    "metrics": (
        "/metrics",
        "Gauges and counters in the OpenMetrics text format.",
        "application/openmetrics-text",
    ),
}
_RIGHTS_SCHEMA = {
    "type": "object",
    "required": ["name", "actions"],
    "properties": {
        "name": {"type": ["string", "null"], "description": "The user; null for a task."},
        "actions": {
            "type": "array",
            "items": {"type": "string", "enum": [action.value for action in Action]},
        },
    },
}


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of all routes."""
    refs, schemas = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS.values():
        paths.setdefault(API_PREFIX + operation.path, {})[operation.method.lower()] = _operation(
            operation, refs, schemas
        )
    for name, (path, summary, media_type) in _TEXT_ROUTES.items():
        paths[API_PREFIX + path] = {"get": _system(name, summary, media_type)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Asset catalogue",
            "version": __version__,
            "description": "Assets of Apache Airflow: metadata, events, lineage. docs/api.md is the guide.",
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {**dict(sorted(schemas.items())), "ProblemDocument": _PROBLEM_SCHEMA},
            "responses": {_response_name(status): _problem(text) for status, text in _PROBLEMS.items()},
            "parameters": {"Tenant": _TENANT, "FencingTokens": _FENCING_TOKENS},
            "securitySchemes": _security_schemes(),
        },
        "security": [{"managedToken": []}, {"airflowToken": []}, {"airflowSession": []}],
    }


class _Untitled(GenerateJsonSchema):
    """Leaves out titles that only repeat the name of the field."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def _schemas() -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
    wanted = []
    for operation in OPERATIONS.values():
        wanted += [(model, "validation") for model in (operation.body, operation.query) if model]
        wanted += [(operation.response, "serialization")] if operation.response else []
    refs, definitions = models_json_schema(
        list(dict.fromkeys(wanted)), by_alias=True, ref_template=_REF, schema_generator=_Untitled
    )
    return refs, definitions["$defs"]


def _operation(operation: Operation, refs: dict[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found = {
        "operationId": operation.name,
        "summary": _summary(operation),
        "description": f"Needs {_needs(operation)}.",
        "x-permission": operation.action.value,
        "parameters": [*_path_parameters(operation), *_query_parameters(operation, refs, schemas)],
        "responses": {str(operation.status): _success(operation, refs), **_problem_responses(operation)},
    }
    if operation.body:
        content = {"application/json": {"schema": refs[operation.body, "validation"]}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _summary(operation: Operation) -> str:
    """Return what the service says of its method: the first sentence, without pointers into the code."""
    first = (getattr(CatalogService, operation.name).__doc__ or operation.name).strip().splitlines()[0]
    return first.partition(";")[0].rstrip(".") + "."


def _needs(operation: Operation) -> str:
    if operation.name == "batch":
        return "what each of its items would need alone, and UPDATE"
    needed = actions_of(operation, None)
    return " and ".join(action.value for action in Action if action in needed)


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1},
         "description": "Percent-encoded, with every character but letters, digits and '-._~' encoded."}
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]  # fmt: skip
    headers = ["Tenant"] if operation.action in _READS else ["Tenant", "FencingTokens"]
    return [*parameters, *({"$ref": f"#/components/parameters/{name}"} for name in headers)]


def _query_parameters(
    operation: Operation, refs: dict[Any, Any], schemas: dict[str, Any]
) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    name = refs[operation.query, "validation"]["$ref"].rpartition("/")[2]
    schema = schemas[name]
    required = schema.get("required", ())
    return [
        _query_parameter(field, definition, required=field in required)
        for field, definition in schema["properties"].items()
    ]


def _query_parameter(name: str, definition: dict[str, Any], *, required: bool) -> dict[str, Any]:
    parameter: dict[str, Any] = {"name": name, "in": "query", "required": required}
    if name in JSON_PARAMETERS:
        parameter["content"] = {"application/json": {"schema": definition}}
        return parameter
    return {**parameter, "schema": _without_null(definition)}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter cannot be null, only missing."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if not choices:
        return schema
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**rest, **(choices[0] if len(choices) == 1 else {"anyOf": choices})}


def _success(operation: Operation, refs: dict[Any, Any]) -> dict[str, Any]:
    if operation.response is None:
        return {"description": "Done."}
    return {
        "description": "Done.",
        "content": {"application/json": {"schema": refs[operation.response, "serialization"]}},
    }


def _system(name: str, summary: str, media_type: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object" if media_type == "application/json" else "string"}
    schema = _RIGHTS_SCHEMA if name == "rights" else schema
    return {
        "operationId": name,
        "summary": summary,
        "description": f"Needs {Action.LIST.value}.",
        "x-permission": Action.LIST.value,
        "responses": {
            "200": {"description": "Done.", "content": {media_type: {"schema": schema}}},
            **{status: _response_ref(status) for status in ("401", "403", "503", "default")},
        },
    }


def _problem_responses(operation: Operation) -> dict[str, Any]:
    statuses = {"401", "403", "422", "503", "default"}
    if "cursor" in _fields(operation.query) | _fields(operation.body):
        statuses |= {"400"}
    if operation.body:
        statuses |= {"413"}
    if operation.action not in {Action.LIST, Action.VIEW}:
        statuses |= {"409", "423"}
    if operation.action is not Action.LIST:
        statuses |= {"404"}
    return {status: _response_ref(status) for status in sorted(statuses)}


def _fields(model: type[Schema] | None) -> set[str]:
    return set(model.model_fields) if model else set()


def _response_name(status: str) -> str:
    return f"Problem{status.capitalize()}"


def _response_ref(status: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{_response_name(status)}"}


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemDocument"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def _security_schemes() -> dict[str, Any]:
    return {
        "managedToken": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A token of at most 60 s, signed with the secret of airflow_assets_default.",
        },
        "airflowToken": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A token of Airflow's POST /auth/token.",
        },
        "airflowSession": {
            "type": "apiKey", "in": "cookie", "name": "_token", "description": "The session of Airflow's UI.",
        },
    }  # fmt: skip
