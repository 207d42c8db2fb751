"""Write down what rivers offers: names, parameters, defaults, error types; facts only, no text of its own.

Runs where rivers is installed, with nothing else: ``python scripts/read_rivers.py > FILE``. The result lies
in tests/unit/authoring/rivers_0_6_2.json; ``python -m scripts.write_parity`` reads it. Given a file of
values by expression (rivers_values.json there) it asks for them anew, and writes them into the file.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import pathlib
import pkgutil
import re
import sys
from datetime import datetime
from typing import Any


def signature(callable_: Any) -> str | None:
    """The parameters with their defaults, ``...`` where one is not shown; none where nothing is told."""
    try:
        found = inspect.signature(callable_)
    except (TypeError, ValueError):
        return None
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
        if parameter.name not in {"self", "cls"} and not parameter.name.startswith("_")
    ]
    return re.sub("Ellipsis", "...", str(inspect.Signature(plain)))


def fact(value: Any, root: str) -> dict[str, Any] | str:
    """What there is to say about one thing; only what it is, where that is all."""
    if inspect.isclass(value):
        return of_class(value, root)
    if callable(value):
        return {"what": "function", "signature": signature(value)}
    return "module" if inspect.ismodule(value) else "value"


def of_class(cls: type, root: str) -> dict[str, Any]:
    own = [base for base in cls.__mro__ if base.__module__.split(".")[0] == root]
    found: dict[str, Any] = {"what": "class", "bases": [base.__name__ for base in cls.__mro__[1:-1]]}
    if issubclass(cls, BaseException):
        return {"what": "error", "bases": found["bases"][:1]}
    told = signature(cls)
    if told not in {None, "()", *map(signature, own[1:])}:
        found["signature"] = told
    inherited = {name for base in own[1:] for name in vars(base)}
    found["members"] = {
        name: member(cls, name, root)
        for name in sorted(vars(cls))
        if not name.startswith("_") and not name.startswith("model_") and name not in inherited
    }
    return found


def member(cls: type, name: str, root: str) -> dict[str, Any] | str:
    raw, value = inspect.getattr_static(cls, name), getattr(cls, name)
    if inspect.isclass(value):
        # The variants of a tagged union inherit all of it; what is their own is told.
        return of_class(value, root)
    if isinstance(value, cls):
        return "member"
    if callable(value):
        how = "method" if type(raw).__name__ in {"method_descriptor", "function"} else "class method"
        return {"what": how, "signature": signature(value)}
    return "attribute"


def main() -> None:
    package = importlib.import_module("rivers")
    names: dict[str, Any] = {name: fact(getattr(package, name), "rivers") for name in sorted(package.__all__)}
    for module in ("exceptions", "testing", "io_handlers"):
        found = importlib.import_module(f"rivers.{module}")
        names[module] = {
            "what": "module",
            "members": {
                name: "name" if name in names else fact(getattr(found, name), "rivers")
                for name in sorted(public(found))
            },
        }
    # Extras that are not installed are told by the names of their modules.
    names["integrations"] = {"what": "module", "members": inside("rivers.integrations")}
    names["io_handlers"]["members"].update(inside("rivers.io_handlers", packages_only=True))
    document = {"package": "rivers", "version": importlib.metadata.version("rivers"), "names": names}
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


def inside(package: str, *, packages_only: bool = False) -> dict[str, str]:
    modules = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return {one.name: "module" for one in modules if one.name[0] != "_" and (one.ispkg or not packages_only)}


def ask(path: pathlib.Path) -> None:
    """Write the value of each expression of a file anew, as text."""
    known = {"rs": importlib.import_module("rivers"), "datetime": datetime}
    found = {one: str(eval(one, dict(known))) for one in json.loads(path.read_text())}  # noqa: S307 - ours
    path.write_text(json.dumps(found, indent=1) + "\n")


def public(module: Any) -> list[str]:
    listed = getattr(module, "__all__", None)
    return list(listed) if listed else [name for name in vars(module) if name[0].isupper()]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ask(pathlib.Path(sys.argv[1]))
    else:
        main()
