"""Every answer that is not a success is a problem document (RFC 9457), whatever went wrong."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from math import isfinite
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from airflow_assets.exceptions import (
    AssetCatalogError,
    CatalogUnavailable,
    InvalidRequest,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    RequestTooLarge,
)
from airflow_assets.schemas.masking import is_sensitive

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = "1"
_MAX_ERRORS = 20
_OF_STATUS: dict[int, type[AssetCatalogError]] = {
    401: NotAuthenticated,
    403: NotPermitted,
    404: NotFound,
    405: MethodNotAllowed,
    413: RequestTooLarge,
    503: CatalogUnavailable,
}


def problem_response(error: AssetCatalogError, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer for ``error``: problem document, status, and the headers the status calls for."""
    document = json.dumps(_plain(error.to_problem()), separators=(",", ":"))  # ASCII: half surrogates survive
    return Response(document, error.status, {**_headers(error), **(headers or {})}, MEDIA_TYPE)


def from_validation(errors: list[Any]) -> InvalidRequest:
    """Return the error for what pydantic found; ``field`` and ``value`` are of the first."""
    found = [{"field": _field(error["loc"]), "message": str(error["msg"])} for error in errors[:_MAX_ERRORS]]
    first = found[0]
    where = f"{first['field']}: " if first["field"] else ""
    more = f" {len(errors) - 1} more in 'errors'." if len(errors) > 1 else ""
    return InvalidRequest(
        f"{where}{first['message']}.{more}",
        hint="The OpenAPI document describes what this operation takes.",
        field=first["field"] or None,
        value=_harmless(errors[0]),
        errors=found,
    )


def install(app: FastAPI) -> None:
    """Make ``app`` answer every exception with a problem document."""
    app.add_exception_handler(AssetCatalogError, _catalog_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)
    for kind in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(kind, _database_unavailable)


def _catalog_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, AssetCatalogError)  # noqa: S101 - Starlette's handler type knows only Exception
    if type(error).status >= 500:
        log.warning("asset catalogue: %s", error)
    return problem_response(error)


def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return problem_response(from_validation(list(error.errors())))


def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    headers = {"Allow": _allowed(request)} if error.status_code == MethodNotAllowed.status else error.headers
    return problem_response(_described(request, error), headers)


def _described(request: Request, error: HTTPException) -> AssetCatalogError:
    """Say in our words what Starlette or Airflow refused."""
    kind = _OF_STATUS.get(error.status_code, InvalidRequest if error.status_code < 500 else AssetCatalogError)
    path = request.url.path
    if kind is NotFound:
        return NotFound(f"There is nothing at {path!r}.", hint="The OpenAPI document lists every address.")
    if kind is MethodNotAllowed:
        return MethodNotAllowed(
            f"{request.method} is not possible at {path!r}.", hint=f"Use {_allowed(request)}."
        )
    return kind(str(error.detail))


def _allowed(request: Request) -> str:
    """Return the methods of an address; Starlette names only those of the first route that it finds there."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods
    return ", ".join(sorted(found))


def _database_unavailable(request: Request, error: Exception) -> Response:
    number = _log_with_id(request, error)
    return problem_response(
        CatalogUnavailable(
            "The catalogue's database did not answer.",
            hint="Try again; if it lasts, `airflow assets-catalog doctor` on the API server says why.",
            log_id=number,
        )
    )


def unexpected(request: Request, error: Exception) -> Response:
    """Log what nobody expected under a number, and answer with nothing but the number."""
    number = _log_with_id(request, error)
    return problem_response(
        AssetCatalogError(
            "The catalogue made an error of its own.",
            hint=f"The API server's log has the details under {number}.",
            log_id=number,
        )
    )


def _log_with_id(request: Request, error: Exception) -> str:
    number = uuid.uuid4().hex[:12]
    log.error("asset catalogue: %s failed [%s]", request.method, number, exc_info=error)
    return number


def _headers(error: AssetCatalogError) -> dict[str, str]:
    if isinstance(error, NotAuthenticated):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, CatalogUnavailable):
        return {"Retry-After": str(error.members.get("retry_after", RETRY_AFTER))}
    return {}


def _harmless(error: Any) -> str | int | float | None:
    """Return the value that broke a rule, unless it is a secret: errors reach the logs of tasks."""
    value, secret = error.get("input"), any(is_sensitive(str(part)) for part in error["loc"])
    return value if isinstance(value, (str, int, float)) and not secret else None


def _field(location: tuple[int | str, ...]) -> str:
    """``("items", 3, "asset", "id")`` -> ``items[3].asset.id``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON can hold it: an error message must never fail for the value it reports."""
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return str(value)
