"""When an asset is stale: durations, deadlines, both changes of the clock, and what an asset says itself."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.exceptions import AssetCatalogError, InvalidRequest
from airflow_assets.schemas.durations import Duration
from airflow_assets.schemas.expectations import Expectation, Freshness, FreshnessState, own_expectation
from airflow_assets.schemas.polls import FreshnessPoll

PARIS = "Europe/Paris"
SPRING = datetime(2026, 3, 29, 1, tzinfo=timezone.utc)
"""The clocks of Paris go from 02:00 to 03:00."""
AUTUMN = datetime(2026, 10, 25, 1, tzinfo=timezone.utc)
"""The clocks of Paris go from 03:00 to 02:00."""
MICROSECOND = timedelta(microseconds=1)


def paris(text: str, *, second: bool = False) -> datetime:
    """Return the UTC time of a Paris wall clock; ``second``: the second of two equal ones."""
    there = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(PARIS), fold=int(second))
    return there.astimezone(timezone.utc)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("PT24H", "PT24H"),
        ("P1D", "P1D"),
        ("P1W", "P7D"),
        ("P1Y2M", "P14M"),
        ("P1DT12H", "P1DT12H"),
        ("PT90M", "PT1H30M"),
        ("PT0.5S", "PT0.5S"),
        ("PT3600.000001S", "PT1H0.000001S"),
    ],
)
def test_durations_have_one_form(text: str, canonical: str) -> None:
    assert str(Duration.parse(text)) == canonical
    assert Duration.parse(canonical) == Duration.parse(text)


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "1D", "P1H", "PT1D", "-P1D", "P1.5D", "PT0S", "P200000D", 5, None]
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(InvalidRequest, match="duration"):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("begin", "hours"),
    [
        ("2026-03-28 12:00", 23),
        ("2026-03-28 01:59", 24),
        ("2026-03-28 03:00", 23),
        ("2026-03-29 12:00", 24),
        ("2026-10-24 12:00", 25),
        ("2026-10-24 01:59", 24),
        ("2026-10-25 12:00", 24),
        ("2026-07-01 12:00", 24),
    ],
)
def test_a_day_of_the_calendar_ends_when_the_clock_shows_the_same_again(begin: str, hours: int) -> None:
    start = paris(begin)
    assert Duration.parse("P1D").after(start, PARIS) - start == timedelta(hours=hours)
    assert Duration.parse("PT24H").after(start, PARIS) - start == timedelta(hours=24)
    assert Duration.parse("P1D").after(start, "UTC") - start == timedelta(hours=24)


def test_what_the_clock_skips_or_shows_twice_is_still_one_moment() -> None:
    day = Duration.parse("P1D")
    assert day.after(paris("2026-03-28 02:30"), PARIS) == paris("2026-03-29 03:30")
    assert day.after(paris("2026-10-24 02:30"), PARIS) == paris("2026-10-25 02:30", second=True)


@pytest.mark.parametrize("change", [SPRING, AUTUMN])
@pytest.mark.parametrize("limit", ["P1D", "PT24H", "P1M", "P1DT30M"])
def test_no_asset_flaps_while_a_clock_changes(change: datetime, limit: str) -> None:
    """Once stale it stays so until it is written, whenever somebody looks."""
    wanted = Expectation(max_staleness=limit, timezone=PARIS)
    lasts = Duration.parse(limit).shortest
    for minutes in range(-180, 181, 45):
        updated = change - lasts + timedelta(minutes=minutes)
        states = [
            wanted.is_stale(updated, updated + lasts + timedelta(minutes=m)) for m in range(-120, 5_000, 30)
        ]
        assert sorted(states) == states
        assert True in states


@pytest.mark.parametrize("change", [SPRING, AUTUMN])
def test_the_limit_is_inclusive_to_the_microsecond(change: datetime) -> None:
    for limit in ("P1D", "PT24H"):
        wanted = Expectation(max_staleness=limit, timezone=PARIS)
        updated = change - timedelta(hours=7, microseconds=3)
        stale_at = Duration.parse(limit).after(updated, PARIS)
        assert wanted.is_stale(updated, stale_at)
        assert not wanted.is_stale(updated, stale_at - MICROSECOND)


@given(
    limit=st.sampled_from(["P1D", "P1W", "P1M", "PT24H", "P1DT1H", "PT1S", "P1Y"]),
    zone=st.sampled_from([PARIS, "Pacific/Apia", "Australia/Lord_Howe", "America/New_York", "UTC"]),
    now=st.datetimes(datetime(2011, 12, 1), datetime(2031, 1, 1), timezones=st.just(timezone.utc)),  # noqa: DTZ001
    ago=st.timedeltas(timedelta(0), timedelta(days=400)),
)
def test_the_bound_for_sql_leaves_no_stale_asset_out(
    limit: str, zone: str, now: datetime, ago: timedelta
) -> None:
    wanted = Expectation(max_staleness=limit, timezone=zone)
    if wanted.is_stale(now - ago, now):
        assert now - ago <= wanted.latest_stale(now)


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25", "2026-07-01"])
def test_a_deadline_asks_for_a_write_since_the_one_before(day: str) -> None:
    wanted = Expectation(deadline="07:00", timezone=PARIS)
    due = paris(f"{day} 07:00")
    before = paris((datetime.fromisoformat(day) - timedelta(days=1)).strftime("%Y-%m-%d 07:00"))
    assert wanted.is_stale(before, due), "written for the deadline before"
    assert not wanted.is_stale(before + MICROSECOND, due)
    assert not wanted.is_stale(before, due - MICROSECOND), "not due yet"
    assert not wanted.is_stale(due + timedelta(hours=1), due + timedelta(hours=2)), "late, but there"
    assert wanted.is_stale(before, due + timedelta(hours=16)), "still missing in the evening"


def test_a_window_says_how_early_counts() -> None:
    since_midnight = Expectation(deadline="07:00", timezone=PARIS, window="PT7H")
    due = paris("2026-07-02 07:00")
    assert since_midnight.is_stale(paris("2026-07-01 23:59"), due)
    assert not since_midnight.is_stale(paris("2026-07-02 00:01"), due)


def test_a_deadline_that_the_clock_skips_or_shows_twice_comes_once_a_day() -> None:
    wanted = Expectation(deadline="02:30", timezone=PARIS)
    skipped = paris("2026-03-29 03:30")
    assert not wanted.is_stale(skipped - timedelta(days=2), skipped - timedelta(days=1, hours=10))
    assert wanted.is_stale(paris("2026-03-28 02:30"), skipped)
    assert not wanted.is_stale(paris("2026-03-28 02:31"), skipped)
    first, second = paris("2026-10-25 02:30"), paris("2026-10-25 02:30", second=True)
    written = first - timedelta(minutes=1)
    assert not wanted.is_stale(written, first)
    assert not wanted.is_stale(written, second + timedelta(hours=1))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "either max_staleness or deadline"),
        ({"max_staleness": "P1D", "deadline": "07:00"}, "either max_staleness or deadline"),
        ({"deadline": "7 am"}, "not a time of day"),
        ({"deadline": "24:00"}, "not a time of day"),
        ({"max_staleness": "one day"}, "not a duration"),
        ({"max_staleness": "P1D", "timezone": "Europe/Pariss"}, "not a time zone"),
        ({"max_staleness": "P1D", "timezone": "../etc/passwd"}, "not a time zone"),
    ],
)
def test_a_broken_expectation_is_refused(arguments: dict[str, str], says: str) -> None:
    with pytest.raises(AssetCatalogError, match=says):
        Expectation(**arguments)


def test_an_asset_says_itself_what_is_expected_of_it() -> None:
    assert own_expectation({"freshness": "PT6H"}) == Expectation(max_staleness="PT6H")
    said = {"deadline": "07:00", "timezone": PARIS, "window": "PT7H"}
    assert own_expectation({"freshness": said}) == Expectation(**said)
    assert own_expectation({"freshness": {"maxStaleness": "P1D"}}) == Expectation(max_staleness="P1D")
    for unreadable in ("soon", 6, ["PT6H"], {"maximum": "PT6H"}, {}, None):
        assert own_expectation({"freshness": unreadable}) is None


def test_the_state_is_unknown_where_nothing_is_expected() -> None:
    now = SPRING
    states = [
        Freshness.of(metadata, now - timedelta(hours=7), now).state
        for metadata in ({}, {"freshness": "PT8H"}, {"freshness": "PT6H"}, {"freshness": "never"})
    ]
    assert states == [
        FreshnessState.UNKNOWN,
        FreshnessState.FRESH,
        FreshnessState.STALE,
        FreshnessState.UNKNOWN,
    ]
    assert Freshness.of({}, now - timedelta(hours=7), now).age == 7 * 3600
    assert Freshness.of({}, now + timedelta(seconds=1), now).age == 0


def test_equal_polls_have_equal_keys() -> None:
    def key(**arguments: object) -> str:
        check = {"expectation": {"max_staleness": arguments.pop("limit", "PT6H")}}
        return FreshnessPoll.model_validate({"check": check, **arguments}).key

    assert key(interval="PT60M") == key(interval="PT1H") == key(limit="PT360M") == key()
    assert (
        len({key(), key(interval="PT2H"), key(mode="transitions"), key(limit="P1D"), key(limit="PT24H")}) == 5
    )
