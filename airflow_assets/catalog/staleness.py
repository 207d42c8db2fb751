"""Whether nodes are up to date with their code and with what they were made from. No I/O.

A node without a data version is missing, and nothing else is said of it. One with is stale because its
declared code version is not the one that made it (``Code``), or because of an upstream (``Data``): that is
itself stale or missing, has another version than the one that was used, or has one and none was ever used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_assets.schemas.nodes import Cause, NodeStatus

UP_TO_DATE, STALE, MISSING = "UpToDate", "Stale", "Missing"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is declared and recorded of one node."""

    name: str
    upstreams: tuple[str, ...] = ()
    code_version: str | None = None
    data_version: str | None = None
    materialized_code_version: str | None = None
    input_versions: Mapping[str, str] = field(default_factory=dict)


def statuses(known: Iterable[Knowledge]) -> list[NodeStatus]:
    """Return the status of each node, by name, upstreams that nobody knows counting as missing.

    >>> known = [Knowledge("a", data_version="1"), Knowledge("b", ("a",))]
    >>> [(one.name, one.status) for one in statuses(known)]
    [('a', 'UpToDate'), ('b', 'Missing')]
    """
    nodes = {one.name: one for one in known}
    found: dict[str, NodeStatus] = {}
    for name in nodes:
        _settle(name, nodes, found)
    return [found[name] for name in sorted(found)]


def _settle(name: str, nodes: Mapping[str, Knowledge], found: dict[str, NodeStatus]) -> None:
    """Find the status of a node after those of its upstreams; without recursion: chains may be long."""
    waiting, entered = [name], set()
    while waiting:
        node = nodes[waiting[-1]]
        if node.name in found:
            waiting.pop()
            continue
        open_ends = [up for up in node.upstreams if up in nodes and up not in found and up not in entered]
        entered.add(node.name)
        if open_ends and node.data_version is not None:
            waiting.extend(open_ends)
            continue
        found[node.name] = _status(node, nodes, found)
        waiting.pop()


def _status(node: Knowledge, nodes: Mapping[str, Knowledge], found: Mapping[str, NodeStatus]) -> NodeStatus:
    if node.data_version is None:
        return NodeStatus(name=node.name, status=MISSING, causes=[])
    causes = []
    if node.code_version is not None and node.code_version != node.materialized_code_version:
        causes.append(Cause(category="Code", reason="code version changed"))
    for upstream in node.upstreams:
        reason = _reason(node, upstream, nodes.get(upstream), found)
        if reason is not None:
            causes.append(
                Cause(category="Data", reason=f"upstream {upstream!r} {reason}", dependency=upstream)
            )
    return NodeStatus(name=node.name, status=STALE if causes else UP_TO_DATE, causes=causes)


def _reason(
    node: Knowledge, name: str, upstream: Knowledge | None, found: Mapping[str, NodeStatus]
) -> str | None:
    if upstream is None or upstream.data_version is None:
        return "is stale"
    if name in found and found[name].status == STALE:
        return "is stale"
    used = node.input_versions.get(name)
    if used is None:
        return "has data not yet consumed"
    return None if used == upstream.data_version else "has new data version"
