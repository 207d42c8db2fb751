"""When an asset counts as stale.

Every asset becomes stale at one moment that is fixed with its last write, so nothing flaps while a clock
changes: ``max_staleness`` after the write, or at the first deadline for which the write came too early.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError, WithJsonSchema, model_validator
from typing_extensions import Self

from airflow_assets.exceptions import AssetCatalogError, InvalidRequest
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.durations import Duration, DurationText, ZoneName

METADATA_KEY = "freshness"
"""The metadata key under which an asset says itself when it is stale: a duration, or an object with the
members of :class:`Expectation`."""
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")


def _deadline(value: object) -> str:
    text = value.isoformat() if isinstance(value, time) and value.tzinfo is None else value
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise InvalidRequest(
            f"The deadline {value!r} is not a time of day.", hint="Write 07:00.", field="deadline"
        )
    return text


class Expectation(Schema):
    """How often an asset is expected to be written: exactly one of ``max_staleness`` and ``deadline``.

    :param max_staleness: stale from this long after the last write, inclusive.
    :param deadline: a time of day: from then on an asset is stale that was not written within ``window``
        before it; a late write makes it fresh.
    :param timezone: of the deadline, and of days, weeks and months in the durations.
    """

    max_staleness: DurationText | None = None
    deadline: Annotated[str, BeforeValidator(_deadline), WithJsonSchema({"type": "string"})] | None = None
    window: DurationText = "P1D"
    timezone: ZoneName = "UTC"

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.max_staleness is None) == (self.deadline is None):
            raise InvalidRequest(
                "An expectation of freshness has either max_staleness or deadline.",
                hint="Write max_staleness='PT6H', or deadline='07:00' with timezone='Europe/Paris'.",
                field="max_staleness",
            )
        return self

    def is_stale(self, updated: datetime, now: datetime) -> bool:
        """Tell whether an asset that was last written at ``updated`` is stale."""
        if self.max_staleness is not None:
            return Duration.parse(self.max_staleness).after(updated, self.timezone) <= now
        return updated <= self._begin_of_window(now)

    def latest_stale(self, now: datetime) -> datetime:
        """Return a time such that nothing written after it is stale."""
        if self.max_staleness is not None:
            return Duration.parse(self.max_staleness).latest_begin(now)
        return self._begin_of_window(now)

    def __str__(self) -> str:
        if self.max_staleness is not None:
            return self.max_staleness
        return f"by {self.deadline} {self.timezone}"

    def _begin_of_window(self, now: datetime) -> datetime:
        from zoneinfo import ZoneInfo

        window = Duration.parse(self.window)
        day = now.astimezone(ZoneInfo(self.timezone)).date() + timedelta(days=1)
        while self._deadline_of(day) > now:
            day -= timedelta(days=1)
        return self._deadline_of(window.days_before(day)) - window.exact

    def _deadline_of(self, day: date) -> datetime:
        """Return it in UTC; one that the clocks skip is an hour later, of two equal ones the first counts."""
        from zoneinfo import ZoneInfo

        at = time.fromisoformat(self.deadline or "")
        return datetime.combine(day, at, ZoneInfo(self.timezone)).astimezone(timezone.utc)


def own_expectation(metadata: dict[str, Any]) -> Expectation | None:
    """Return what an asset expects by its metadata; None if it says nothing, or nothing that can be read.

    >>> own_expectation({"freshness": {"deadline": "07:00", "timezone": "Europe/Paris"}}).window
    'P1D'
    """
    said = metadata.get(METADATA_KEY)
    if said is None:
        return None
    try:
        return Expectation.model_validate(said if isinstance(said, dict) else {"max_staleness": said})
    except (ValidationError, AssetCatalogError):
        return None


class FreshnessState(str, Enum):
    """Whether an asset was written as it expects by its metadata; UNKNOWN: it expects nothing."""

    FRESH = "FRESH"
    STALE = "STALE"
    UNKNOWN = "UNKNOWN"
    RECOVERED = "RECOVERED"
    """Only in the firing of a trigger: it was stale and has been written since."""


class Freshness(Schema):
    """How fresh an asset is at the moment it is read; ``age``: seconds since it was last written."""

    state: FreshnessState
    age: float

    @classmethod
    def of(cls, metadata: dict[str, Any], updated: datetime, now: datetime) -> Freshness:
        """Return it by the asset's own expectation."""
        wanted = own_expectation(metadata)
        state = FreshnessState.UNKNOWN
        if wanted is not None:
            state = FreshnessState.STALE if wanted.is_stale(updated, now) else FreshnessState.FRESH
        return cls.trusted(state=state, age=seconds_between(updated, now))


def seconds_between(begin: datetime, end: datetime) -> float:
    """Return the seconds, never less than none."""
    return max(0.0, (end - begin).total_seconds())
