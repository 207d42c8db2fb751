"""What each action needs, for people and for tasks; docs/permissions.md shows the same as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airflow_assets.exceptions import NotPermitted
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.operations import Action, Operation
from airflow_assets.schemas.queries import Batch, BatchAction

AIRFLOW_METHODS: Final[dict[Action, str]] = {
    Action.LIST: "GET",
    Action.VIEW: "GET",
    Action.CREATE: "POST",
    Action.UPDATE: "PUT",
    Action.DELETE: "DELETE",
    Action.LOCK: "PUT",
    Action.UNLOCK: "PUT",
}
"""Which right on Airflow's assets a person needs. RECORD and REPORT are missing: only a task says what it
did, only a trigger what it found."""

READS: Final = frozenset({Action.LIST, Action.VIEW})
OF_TRIGGERS: Final = READS | {Action.REPORT}
OF_DAG_FILES: Final = frozenset({Action.LIST})

_OF_BATCH: Final = {
    BatchAction.CREATE: frozenset({Action.CREATE}),
    BatchAction.UPDATE: frozenset({Action.UPDATE}),
    BatchAction.UPSERT: frozenset({Action.CREATE, Action.UPDATE}),
    BatchAction.DELETE: frozenset({Action.DELETE}),
}


def actions_of(operation: Operation, body: Schema | None) -> frozenset[Action]:
    """Return every action a request needs, beyond its operation's also those that its body asks for.

    An upsert may create; a batch needs what its items would need one by one.
    """
    needed = {operation.action}
    if operation.name == "upsert_asset":
        needed |= _OF_BATCH[BatchAction.UPSERT]
    if isinstance(body, Batch):
        for action in {item.action for item in body.items}:
            needed |= _OF_BATCH[action]
    return frozenset(needed)


def refused(who: str, action: Action, why: str, hint: str | None = None) -> NotPermitted:
    """Return the error for a caller who may not do ``action``."""
    return NotPermitted(f"{who} may not {action.value}: {why}.", hint=hint, action=action.value)


def names(actions: Iterable[Action]) -> str:
    """Return actions as a list for a sentence, in the order of the protocol."""
    chosen = set(actions)
    return ", ".join(action.value for action in Action if action in chosen)
