"""Waiting for an event: what is asked, and how far the log has been read without finding it."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.events import Event, EventFilter

LONGEST_WAIT = 25.0
"""Seconds after which a request that waits is answered: proxies cut what is silent for longer."""
_MAX_SEQ = 2**63 - 1

WaitTime = Annotated[float, Field(ge=0, le=LONGEST_WAIT)]


class EventWait(Schema):
    """Wait for the first event that matches, reading the log in its order from one place on.

    The place is ``after`` (exclusive), else the first event of the time ``since`` or later, else the end of
    the log as it is now.

    :param timeout: seconds to wait, up to 25; 0 looks once.
    :param keep_for: id of the task instance for which it waits: purge leaves what is after its place.
    :param resume: go on from the place that is kept for ``keep_for``; the first such request fixes it. For a
        task's own requests; a trigger carries its place itself.

    >>> EventWait(filter=EventFilter(namespace="sales"), after=4711, timeout=25)
    """

    filter: EventFilter = Field(default_factory=EventFilter)
    after: Annotated[int, Field(ge=0, le=_MAX_SEQ)] | None = None
    since: Utc | None = None
    timeout: WaitTime = 0.0
    keep_for: UUID | None = None
    resume: bool = False


class EventWaitResult(Schema):
    """What was found.

    :param event: the first that matches, null when the time passed.
    :param cursor: ``after`` of the next wait.
    """

    cursor: int
    event: Event | None = None

    def payload(self) -> dict[str, Any] | None:
        """Return what a sensor returns for the event: what Dags are told, its ``eventId`` and ``cursor``."""
        event = self.event
        return None if event is None else {**event.payload(), "eventId": event.id, "cursor": event.seq}
