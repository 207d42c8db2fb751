"""When a script's outcome is a match: ``exit N``, else a pattern, else plain text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.running.variables import as_text
from airflow_assets.schemas.patterns import MAX_PATTERN, compile_pattern

if TYPE_CHECKING:
    from airflow_assets.running.result import Outcome

_EXIT = re.compile(r"exit\s+(\d+)", re.IGNORECASE | re.ASCII)


def checked_condition(condition: object) -> str:
    """Return the condition without outer white space.

    Raises:
        InvalidRequest: it is no text, blank, or longer than 1,000 characters.
    """
    if not isinstance(condition, str):
        raise InvalidRequest(
            f"exit_condition={condition!r} is not a text.",
            hint="Write 'exit 0', or a pattern that the script's variables or failure logs contain.",
            field="exit_condition",
        )
    if not condition.strip():
        raise InvalidRequest(
            "exit_condition is blank: it would never match.",
            hint="Write 'exit 0', or a pattern that the script's variables or failure logs contain.",
            field="exit_condition",
        )
    if len(condition.strip()) > MAX_PATTERN:
        raise InvalidRequest(
            f"exit_condition has {len(condition.strip()):,} characters; at most {MAX_PATTERN:,} are allowed.",
            hint="Let the script decide, and say so by its exit code.",
            field="exit_condition",
            limit=MAX_PATTERN,
        )
    return condition.strip()


def matches(condition: str, outcome: Outcome) -> bool:
    """Tell whether an outcome fulfils a condition.

    ``exit N`` (any case) compares the exit code. Anything else is searched, as an RE2 pattern, in what there
    is to see: the variables' textual form after an exit code of 0, the failure logs after any other. What RE2
    refuses is searched as plain text. A script that ended well and said no variables matches no pattern.
    """
    condition = checked_condition(condition)
    wanted = _EXIT.fullmatch(condition)
    if wanted is not None:
        return int(wanted.group(1)) == outcome.exit_code
    text = outcome.logs if outcome.variables is None else as_text(outcome.variables)
    if outcome.variables == {}:
        return False
    try:
        return compile_pattern(condition).search(text) is not None
    except InvalidQuery:
        return condition in text
