"""Checks of arguments that many definitions share: one wording for one mistake."""

from __future__ import annotations

from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
def of_type(value: Any, kind: type[T], what: str) -> T: ...
@overload
def of_type(value: Any, kind: tuple[type, ...], what: str) -> Any: ...
def of_type(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """Return the value if it is of the type.

    Raises:
        TypeError: naming the argument, what it takes and what it got.

    >>> of_type("etl", str, "name")
    'etl'
    """
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = " or ".join(one.__name__ for one in kinds)
        raise TypeError(f"{what} takes {names}, not {type(value).__name__}: {value!r}")
    return value


@overload
def optional(value: Any, kind: type[T], what: str) -> T | None: ...
@overload
def optional(value: Any, kind: tuple[type, ...], what: str) -> Any: ...
def optional(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """Return the value if it is null or of the type; see :func:`of_type`."""
    return None if value is None else of_type(value, kind, what)


@overload
def list_of(value: Any, kind: type[T], what: str) -> list[T]: ...
@overload
def list_of(value: Any, kind: tuple[type, ...], what: str) -> list[Any]: ...
def list_of(value: Any, kind: type | tuple[type, ...], what: str) -> list[Any]:
    """Return a copy of a list or tuple whose elements are of the type.

    Raises:
        TypeError: also for one string, which is not a list of strings.

    >>> list_of(["etl", "daily"], str, "tags")
    ['etl', 'daily']
    """
    of_type(value, (list, tuple), what)
    return [of_type(item, kind, f"{what}[{place}]") for place, item in enumerate(value)]


def texts(value: Any, what: str) -> dict[str, str]:
    """Return a copy of a mapping of strings to strings.

    Raises:
        TypeError: naming the key whose value is no string.
    """
    of_type(value, dict, what)
    return {
        of_type(name, str, f"a key of {what}"): of_type(text, str, f"{what}[{name!r}]")
        for name, text in value.items()
    }
