"""From a request to the models of :mod:`airflow_assets.schemas`, strictly: what is unknown is refused."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from airflow_assets.api.problems import from_validation
from airflow_assets.exceptions import AssetCatalogError, InvalidQuery, InvalidRequest, RequestTooLarge
from airflow_assets.schemas import rules
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.credentials import TENANT_HEADER
from airflow_assets.schemas.operations import JSON_PARAMETERS

MAX_BODY = 8 * 1024 * 1024
"""Bytes of a request body. A batch of 1,000 usual assets has about 1 MiB."""
_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,149}")

Model = TypeVar("Model", bound=Schema)


async def read_body(request: Request) -> bytes:
    """Return the body of a request that carries JSON.

    :raises RequestTooLarge: it has more than 8 MiB, by its header or while it is read.
    :raises InvalidRequest: the request does not say that its body is JSON (a browser's form cannot say so,
        which keeps foreign pages from writing with the user's cookie).
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise InvalidRequest(
            f"The body is {media_type or 'of no type'!r}, not JSON.",
            hint="Send the header 'Content-Type: application/json'.",
            field="Content-Type",
            value=media_type or None,
        )
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BODY:
        raise _too_large(int(declared))
    chunks = bytearray()
    try:
        async for chunk in request.stream():
            chunks += chunk
            if len(chunks) > MAX_BODY:
                raise _too_large(None)
    except ClientDisconnect:
        raise InvalidRequest("The client went away before its request was complete.") from None
    return bytes(chunks)


def parse_body(model: type[Model], body: bytes) -> Model:
    """Return the model in a JSON body; runs in a worker thread, since large bodies take their time.

    :raises InvalidRequest: naming the field, the rule and the value.
    """
    try:
        raw = json.loads(body)
    except RecursionError:
        raise InvalidRequest("The body is nested too deeply.", hint="Flatten it.", field="body") from None
    except ValueError as error:
        raise InvalidRequest(f"The body is not JSON: {error}.", field="body") from None
    if not isinstance(raw, dict):
        raise InvalidRequest(f"The body must be a JSON object, not {type(raw).__name__}.", field="body")
    return _validated(model, raw)


def parse_query(model: type[Model] | None, parameters: QueryParams) -> Model | None:
    """Return the model in a query string: lists repeat their parameter, some are one JSON text.

    :raises InvalidQuery: an unknown parameter, a single value given twice, or a value that breaks a rule.
    """
    lists = _parameters(model) if model else {}
    raw: dict[str, Any] = {}
    for name in dict.fromkeys(parameters.keys()):
        values = parameters.getlist(name)
        if name not in lists:
            raise _unknown_parameter(name, lists)
        raw[name] = _value(name, values, is_list=lists[name])
    return _validated(model, raw) if model else None


def path_id(request: Request, name: str) -> str:
    """Return an id from the path, in its stored form where it is an asset's."""
    text: str = request.path_params[name]
    if "\n" in request.scope["path"]:  # the router's pattern ends before a last line break
        text = request.scope["path"]
    return rules.asset_id(text) if name == "asset_id" else text


def tenant_of(request: Request) -> str:
    """Return the tenant that the request's header names, else the default tenant.

    :raises InvalidRequest: it is not 1 to 150 lower case letters, digits, ``_`` and ``-``.
    """
    name = request.headers.get(TENANT_HEADER, rules.DEFAULT_TENANT)
    if not _TENANT.fullmatch(name):
        raise InvalidRequest(
            f"{name!r} is not a tenant.",
            hint="Use 1 to 150 lower case letters, digits, '_' and '-', beginning with a letter or digit.",
            field=TENANT_HEADER,
            value=name,
        )
    return name


def _validated(model: type[Model], raw: dict[str, Any]) -> Model:
    try:
        return model.model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        raise from_validation(list(error.errors(include_url=False, include_context=False))) from None
    except AssetCatalogError as error:
        for where in _culprit(model, raw):
            error.members.setdefault("item", where)
        raise


def _culprit(model: type[Model], raw: dict[str, Any]) -> Iterator[str]:
    """Yield which element of a list broke a rule: a rule's own error does not know where its value stood."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        element = _list_element(field.annotation)
        if element is None or not isinstance(raw.get(key), list):
            continue
        for index, item in enumerate(raw[key]):
            try:
                element.model_validate(item, by_alias=True, by_name=False)
            except ValidationError:
                continue
            except AssetCatalogError:
                yield f"{key}[{index}]"
                return


def _list_element(annotation: Any) -> type[Schema] | None:
    if get_origin(annotation) is not list:
        return None
    element = get_args(annotation)[0]
    return element if isinstance(element, type) and issubclass(element, Schema) else None


@lru_cache(maxsize=64)
def _parameters(model: type[Schema]) -> dict[str, bool]:
    """Return the parameters of a query model, and whether each may be repeated."""
    return {
        field.alias or name: _is_list(field.annotation) and field.alias not in JSON_PARAMETERS
        for name, field in model.model_fields.items()
    }


def _is_list(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_list(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return any(_is_list(choice) for choice in get_args(annotation))
    return origin is list


def _value(name: str, values: list[str], *, is_list: bool) -> Any:
    if is_list:
        return values
    if len(values) > 1:
        raise InvalidQuery(
            f"The parameter {name!r} is given {len(values)} times.", hint="Give it once.", field=name
        )
    if name not in JSON_PARAMETERS:
        return values[0]
    try:
        return json.loads(values[0])
    except (ValueError, RecursionError) as error:
        raise InvalidQuery(
            f"The parameter {name!r} is not JSON: {error}.",
            hint='Write a list of conditions: [{"field": "owner", "type": "EQUAL_TO", "value": "data"}].',
            field=name,
            value=values[0],
        ) from None


def _unknown_parameter(name: str, known: dict[str, bool]) -> InvalidQuery:
    hint = f"Known are {', '.join(sorted(known))}." if known else "This operation takes no parameters."
    return InvalidQuery(f"Unknown parameter {name!r}.", hint=hint, field=name)


def _too_large(size: int | None) -> RequestTooLarge:
    return RequestTooLarge(
        f"The body has {f'{size:,} bytes' if size else f'more than {MAX_BODY:,} bytes'}; "
        f"at most {MAX_BODY:,} are read.",
        hint="Send several smaller requests.",
        limit=MAX_BODY,
        value=size,
    )
