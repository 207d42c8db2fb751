"""Names that a package looks up when they are used (PEP 562), so that importing the package costs nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def exports(
    package: str, homes: Mapping[str, Sequence[str]], short: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    For type checkers and editors the package also imports the names ``if TYPE_CHECKING``, and lists them in
    ``__all__``.

    :param homes: by module: the names that it has.
    :param short: by short name: the name of ``homes`` that it stands for.

    >>> get, _ = exports("airflow_assets", {"airflow_assets.lazy": ("exports",)}, short={"lazily": "exports"})
    >>> get("lazily") is exports
    True
    """
    home_of = {name: module for module, names in homes.items() for name in names}
    short = short or {}

    def look_up(name: str) -> Any:
        whole = short.get(name, name)
        home = home_of.get(whole)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home), whole)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *short})

    return look_up, names
