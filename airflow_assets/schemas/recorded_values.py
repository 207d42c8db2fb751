"""The values that steps of assets written in Python record, as far as they are checked."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas import rules

MAX_NUMBER = 2**31 - 1
MAX_EVENTS = 10_000
MAX_AGO = 366 * 86_400.0


def _storable(value: object) -> object:
    """Refuse a text, or a document, that a database cannot hold."""
    try:
        if isinstance(value, str):
            value.encode()
        else:
            rules.json_text(value).encode()
        fits = not (isinstance(value, str) and "\0" in value)
    except (TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise InvalidRequest(
            "A text has U+0000 or half of a surrogate pair, or a document is no JSON (NaN, Infinity).",
            hint="Decode the text with errors='replace' first; write such numbers as text.",
        )
    return value


def _partition_key(value: object) -> object:
    """Refuse what is no partition key: ``{"single": [...]}``, ``{"multi": {...}}`` or ``{"set": [...]}``."""
    if isinstance(value, str):
        try:
            document = json.loads(value)
            rules.json_text(document).encode()
            count = _count_keys(document)
        except (ValueError, RecursionError):
            count = 0
        if not 1 <= count <= MAX_EVENTS:
            raise InvalidRequest(
                f"{value[:100]!r} stands for no partitions, or for more than {MAX_EVENTS:,}.",
                hint='Give {"single": ["a"]}, {"multi": {"day": ["1"]}} or {"set": [...]} as a JSON text.',
                field="partitionKey",
            )
    return value


def _count_keys(document: Any, *, in_set: bool = False) -> int:
    """How many single keys a key stands for; 0 for what is none."""
    if not isinstance(document, dict) or len(document) != 1:
        return 0
    ((form, value),) = document.items()
    if form == "set" and not in_set and _is_list(value):
        counts = [_count_keys(one, in_set=True) for one in value]
        return sum(counts) if all(counts) else 0
    if form == "multi" and isinstance(value, dict) and value:
        return math.prod(len(keys) if _are_texts(keys) else 0 for keys in value.values())
    return len(value) if form == "single" and _are_texts(value) else 0


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _are_texts(value: Any) -> bool:
    return _is_list(value) and all(isinstance(one, str) and one for one in value)


def _tagged(value: object) -> object:
    """Refuse what is no tagged value, ``{"Int": {"value": 3}}``."""
    if isinstance(value, dict):
        fields = next(iter(value.values()), None) if len(value) == 1 else None
        listed = "List" not in value or (isinstance(fields, dict) and isinstance(fields.get("values"), list))
        if not isinstance(fields, dict) or not listed:
            raise InvalidRequest(
                "A value of a step's metadata is its kind with its fields.",
                hint='Give {"Int": {"value": 3}}.',
                field="metadata",
            )
        for one in fields.get("values", ()) if "List" in value else ():
            _tagged(one if isinstance(one, dict) else {})
    return value


Storable = BeforeValidator(_storable)
RunId = Annotated[str, Field(min_length=1, max_length=250), Storable]
Name = Annotated[str, Field(min_length=1, max_length=1500), Storable]
Text = Annotated[str, Storable]
Label = Annotated[str, Field(max_length=250), Storable]
Number = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Document = Annotated[dict[str, Any], Storable]
PartitionKeyText = Annotated[str, Storable, BeforeValidator(_partition_key)]
Tagged = Annotated[dict[str, Any], Storable, BeforeValidator(_tagged)]
