"""The time windows of a definition: where each begins, where it ends, and what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.checks import of_type, optional
from airflow_assets.authoring.crons import is_cron, ticks
from airflow_assets.authoring.errors import PartitionDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHECKED_WINDOWS = 1_024
_CHECKED_SPAN = timedelta(days=4 * 366)

Window = tuple[datetime, datetime]


@dataclass(frozen=True)
class Grid:
    """Windows that begin at the ticks of a cron expression or of an interval; times are naive UTC.

    :param start: no window begins earlier.
    :param end: no window begins at or after it; null: the windows that have begun so far.
    :param fmt: ``strftime`` format of the start, which is the key; no two windows may share one.
    """

    start: datetime
    fmt: str
    cron: str | None = None
    interval: timedelta | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        _naive(self.start, "start")
        if self.cron is not None and self.start.microsecond:
            raise PartitionDefinitionError(f"start must be on a whole second with a cron, not {self.start}")
        optional(self.end, datetime, "end")
        if self.end is not None:
            _naive(self.end, "end")
        if (self.cron is None) == (self.interval is None):
            raise PartitionDefinitionError("A time window takes either cron_schedule or interval_seconds")
        if self.interval is not None and self.interval <= timedelta(0):
            raise PartitionDefinitionError(f"interval_seconds must be greater than 0, not {self.interval}")
        if self.cron is not None:
            _check_cron(self.cron)
        self._check_format()

    def starts(self, until: datetime | None = None) -> Iterator[datetime]:
        """Yield the starts of the windows, in order.

        :param until: instead of now, for a definition without an end.
        """
        limit = until or _now()
        for start in self._ticks():
            if start >= self.end if self.end is not None else start > limit:
                return
            yield start

    def keys(self) -> list[str]:
        """Return the names of the windows so far."""
        return [start.strftime(self.fmt) for start in self.starts()]

    def key(self, start: datetime) -> str:
        """Return the name of the window that begins there."""
        return start.strftime(self.fmt)

    def window(self, key: str) -> Window | None:
        """Return start and end (exclusive) of a window by its name; null when there is none of this name."""
        start = self.parse(key)
        if start is None or start < self.start or (self.end is not None and start >= self.end):
            return None
        if self.key(start) != key or not self._is_tick(start):
            return None
        return (start, self.next(start)) if self.end is not None or start <= _now() else None

    def shifted(self, start: datetime, offset: int) -> datetime:
        """Return the start that is so many windows later; earlier with a negative offset."""
        moved = start
        for _ in range(abs(offset)):
            moved = self.next(moved) if offset > 0 else self._previous(moved)
        return moved

    def next(self, start: datetime) -> datetime:
        """Return the start of the window after the one that begins there."""
        if self._step is not None:
            return start + self._step
        found: datetime = self._iterator(start).get_next(datetime)
        return found

    def _previous(self, start: datetime) -> datetime:
        if self._step is not None:
            return start - self._step
        found: datetime = self._iterator(start).get_prev(datetime)
        return found

    def _ticks(self) -> Iterator[datetime]:
        tick = self.first
        if self._step is not None:
            while True:
                yield tick
                tick += self._step
        following = self._iterator(tick)
        while True:
            yield tick
            tick = following.get_next(datetime)

    @cached_property
    def first(self) -> datetime:
        """The start of the first window: the first tick at or after ``start``."""
        if self.interval is not None:
            return self.start
        found: datetime = self._iterator(self.start - timedelta(microseconds=1)).get_next(datetime)
        return found

    @cached_property
    def _step(self) -> timedelta | None:
        """The distance of the ticks where it never changes: asking croniter costs a hundredfold."""
        return self.interval or _even_step(str(self.cron))

    def _iterator(self, start: datetime) -> Any:
        return ticks(str(self.cron), start)

    def _is_tick(self, start: datetime) -> bool:
        if self._step is not None:
            return (start - self.first) % self._step == timedelta(0)
        return self.next(start - timedelta(microseconds=1)) == start

    def parse(self, key: str) -> datetime | None:
        """Return the time that a key's text means; null when it has another form."""
        try:
            return datetime.strptime(key, self.fmt)  # noqa: DTZ007 - naive UTC is the rule here
        except ValueError:
            return None

    def _check_format(self) -> None:
        for number, start in enumerate(self._ticks()):
            beyond = self.end is not None and start >= self.end
            if beyond or number >= _CHECKED_WINDOWS or start - self.start > _CHECKED_SPAN:
                return
            if self.parse(self.key(start)) != start:
                raise PartitionDefinitionError(
                    f"fmt {self.fmt!r} does not tell the window that begins at {start} from others: "
                    f"{self.key(start)!r} does not lead back to it; add what is missing, for example %H"
                )


def _naive(value: datetime, what: str) -> None:
    if of_type(value, datetime, what).tzinfo is not None:
        raise TypeError(f"{what} takes a naive datetime, which means UTC; {value!r} has a zone")


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(tzinfo=None)


def _check_cron(text: str) -> None:
    if not is_cron(text):
        raise PartitionDefinitionError(
            f"{text!r} is no cron expression of 5 or 6 fields, such as '0 6 * * *'"
        )


def _even_step(cron: str) -> timedelta | None:
    """The distance of the ticks of ``m h * * *`` and ``m * * * *``; null for all others.

    >>> _even_step("0 6 * * *")
    datetime.timedelta(days=1)
    """
    minute, hour, *rest = cron.split()
    if rest != ["*", "*", "*"] or not minute.isdigit():
        return None
    if hour == "*":
        return timedelta(hours=1)
    return timedelta(days=1) if hour.isdigit() else None
