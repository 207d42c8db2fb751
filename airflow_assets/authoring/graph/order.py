"""The order of things that wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.errors import GraphValidationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def levels(waits: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Return names in groups, each of which waits only for groups before it; inside, in the order given.

    :param waits: name -> names it waits for; those that are no keys are done already.

    Raises:
        GraphValidationError: showing one cycle, and nothing beside it.

    >>> levels({"c": ["a", "b"], "a": [], "b": ["a"]})
    [['a'], ['b'], ['c']]
    """
    open_ends = {name: {other for other in others if other in waits} for name, others in waits.items()}
    readers: dict[str, list[str]] = {name: [] for name in waits}
    for name, others in open_ends.items():
        for other in others:
            readers[other].append(name)
    place = {name: number for number, name in enumerate(waits)}
    group = [name for name, others in open_ends.items() if not others]
    found: list[list[str]] = []
    left = len(open_ends)
    while group:
        found.append(group)
        left -= len(group)
        following = []
        for done in group:
            for reader in readers[done]:
                open_ends[reader].discard(done)
                if not open_ends[reader]:
                    following.append(reader)
        group = sorted(following, key=place.__getitem__)
    if left:
        raise GraphValidationError(f"The assets wait for each other: {' -> '.join(_cycle(open_ends))}")
    return found


def _cycle(waits: Mapping[str, Collection[str]]) -> list[str]:
    """Follow the first thing each name waits for until one comes again."""
    name = next(name for name, others in waits.items() if others)
    path: dict[str, None] = {}
    while name not in path:
        path[name] = None
        name = min(waits[name])
    names = list(path)
    return [*names[names.index(name) :], name]


def closure(wanted: Collection[str], waits: Mapping[str, Collection[str]]) -> set[str]:
    """Return the names and everything they wait for, however far.

    >>> sorted(closure(["c"], {"c": ["b"], "b": ["a"], "a": [], "d": []}))
    ['a', 'b', 'c']
    """
    found: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(waits.get(name, ()))
    return found
