"""Fencing numbers as they travel with a request: base64url of a JSON object, asset id -> number."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.credentials import FENCING_HEADER
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_HEADER = 24_000
"""Characters of the header; servers refuse requests with headers beyond 32 to 64 KiB."""
_MAX_TOKEN = (1 << 63) - 1


def fencing_header(tokens: Mapping[str, int]) -> str:
    """Return the header's value.

    :raises InvalidRequest: there are more numbers than a header can hold.

    >>> read_fencing_header(fencing_header({"größe": 7}))
    {'größe': 7}
    """
    text = base64.urlsafe_b64encode(json_text(dict(tokens)).encode()).decode("ascii")
    if len(text) > MAX_HEADER:
        raise InvalidRequest(
            f"The fencing numbers of {len(tokens)} assets make a header of {len(text):,} characters.",
            hint="Hold fewer locks at once, or write outside of their blocks.",
            field=FENCING_HEADER,
            limit=MAX_HEADER,
            value=len(text),
        )
    return text


def read_fencing_header(text: str | None) -> dict[str, int]:
    """Return the numbers of a header's value; none without a header.

    :raises InvalidRequest: it cannot be read.
    """
    if not text:
        return {}
    try:
        found = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=="))
    except (ValueError, binascii.Error, RecursionError):
        raise _unreadable(text) from None
    if len(text) > MAX_HEADER or not isinstance(found, dict) or not all(map(_is_token, found.values())):
        raise _unreadable(text)
    return found


def _is_token(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_TOKEN


def _unreadable(text: str) -> InvalidRequest:
    return InvalidRequest(
        f"The header {FENCING_HEADER} cannot be read.",
        hint='It is the base64url of a JSON object, asset id to number: {"analytics.orders": 7}.',
        field=FENCING_HEADER,
        value=text,
    )
