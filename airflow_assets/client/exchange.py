"""One call over HTTP, without the sending: what to send, what an outcome means, whether to try again.

The synchronous and the asynchronous transport drive it; it does no input or output itself.
"""

from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from airflow_assets.client.failures import error_of, unreachable
from airflow_assets.schemas.operations import JSON_PARAMETERS
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.client.address import Address
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.operations import Operation

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
_BUSY = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, as far as it matters here. Header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Failure:
    """No answer came. ``sent`` is False when the request surely never reached the server's code."""

    error: Exception
    sent: bool


class Exchange:
    """The attempts of one call.

    :param patience: seconds from the first attempt after which a failure is final.
    """

    def __init__(
        self,
        operation: Operation,
        path_id: str | None,
        payload: Schema | None,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.operation = operation
        self.path = _path(operation, path_id)
        self.params = _params(payload) if operation.query and payload is not None else None
        self.body = (
            payload.model_dump_json(by_alias=True, exclude_unset=True) if operation.body and payload else None
        )
        self.renew = False
        """The next attempt must use newer credentials than the last one."""
        self.waits: float = getattr(payload, "timeout", 0.0) if operation.waits else 0.0
        """Seconds for which the request asks the server to wait; they do not count as impatience."""
        self._clock = clock
        self._deadline = clock() + patience + self.waits
        self._attempt = 0

    def judge(
        self, outcome: Answer | Failure, address: Address, shown: str, *, renewable: bool
    ) -> float | None:
        """Return the seconds to wait before another attempt, None when the outcome is a success.

        :param shown: describes the credentials of the attempt, for an error message.
        :raises AssetCatalogError: the outcome is a failure that stands.
        """
        self._attempt += 1
        if isinstance(outcome, Failure):
            pause = self._pause(None) if self._may_repeat(outcome) else None
            if pause is None:
                raise unreachable(self.operation, address, outcome.error, self._attempt, outcome.sent)
            return pause
        if outcome.status < HTTPStatus.MULTIPLE_CHOICES:
            return None
        if outcome.status == HTTPStatus.UNAUTHORIZED and renewable and not self.renew:
            self.renew = True
            return 0.0
        pause = self._pause(_retry_after(outcome)) if self._may_repeat(outcome) else None
        if pause is None:
            raise error_of(outcome, self.operation, address, shown)
        return pause

    def result(self, answer: Answer, address: Address) -> Any:
        """Return the operation's response model."""
        if self.operation.response is None:
            return None
        try:
            return _adapter(self.operation.response).validate_json(answer.body)
        except ValidationError as error:
            from airflow_assets.exceptions import AssetCatalogError

            raise AssetCatalogError(
                f"The answer of {address.api} to {self.operation.name} cannot be read: {error}.",
                hint="Client and server must have the same version of airflow-provider-assets.",
            ) from error

    def _may_repeat(self, outcome: Answer | Failure) -> bool:
        """Repeat what has no further effect, or what was surely not processed."""
        if isinstance(outcome, Failure):
            return self.operation.idempotent or not outcome.sent
        if outcome.status == HTTPStatus.TOO_MANY_REQUESTS:
            return True
        # With Retry-After a 503 is a refusal; without it the request may have been carried out.
        refused = outcome.status == HTTPStatus.SERVICE_UNAVAILABLE and "retry-after" in outcome.headers
        return outcome.status in _BUSY and (self.operation.idempotent or refused)

    def _pause(self, wanted: float | None) -> float | None:
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._attempt - 1))
        jittered = longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads clients, guards nothing
        pause = jittered if wanted is None else wanted + jittered
        return pause if self._clock() + pause <= self._deadline else None


@lru_cache(maxsize=64)
def _adapter(response: Any) -> TypeAdapter[Any]:
    return TypeAdapter(response)


def _path(operation: Operation, path_id: str | None) -> str:
    if path_id is None:
        return operation.path
    encoded = quote(path_id, safe="")
    return re.sub(r"\{\w+\}", lambda _: encoded, operation.path)


def _params(query: Schema) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in query.model_dump(mode="json", by_alias=True, exclude_unset=True).items():
        if name in JSON_PARAMETERS:
            found.append((name, json_text(value)))
        elif isinstance(value, list):
            found += [(name, _text(item)) for item in value]
        elif value is not None:
            found.append((name, _text(value)))
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _retry_after(answer: Answer) -> float | None:
    """Read ``Retry-After``: seconds or a date (RFC 9110); None when it is absent or cannot be read."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds()) if moment.tzinfo else None
