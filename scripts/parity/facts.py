"""The rows of the comparison: one for each name and each parameter, from two files of facts."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DATA = Path(__file__).parents[2] / "tests" / "unit" / "authoring"
RIVERS, PAGE = "rivers 0.6.2", "the page"
SOURCES = {RIVERS: DATA / "rivers_0_6_2.json", PAGE: DATA / "rivers_page.json"}
UNSAID = "..."
"""A default that a signature does not show."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: how it may be given (``either``, ``keyword``), and its default; null: it has none."""

    name: str
    kind: str
    default: str | None


@dataclass
class Row:
    """A name such as ``Asset.from_multi``, or a parameter of one, ``Asset.from_multi(deps)``."""

    path: str
    what: str
    sources: list[str] = field(default_factory=list)
    signature: str | None = None
    parameter: Parameter | None = None

    @property
    def owner(self) -> str:
        """The name that a parameter belongs to."""
        return self.path.partition("(")[0]

    @property
    def top(self) -> str:
        """The first part of the name, which has a section of the page."""
        return self.owner.partition(".")[0]


def rows() -> list[Row]:
    """Return the rows of both files, each once; what rivers does counts where the page says less."""
    found: dict[str, Row] = {}
    for source, path in SOURCES.items():
        for row in _walk("", json.loads(path.read_text(encoding="utf-8"))["names"]):
            known = found.setdefault(row.path, row)
            known.sources.append(source)
            if row.parameter and known.parameter and known.parameter.default == UNSAID:
                known.parameter = Parameter(row.parameter.name, known.parameter.kind, row.parameter.default)
    return sorted(found.values(), key=lambda row: (row.top.lower(), row.owner))  # parameters stay in order


def parameters(signature: str) -> list[Parameter]:
    """Return the parameters of a signature.

    >>> parameters("(value=None, *, tags=...)")[1]
    Parameter(name='tags', kind='keyword', default='...')
    """
    (function,) = ast.parse(f"def f{signature}: ...").body
    given = cast("ast.FunctionDef", function).args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    found = [_parameter(one, "either", default) for one, default in zip(positional, defaults, strict=True)]
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return found + [_parameter(one, "keyword", default) for one, default in pairs]


def _parameter(one: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
    return Parameter(one.arg, kind, None if default is None else ast.unparse(default))


def _walk(prefix: str, names: Mapping[str, Any]) -> Iterator[Row]:
    for name, fact in names.items():
        path = f"{prefix}{name}"
        told: Mapping[str, Any] = {"what": fact} if isinstance(fact, str) else fact
        signature = told.get("signature")
        yield Row(path, told["what"], signature=signature)
        for one in parameters(signature) if signature else ():
            yield Row(f"{path}({one.name})", "parameter", parameter=one)
        yield from _walk(f"{path}.", told.get("members", {}))
