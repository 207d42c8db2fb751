"""What a polled schedule and the server say to each other, and the firings that come of it.

The trigger asks for the number of the next check and how long to wait; then it checks and reports under that
number. The server takes one report a number, so of two triggerers that poll the same one is heard, and a
repeat after a lost answer does nothing.
"""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from typing import Annotated, Any, Literal, Union

from pydantic import Field

from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.durations import Duration, IntervalText
from airflow_assets.schemas.freshness import FreshnessCheck

MAX_TITLE = 250
MAX_ERROR = 4_000


class PollKind(str, Enum):
    """The polled schedules."""

    FRESHNESS = "freshness"
    SCRIPT = "script"


def poll_key(kind: PollKind, definition: dict[str, Any]) -> str:
    """Return the name of what is polled: 64 hexadecimal digits; equal definitions, equal names.

    :param definition: everything that makes it what it is, as JSON.
    """
    text = json.dumps([kind.value, definition], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Mode(str, Enum):
    """When a freshness trigger fires: at each check while anything is stale, or when that changes."""

    REPEAT = "repeat"
    TRANSITIONS = "transitions"


class FreshnessPoll(Schema):
    """A freshness trigger: the server itself looks."""

    kind: Literal["freshness"] = "freshness"
    check: FreshnessCheck
    interval: IntervalText = "PT1H"
    mode: Mode = Mode.REPEAT

    @property
    def key(self) -> str:
        """See :func:`poll_key`."""
        return poll_key(
            PollKind.FRESHNESS, self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        )

    @property
    def repeats(self) -> bool:
        """Whether a firing may be passed over, since the next check fires again."""
        return self.mode is Mode.REPEAT


class ScriptPoll(Schema):
    """A script trigger as the server needs it; the script itself stays in the triggerer.

    :param definition_key: :func:`poll_key` of everything that defines it.
    :param title: what it waits for, for people.
    :param edge: fire only when it matches and did not match before.
    """

    kind: Literal["script"] = "script"
    definition_key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    title: Annotated[str, Field(max_length=MAX_TITLE)] = ""
    interval: IntervalText = "PT1M"
    edge: bool = True

    @property
    def key(self) -> str:
        """The key of the definition."""
        return self.definition_key

    @property
    def repeats(self) -> bool:
        """Whether a firing may be passed over, since the next check fires again."""
        return not self.edge


Poll = Union[FreshnessPoll, ScriptPoll]  # noqa: UP007 - pydantic evaluates it on Python 3.10 too
"""Told apart by their members: a client leaves out what has its default, such as ``kind``."""


def interval_seconds(poll: FreshnessPoll | ScriptPoll) -> float:
    """Return the seconds between two checks."""
    return Duration.parse(poll.interval).shortest.total_seconds()


class PollRef(Schema):
    """Asks when a poll is to be checked next."""

    poll: Poll


class CheckReport(Schema):
    """What one check found.

    :param number: the number the server gave for this check.
    :param matched: whether the condition holds; null for freshness, which the server looks at itself.
    :param payload: what a run would be told. :param error: why nothing could be found out: fires nothing and
        changes no memory.
    """

    poll: Poll
    number: Annotated[int, Field(ge=0)]
    matched: bool | None = None
    payload: dict[str, Any] | None = None
    error: Annotated[str, Field(max_length=MAX_ERROR)] | None = None


class CheckResult(Schema):
    """What came of a report, and which check is next.

    :param number: of the next check. :param wait: seconds until it is due.
    :param accepted: the report counted; else somebody else has reported this number before.
    :param firing_id: of the firing that the report caused.
    """

    number: int
    wait: float
    accepted: bool = False
    firing_id: str | None = None


class Firing(Schema):
    """A polled schedule has fired: one run of each Dag that is scheduled on it.

    :param seq: its place in the log, among the events. :param id: a UUIDv7; its runs are ``<kind>__<id>``.
    :param repeats: the next check fires again, so a Dag that has no room may pass it over.
    :param payload: freshness: ``checkTime`` and ``assets``; script: what ``trigger`` is in the run.
    """

    seq: int
    id: str
    kind: PollKind
    poll_key: str
    created: Utc
    repeats: bool
    payload: dict[str, Any]
