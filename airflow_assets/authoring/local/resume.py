"""What earlier launches of a run have done, for one that goes on with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.fanout import KEYS
from airflow_assets.authoring.errors import ExecutionError
from airflow_assets.authoring.metadata_values import MetadataValue

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.plan import Plan
    from airflow_assets.authoring.local.schedule import Unit
    from airflow_assets.authoring.storage.records import StoredEvent


@dataclass(frozen=True)
class Before:
    """What is known of earlier launches; of a run that is new: nothing.

    :param done: nodes that succeeded.
    :param ended: actions that failed for good: they are not run again.
    :param tries: actions that were cut off, with the tries they had.
    :param fan_keys: the keys of elements, by the task that gave them.
    """

    done: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()
    tries: Mapping[str, int] = field(default_factory=dict)
    fan_keys: Mapping[str, list[str]] = field(default_factory=dict)

    def is_done(self, nodes: Sequence[str]) -> bool:
        """Tell whether all of these succeeded."""
        return bool(self.done) and all(name in self.done for name in nodes)

    def failed(self, unit: Unit) -> ExecutionError | None:
        """Return why an action is not run again; null where it may be, or is no action."""
        if unit.planned.action is None or unit.name in self.done:
            return None
        if unit.name in self.ended:
            return ExecutionError("It failed in an earlier launch of this run; actions are not run again")
        budget = unit.planned.step.retry.max_retries if unit.planned.step.retry else 0
        if self.tries.get(unit.name, 0) > budget:
            return ExecutionError("It was cut off in an earlier launch of this run, and has no try left")
        return None


def before(events: Sequence[StoredEvent], plan: Plan) -> Before:
    """Return what the events of earlier launches tell about a plan's steps."""
    last: dict[str, str] = {}
    starts: Counter[str] = Counter()
    keys: dict[str, list[str]] = {}
    for event in events:
        name = event.asset_key or ""
        if event.event_type == "StepStart":
            starts[name] += 1
            last[name] = "StepStart"
        elif event.event_type == "StepSuccess" or (
            event.event_type == "StepFailure" and event.partition_key is None
        ):
            last[name] = event.event_type
        elif event.event_type == "Materialization":
            found = stored_keys(event)
            if found is not None:
                keys[name] = found
    done = frozenset(name for name, kind in last.items() if kind == "StepSuccess")
    acting = {planned.name for planned in plan.steps if planned.action is not None}
    ended = frozenset(name for name, kind in last.items() if kind == "StepFailure" and name in acting)
    return Before(done, ended, {name: starts[name] for name in acting if name in starts}, keys)


def stored_keys(event: StoredEvent) -> list[str] | None:
    """Return the keys of elements that a stored materialization tells; null where it tells none."""
    text = dict(event.metadata).get(KEYS)
    if text is None:
        return None
    return list(json.loads(MetadataValue.from_json(json.loads(text)).raw_value()))
