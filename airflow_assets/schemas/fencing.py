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


def fencing_header(tokens: Mapping[str, int]) -> str:
    """Return the header's value.

    >>> read_fencing_header(fencing_header({"größe": 7}))
    {'größe': 7}
    """
    return base64.urlsafe_b64encode(json_text(dict(tokens)).encode()).decode("ascii")


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
    if not isinstance(found, dict) or not all(type(token) is int for token in found.values()):
        raise _unreadable(text)
    return found


def _unreadable(text: str) -> InvalidRequest:
    return InvalidRequest(
        f"The header {FENCING_HEADER} cannot be read.",
        hint='It is the base64url of a JSON object, asset id to number: {"analytics.orders": 7}.',
        field=FENCING_HEADER,
        value=text,
    )
