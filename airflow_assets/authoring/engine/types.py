"""Whether a value is of the type that its asset declares."""

from __future__ import annotations

import types
import typing
from typing import Any

from airflow_assets.authoring.errors import AssetOutputValidationError
from airflow_assets.authoring.results import Materialization, Observation, Output

_UNCHECKED = (Any, None, type(None), Output, Materialization, Observation)


def check_type(owner: str, value: Any, hint: Any) -> None:
    """Look whether a value is an instance of the outer type of an annotation.

    ``list[int]`` asks for a list; an int is no float, a bool is an int. ``Any``, nothing and the result types
    ask for nothing.

    Raises:
        AssetOutputValidationError: naming the asset and both types.

    >>> check_type("orders", [1], list[int])
    """
    if not is_of(value, hint):
        raise AssetOutputValidationError(
            f"Asset {owner!r} declares {_shown(hint)} and gave {type(value).__name__}: {_cut(repr(value))}"
        )


def is_of(value: Any, hint: Any) -> bool:
    """Tell whether the value is of the type; what cannot be told counts as yes."""
    if any(hint is unchecked for unchecked in _UNCHECKED):
        return True
    origin = typing.get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        return any(
            value is None if part is type(None) else is_of(value, part) for part in typing.get_args(hint)
        )
    if origin is typing.Annotated:
        return is_of(value, typing.get_args(hint)[0])
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    try:
        return isinstance(value, origin or hint)
    except TypeError:
        return True  # a type variable, a protocol without a check at run time


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _cut(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}..."
