"""Objects as JSON lines: one object a line, whichever way a reader splits lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from airflow_assets.schemas.base import Schema

# Line ends for Python's splitlines() and for JavaScript, but not for JSON, which leaves them as they are.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\u0085\u2028\u2029"}


def json_line(item: Schema) -> str:
    """Return the JSON form of an object, with one line end: the last character."""
    return line_of(item.to_json())


def line_of(value: dict[str, Any]) -> str:
    """Return a JSON object as one line."""
    return json_text(value).translate(_LINE_ENDS) + "\n"
