"""``::{...}::`` lines: how a script says something beside its ordinary output."""

from __future__ import annotations

import json
import re
from typing import Any

_LINE = re.compile(r"::(\{.*\})::")


def content_of(line: str) -> str | None:
    """Return the JSON of a line that is wholly ``::{...}::``, blanks around it aside; else None."""
    found = _LINE.fullmatch(line.strip())
    return None if found is None else found.group(1)


def said_in(line: str, **options: Any) -> dict[str, Any] | None:
    """Return the object of a ``::{...}::`` line; None for other lines.

    Args:
        line: one line of output.
        options: for ``json.loads``.

    Raises:
        ValueError: what stands between the colons is no JSON.

    >>> said_in('::{"outputs": {"rows": 3}}::')
    {'outputs': {'rows': 3}}
    """
    content = content_of(line)
    if content is None:
        return None
    said: dict[str, Any] = json.loads(content, **options)
    return said
