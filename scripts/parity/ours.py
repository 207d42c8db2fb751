"""What this package has under a name, and how it differs from what a row tells of it."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import textwrap
from functools import cache, partial
from typing import Any

import airflow_assets
from airflow_assets.testing import memory_storage
from scripts.parity.facts import UNSAID, Parameter, Row, parameters

MODULES = ("exceptions", "testing")
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
}
MISSING = object()


def find(path: str) -> Any:
    """Return the thing of a dotted name, a text for an attribute that only instances have, or ``MISSING``."""
    first, *rest = path.split(".")
    found: Any = airflow_assets
    if first in MODULES:
        found = importlib.import_module(f"airflow_assets.{first}")
    else:
        rest.insert(0, first)
    for name in rest:
        here = getattr(_storage() if found is airflow_assets.Storage else found, name, MISSING)
        is_class = inspect.isclass(found)  # asked apart: a narrowed type is no key of a cache to mypy
        if here is MISSING and is_class and name in attributes(found):
            here = f"attribute {name}"
        if here is MISSING:
            return MISSING
        found = here
    return found


@cache
def _storage() -> Any:
    """What a repository records into: it has methods that no class shows, the ``async_`` twins."""
    return memory_storage()


@cache
def attributes(cls: Any) -> frozenset[str]:
    """Return the attributes of instances: what is annotated, and what the methods assign to self."""
    names: set[str] = set()
    for owner in cls.__mro__[:-1]:
        names |= set(vars(owner).get("__annotations__", ()))
        if owner.__module__.startswith("airflow_assets"):
            tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
            names |= {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            }
    return frozenset(names)


def exists(row: Row) -> bool:
    """Tell whether there is such a name, or such a parameter."""
    found = find(row.owner)
    if row.parameter is None or found is MISSING:
        return found is not MISSING
    return row.parameter.name in signature(found)


def difference(row: Row) -> str | None:
    """Return what is not the same; null where all is."""
    found = find(row.owner)
    if found is MISSING:
        return "it is missing"
    if row.parameter is not None:
        return _difference_of(row.parameter, signature(found).get(row.parameter.name))
    if row.what == "error" and not (inspect.isclass(found) and issubclass(found, Exception)):
        return f"it is no exception but {found!r}"
    if row.what == "class" and not inspect.isclass(found):
        return f"it is no class but {found!r}"
    if row.what in {"function", "method", "class method"}:
        return _difference_of_call(row, found)
    return None


def signature(found: Any) -> dict[str, Parameter]:
    """Return the parameters of a class or function by name, without ``self``."""
    if not callable(found):
        return {}
    if isinstance(found, partial) and found.func is asyncio.to_thread:
        found = found.args[0]
    told = inspect.signature(found).parameters.values()
    return {
        one.name: Parameter(one.name, _KINDS[one.kind], _default(one))
        for one in told
        if one.kind in _KINDS and one.name != "self" and not one.name.startswith("_")
    }


def _default(parameter: inspect.Parameter) -> str | None:
    return None if parameter.default is inspect.Parameter.empty else repr(parameter.default)


def _difference_of(theirs: Parameter, ours: Parameter | None) -> str | None:
    if ours is None:
        return f"there is no parameter {theirs.name}"
    if ours.kind != theirs.kind:
        return f"{theirs.name} is {theirs.kind} there and {ours.kind} here"
    if theirs.default == UNSAID:
        return None if ours.default is not None else f"{theirs.name} is required here"
    if ours.default != theirs.default:
        return f"the default of {theirs.name} is {theirs.default} there and {ours.default} here"
    return None


def _difference_of_call(row: Row, found: Any) -> str | None:
    """The order of what may be given by position, and what must be given; the rest is told by parameter."""
    if not callable(found):
        return f"it cannot be called: {found!r}"
    theirs = [one.name for one in parameters(row.signature or "()")]
    ours = signature(found)
    shared = [name for name in ours if name in theirs and ours[name].kind != "keyword"]
    if shared != [name for name in theirs if name in shared]:
        return f"the order of its parameters is {theirs} there and {list(ours)} here"
    more = [name for name, one in ours.items() if name not in theirs and one.default is None]
    return f"it requires {more} here" if more else None
