"""Durations in ISO 8601: exact ones (``PT24H``) and ones of the calendar (``P1D``).

A day of the calendar lasts 23, 24 or 25 hours: until the clocks of its time zone show the same time again.
Where they show it twice it is over the second time, where they skip it an hour later (as pendulum counts).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from airflow_assets.exceptions import InvalidRequest

_FORM = re.compile(
    r"P(?=\d|T\d)(?:(?P<years>\d{1,4})Y)?(?:(?P<months>\d{1,5})M)?(?:(?P<weeks>\d{1,5})W)?(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,10}(?:\.\d{1,6})?)S)?)?"
)
_LONGEST = timedelta(days=36_600)
_SHORTEST_MONTH, _LARGEST_SHIFT = 28, timedelta(hours=26)
"""No clock was ever moved by more than a day (Samoa, 2011) and two hours."""
MIN_INTERVAL, MAX_INTERVAL = timedelta(seconds=1), timedelta(days=366)


@dataclass(frozen=True)
class Duration:
    """A duration: months and days of the calendar, and what is exact.

    >>> Duration.parse("P1DT30M").after(datetime(2026, 3, 28, 12, tzinfo=timezone.utc), "Europe/Paris")
    datetime.datetime(2026, 3, 29, 11, 30, tzinfo=datetime.timezone.utc)
    """

    months: int = 0
    days: int = 0
    exact: timedelta = timedelta()

    @classmethod
    def parse(cls, value: object) -> Duration:
        """Return the duration of an ISO 8601 text or of a timedelta, which is exact.

        :raises InvalidRequest: it is no duration, or not longer than nothing.
        """
        if isinstance(value, timedelta):
            found = cls(exact=value)
        elif isinstance(value, str):
            found = _parsed(value)
        else:
            raise _no_duration(value)
        if not timedelta() < found.shortest <= _LONGEST:
            raise InvalidRequest(
                f"The duration {value!r} must be longer than nothing and at most {_LONGEST.days:,} days."
            )
        return found

    @property
    def is_exact(self) -> bool:
        """Whether it is as long at any time and in any zone."""
        return not (self.months or self.days)

    @property
    def shortest(self) -> timedelta:
        """It never lasts less than this, apart from changes of the clock."""
        return timedelta(days=self.months * _SHORTEST_MONTH + self.days) + self.exact

    def latest_begin(self, end: datetime) -> datetime:
        """Return a time after which nothing began that is over by ``end``; the exact one if it is exact."""
        slack = timedelta() if self.is_exact else _LARGEST_SHIFT
        return end - self.shortest + slack

    def after(self, begin: datetime, zone: str) -> datetime:
        """Return when it is over, in UTC."""
        if self.is_exact:
            return begin + self.exact
        return _moved(begin, zone, self.months, self.days) + self.exact

    def days_before(self, day: date) -> date:
        """Return the day from which its days and months lead to ``day``."""
        import pendulum

        return pendulum.date(day.year, day.month, day.day).subtract(months=self.months, days=self.days)

    def before(self, end: datetime) -> datetime:
        """Return when it began that ends then, with days of UTC.

        >>> Duration.parse("P3M").before(datetime(2026, 5, 31, 12, tzinfo=timezone.utc))
        datetime.datetime(2026, 2, 28, 12, 0, tzinfo=datetime.timezone.utc)
        """
        end = end.astimezone(timezone.utc) - self.exact
        return datetime.combine(self.days_before(end.date()), end.timetz())

    def __str__(self) -> str:
        date = (f"{self.months}M" if self.months else "") + (f"{self.days}D" if self.days else "")
        return f"P{date}{_exact_text(self.exact)}"


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Duration:
    match = _FORM.fullmatch(text)
    if match is None:
        raise _no_duration(text)
    parts = {name: value or "0" for name, value in match.groupdict().items()}
    seconds, _, fraction = parts["seconds"].partition(".")
    return Duration(
        int(parts["years"]) * 12 + int(parts["months"]),
        int(parts["weeks"]) * 7 + int(parts["days"]),
        timedelta(
            hours=int(parts["hours"]),
            minutes=int(parts["minutes"]),
            seconds=int(seconds),
            microseconds=int(fraction.ljust(6, "0") or 0),
        ),
    )


def _no_duration(value: object) -> InvalidRequest:
    return InvalidRequest(
        f"{value!r} is not a duration.",
        hint="Write ISO 8601, such as PT6H, PT30M or P1D, or give a timedelta.",
        value=str(value),
    )


def _moved(moment: datetime, zone: str, months: int, days: int) -> datetime:
    import pendulum

    there = pendulum.instance(moment).in_timezone(zone).add(months=months, days=days)
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(
        seconds=there.int_timestamp, microseconds=there.microsecond
    )


def _exact_text(exact: timedelta) -> str:
    if not exact:
        return ""
    minutes, seconds = divmod(exact.days * 86_400 + exact.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f"{seconds}.{exact.microseconds:06d}".rstrip("0") if exact.microseconds else str(seconds)
    parts = ((str(hours), "H"), (str(minutes), "M"), (rest, "S"))
    return "T" + "".join(number + unit for number, unit in parts if number != "0")


def _duration_text(value: object) -> str:
    return str(Duration.parse(value))


def _interval_text(value: object) -> str:
    found = Duration.parse(value)
    if found.months or not MIN_INTERVAL <= found.shortest <= MAX_INTERVAL:
        raise InvalidRequest(
            f"The interval {value!r} must be between one second and {MAX_INTERVAL.days} days.",
            hint="Write for example PT1M or PT1H.",
            field="interval",
        )
    return str(Duration(exact=found.shortest))


def zone_name(value: object) -> str:
    """Return the name of a time zone that the tz database has.

    :raises InvalidRequest: there is none of that name.
    """
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(str(value)).key if isinstance(value, str) else _no_zone(value)
    except (ValueError, OSError, LookupError):
        return _no_zone(value)


def _no_zone(value: object) -> str:
    raise InvalidRequest(
        f"{value!r} is not a time zone.", hint="Write a name such as Europe/Paris or UTC.", field="timezone"
    )


_ISO = WithJsonSchema({"type": "string", "format": "duration"})
DurationText = Annotated[str, BeforeValidator(_duration_text), _ISO]
"""A duration as ISO 8601; also made from a timedelta."""
IntervalText = Annotated[str, BeforeValidator(_interval_text), _ISO]
"""How often something is done: exact (a day is 24 hours), from one second."""
ZoneName = Annotated[str, BeforeValidator(zone_name), WithJsonSchema({"type": "string"})]
