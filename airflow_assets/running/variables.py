"""The variables of a script: what its ``::{"outputs": {...}}::`` lines say, and their text for conditions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_assets.schemas.rules import metadata
from airflow_assets.script_line import said_in

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")


def variables_of(lines: Iterable[bytes]) -> tuple[dict[str, Any], list[str]]:
    """Return the variables of a script's lines, and what was wrong with lines that say none.

    Later lines win, key by key. Characters that no database holds are written as escapes.

    Raises:
        InvalidAsset: the variables break the rules that metadata have: 500 keys, 256 KiB, 20 levels.

    >>> variables_of([b'::{"outputs": {"a": 1, "b": 2}}::', b'::{"outputs": {"b": 3}}::'])
    ({'a': 1, 'b': 3}, [])
    """
    found: dict[str, Any] = {}
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "surrogateescape")
        try:
            said = said_in(text, parse_constant=_no_number)
        except ValueError as error:
            problems.append(f"script line {number}: it is no JSON: {error}.")
            continue
        outputs = (said or {}).get("outputs")
        if isinstance(outputs, dict):
            found.update(_storable(outputs))
        elif outputs is not None:
            problems.append(f"script line {number}: outputs is no object but {type(outputs).__name__}.")
    return metadata(found), problems


def as_text(value: Any) -> str:
    """Return the textual form that a condition's pattern searches.

    >>> as_text({"rows": 3, "ok": True, "tags": ["a", None], "by": {"who": "x"}})
    '{rows=3, ok=true, tags=[a, null], by={who=x}}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={as_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_text, value)) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    # What the decoder made of a byte that is no UTF-8 is told as that byte.
    byte = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code
    return f"\\x{byte:02x}" if byte <= 0xFF else f"\\u{code:04x}"


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _storable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, str):
        return _NOT_STORABLE.sub(_escaped, value)
    return value
