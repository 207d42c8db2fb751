"""Cron expressions, with the library that Airflow uses for its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.checks import of_type

if TYPE_CHECKING:
    from datetime import datetime


def is_cron(text: Any) -> bool:
    """Tell whether it is an expression of five or six fields.

    >>> is_cron("0 6 * * *"), is_cron("@daily")
    (True, False)
    """
    from croniter import croniter

    fields = of_type(text, str, "a cron expression").split()
    return len(fields) in {5, 6} and bool(croniter.is_valid(text))


def ticks(text: str, start: datetime) -> Any:
    """Return an iterator whose ``get_next(datetime)`` and ``get_prev(datetime)`` are ticks around a time."""
    from croniter import croniter

    return croniter(text, start)
