"""A lock of an asset: who holds it until when, and under which fencing number."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, ValidationError, WithJsonSchema

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.base import Schema, Utc

MIN_TTL = timedelta(seconds=1)
MAX_TTL = timedelta(hours=24)
DEFAULT_TTL = timedelta(minutes=5)
_DURATION: TypeAdapter[timedelta] = TypeAdapter(timedelta)


def lease_ttl(value: object) -> timedelta:
    """Return how long a lock lasts: a ``timedelta``, a number of seconds, or ISO 8601 text (``PT5M``).

    :raises InvalidRequest: it cannot be understood, or is shorter than 1 s or longer than 24 h.
    """
    try:
        ttl = _DURATION.validate_python(value)
    except ValidationError:
        raise _bad_ttl(value, "is no duration") from None
    if not MIN_TTL <= ttl <= MAX_TTL:
        raise _bad_ttl(value, "is out of range")
    return ttl


def _bad_ttl(value: object, problem: str) -> InvalidRequest:
    return InvalidRequest(
        f"The ttl {value!s} of a lock {problem}.",
        hint="Give 1 second to 24 hours, such as PT5M.",
        field="ttl",
        limit="PT1S to PT24H",
        value=str(value),
    )


def duration_text(value: timedelta) -> str:
    """Return a duration as ISO 8601 text: ``PT5M``, ``PT1.5S``."""
    text = _DURATION.dump_python(value, mode="json")
    return str(text)


Ttl = Annotated[
    timedelta,
    BeforeValidator(lease_ttl),
    PlainSerializer(duration_text, when_used="json"),
    WithJsonSchema({"type": "string", "format": "duration", "description": "PT1S to PT24H."}),
]


class LeaseScope(str, Enum):
    """Whose lock a task takes; a person's is his own."""

    RUN = "run"
    """The Dag run's: all its tasks may write."""
    TASK = "task"
    """The task instance's alone, with its map index."""


class OwnerType(str, Enum):
    """Who holds a lock."""

    EXECUTION = "EXECUTION"
    """A Dag run."""
    TASK = "TASK"
    USER = "USER"


class Lease(Schema):
    """A live lock.

    :param owner: the holder in words, for people to read.
    :param execution_id: the run id of a run or task that holds it, else null.
    :param task_id: the task that acquired it, for a run too; with ``map_index`` and ``try_number``.
    :param fencing_token: the number of this tenure; those of one asset only grow.
    :param ttl: by how much a write of the holder extends the lock, counted from the write.
    """

    asset_id: str
    owner_type: OwnerType
    owner: str
    execution_id: str | None
    dag_id: str | None
    run_id: str | None
    task_id: str | None
    map_index: int | None
    try_number: int | None
    user: str | None
    fencing_token: int
    acquired: Utc
    locked_until: Utc
    ttl: Ttl
    hold_after_run: bool
