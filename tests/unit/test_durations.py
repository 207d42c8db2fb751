"""When a duration began that ends now: what retention and the purging command count back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from airflow_assets.schemas.durations import Duration

END = datetime(2026, 5, 31, 12, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("duration", "began"),
    [
        ("PT1H", datetime(2026, 5, 31, 11, 30, tzinfo=timezone.utc)),
        ("P90D", END - timedelta(days=90)),
        ("P1DT13H", datetime(2026, 5, 29, 23, 30, tzinfo=timezone.utc)),
        ("P3M", datetime(2026, 2, 28, 12, 30, tzinfo=timezone.utc)),
        ("P1Y", datetime(2025, 5, 31, 12, 30, tzinfo=timezone.utc)),
    ],
)
def test_it_counts_back_in_days_of_utc(duration: str, began: datetime) -> None:
    found = Duration.parse(duration).before(END)
    assert (found, found.utcoffset()) == (began, timedelta())
    elsewhere = END.astimezone(timezone(timedelta(hours=13)))
    assert Duration.parse(duration).before(elsewhere) == began
