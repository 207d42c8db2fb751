"""The assets of `assets`: functions that do nothing but pass on what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 100
"""How many assets of `many` wait for each other."""


def bodies(shape: str, count: int) -> list[Callable[..., Any]]:
    """Return functions: `chain` of so many, `fan` of one and so many readers, `many` in chains of 100."""
    names = [f"a{number}" for number in range(count + (shape == "fan"))]
    if shape == "chain":
        reads = {name: names[place - 1] for place, name in enumerate(names) if place}
    elif shape == "fan":
        reads = dict.fromkeys(names[1:], names[0])
    else:
        reads = {name: names[place - 1] for place, name in enumerate(names) if place % LONG}
    lines = (f"def {name}({reads.get(name, '')}): return {reads.get(name, 0)}" for name in names)
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)  # noqa: S102 - thousands of functions with parameters of their own
    return [made[name] for name in names]
