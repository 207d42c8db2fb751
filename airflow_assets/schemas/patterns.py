"""Patterns that users write run on RE2: linear in the text, whatever the pattern."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from airflow_assets.exceptions import InvalidQuery

MAX_PATTERN = 1_000


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return the compiled RE2 pattern.

    :raises InvalidQuery: the pattern has over 1,000 characters or RE2 refuses it.
    """
    if len(pattern) > MAX_PATTERN:
        raise InvalidQuery(
            f"The pattern has {len(pattern):,} characters; at most {MAX_PATTERN:,} are allowed.",
            field="value",
            limit=MAX_PATTERN,
            value=pattern,
        )
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise InvalidQuery(
            f"RE2 refuses the pattern {pattern!r}: {reason}.",
            hint="RE2 has no look-around and no back-references.",
            field="value",
            value=pattern,
        ) from None
