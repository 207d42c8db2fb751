"""What went wrong over HTTP, as a typed error that says where it happened and what to do."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from airflow_assets.exceptions import (
    PROBLEM_PREFIX,
    AssetCatalogError,
    CatalogUnavailable,
    InvalidRequest,
    NotAuthenticated,
    NotPermitted,
    from_problem,
)

if TYPE_CHECKING:
    from airflow_assets.client.address import Address
    from airflow_assets.client.exchange import Answer
    from airflow_assets.schemas.operations import Operation

SHOWN_BODY = 200
NOTICEABLE_SKEW = 20.0
_BY_STATUS: dict[int, type[AssetCatalogError]] = {
    401: NotAuthenticated,
    403: NotPermitted,
    413: InvalidRequest,
    422: InvalidRequest,
    429: CatalogUnavailable,
    502: CatalogUnavailable,
    503: CatalogUnavailable,
    504: CatalogUnavailable,
}


def unreachable(
    operation: Operation, address: Address, error: Exception, attempts: int, sent: bool
) -> CatalogUnavailable:
    """Return the error of a call that got no answer."""
    unclear = (
        " The request may have been carried out: look before you repeat it."
        if sent and not operation.idempotent
        else ""
    )
    times = "once" if attempts == 1 else f"{attempts} times"
    return CatalogUnavailable(
        f"The catalogue at {address.api} (address from {address.origin}) did not answer {operation.name}, "
        f"tried {times}: {type(error).__name__}: {error}.{unclear}",
        hint="Is the API server running, and can this host reach that address? If it is another one from "
        "here, set [airflow_assets] api_url.",
    )


def error_of(answer: Answer, operation: Operation, address: Address, shown: str) -> AssetCatalogError:
    """Return the typed error of an answer that is none of success.

    :param shown: the credentials that were shown, in words.
    """
    problem = _json_object(answer)
    if answer.status == HTTPStatus.UNAUTHORIZED:
        return _not_authenticated(answer, problem, address, shown)
    if str(problem.get("type", "")).startswith(PROBLEM_PREFIX):
        return from_problem(problem)
    return _foreign(answer, problem, operation, address)


def _not_authenticated(
    answer: Answer, problem: dict[str, Any], address: Address, shown: str
) -> NotAuthenticated:
    said = str(problem.get("detail") or "the server gave no reason")
    skew = _skew(answer)
    clocks = f" The server's clock is {skew:+.0f} s off this host's." if abs(skew) >= NOTICEABLE_SKEW else ""
    return NotAuthenticated(
        f"The catalogue at {address.api} (address from {address.origin}) refused {shown}. "
        f"It said: {said}{clocks}",
        hint=str(problem.get("hint") or "") or "Compare both sides with `airflow assets-catalog doctor`.",
        http_status=401,
    )


def _foreign(
    answer: Answer, problem: dict[str, Any], operation: Operation, address: Address
) -> AssetCatalogError:
    """An answer that the catalogue did not write: a proxy's, Airflow's own, another server's."""
    kind = _BY_STATUS.get(answer.status, AssetCatalogError)
    where = f"{operation.method} {operation.name} at {address.api} (address from {address.origin})"
    target = answer.headers.get("location")
    if target:
        return kind(
            f"{where} was redirected to {target}.", hint="Use that address.", http_status=answer.status
        )
    text = str(
        problem.get("detail") or answer.body[:SHOWN_BODY].decode("utf-8", "replace").strip() or "no text"
    )
    hint = None
    if answer.status == HTTPStatus.NOT_FOUND:
        hint = "Is that address Airflow's API server, with its base path, and the provider installed there?"
    elif kind is CatalogUnavailable:
        hint = "Try again later; a proxy or the API server is overloaded or restarting."
    return kind(f"{where} answered {answer.status}: {text}", hint=hint, http_status=answer.status)


def _json_object(answer: Answer) -> dict[str, Any]:
    if "json" not in answer.headers.get("content-type", ""):
        return {}
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _skew(answer: Answer) -> float:
    try:
        server = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return 0.0
    return (server - datetime.now(timezone.utc)).total_seconds() if server.tzinfo else 0.0
