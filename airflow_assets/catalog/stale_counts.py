"""How many assets are stale now, and were at earlier moments, from the writes that the log knows.

An expectation and a moment give one time: what was last written then or before is stale. So a number is
counted by the database, and the past needs each write once, however many moments are asked about.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import false, func, select

from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.filters import visible
from airflow_assets.catalog.listing import Listing, Order
from airflow_assets.catalog.tables import asset, event, metadata_value
from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.dashboard import StalenessPoint, StalenessSeries
from airflow_assets.schemas.expectations import METADATA_KEY, own_expectation
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.queries import AssetFilter, Sort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.dashboard import StalenessQuery
    from airflow_assets.schemas.expectations import Expectation

MAX_ASSETS = 10_000
MAX_WRITES = 200_000
MAX_EXPECTATIONS = 500
"""Different expectations that :func:`stale_now` looks at; assets of others are not counted."""
_CHUNK = 500
_WRITES = ("CREATED", "UPDATED")
_WEEK = timedelta(days=7)
_Writes = dict[int, list[datetime]]


def stale_since(expectation: Expectation, now: datetime) -> datetime:
    """Return the latest time of a last write that is stale at ``now``.

    >>> stale_since(Expectation(max_staleness="PT6H"), noon)
    datetime.datetime(2026, 3, 1, 6, 0, tzinfo=datetime.timezone.utc)
    """
    high = expectation.latest_stale(now)
    if expectation.is_stale(high, now):
        return high
    # Days and months of a calendar differ in length: the time lies at most some days before.
    step = timedelta(hours=1)
    while not expectation.is_stale(high - step, now):
        step *= 2
    low, smallest = high - step, timedelta(microseconds=1)
    while high - low > smallest:
        middle = low + (high - low) / 2
        low, high = (middle, high) if expectation.is_stale(middle, now) else (low, middle)
    return low


def stale_now(conn: Connection, caller: Caller, now: datetime) -> int:
    """Return how many assets that the caller sees are stale by what they expect themselves.

    It is a statement, and one more for each different expectation.
    """
    of_key = metadata_value.c.field == METADATA_KEY
    example = func.min(metadata_value.c.asset_pk)
    groups = (
        select(metadata_value.c.value_hash, example.label("pk"))
        .where(of_key)
        .group_by(metadata_value.c.value_hash)
        .limit(MAX_EXPECTATIONS)
        .subquery()
    )
    total = 0
    examples = select(groups.c.value_hash, asset.c.metadata).join(asset, asset.c.pk == groups.c.pk)
    for value_hash, metadata in conn.execute(examples).all():
        expectation = own_expectation(json.loads(metadata))
        if expectation is None:
            continue
        stale = (
            select(func.count())
            .select_from(metadata_value.join(asset, asset.c.pk == metadata_value.c.asset_pk))
            .where(
                of_key,
                metadata_value.c.value_hash == value_hash,
                asset.c.tenant == caller.tenant,
                visible(asset.c.namespace, caller),
                asset.c.deleted == false(),
                asset.c.updated <= stale_since(expectation, now),
            )
        )
        total += conn.scalar(stale) or 0
    return total


def staleness(conn: Connection, caller: Caller, query: StalenessQuery) -> StalenessSeries:
    """Return the numbers of stale and fresh assets at evenly spaced moments.

    Assets are those that are there and match today, by their metadata of today, each from its creation on.

    :param conn: in a :func:`airflow_assets.catalog.snapshot.snapshot`.
    :raises InvalidQuery: the moments are in no order, or the log has more than 200,000 writes between them.
    """
    moments = _moments(query, db_now(conn))
    listing = Listing(conn, caller, _filter(query))
    rows = [row for row in _assets(conn, listing) if listing.regexes_match(row)]
    left_out = max(0, _count(conn, listing) - MAX_ASSETS)
    expected = {row.pk: found for row in rows if (found := _expectation(query, row)) is not None}
    kept = [row for row in rows if row.pk in expected]
    writes = _writes(conn, [row.pk for row in kept], moments[0], moments[-1])
    return StalenessSeries(
        points=_points(kept, expected, writes, moments), assets=len(kept), left_out=left_out
    )


def _moments(query: StalenessQuery, now: datetime) -> list[datetime]:
    end = min(query.to_time or now, now)
    begin = query.from_time or end - _WEEK
    if begin >= end:
        raise InvalidQuery(
            "from_time must be before to_time, and in the past.", field="fromTime", value=begin.isoformat()
        )
    return [begin + (end - begin) * at / (query.points - 1) for at in range(query.points)]


def _filter(query: StalenessQuery) -> AssetFilter:
    conditions = list(query.metadata_query)
    if query.expectation is None:
        conditions.append(MetadataCondition(field=METADATA_KEY, type=Operator.EXISTS))
    return AssetFilter(
        ids=None if query.asset_id is None else [query.asset_id],
        types=None if query.asset_type is None else [query.asset_type],
        namespace=query.namespace,
        metadata_query=conditions,
    )


def _expectation(query: StalenessQuery, row: Row[Any]) -> Expectation | None:
    own = own_expectation(json.loads(row.metadata)) if query.per_asset else None
    return own or query.expectation


def _assets(conn: Connection, listing: Listing) -> Sequence[Row[Any]]:
    columns = [asset.c.pk, asset.c.id_sort, asset.c.metadata, asset.c.created, asset.c.updated]
    return conn.execute(listing.page(Order(Sort.ID), None, MAX_ASSETS, columns)).all()


def _count(conn: Connection, listing: Listing) -> int:
    wanted = select(func.count()).select_from(asset).where(listing.deleted(), *listing.conditions())
    return conn.scalar(wanted) or 0


def _writes(conn: Connection, pks: list[int], begin: datetime, end: datetime) -> _Writes:
    """The times of the writes from ``begin`` on, and of the last one before, by asset and in order."""
    first = conn.scalar(select(func.min(event.c.seq)).where(event.c.created > begin))
    found: _Writes = defaultdict(list)
    room = MAX_WRITES
    for start in range(0, len(pks), _CHUNK):
        some = pks[start : start + _CHUNK]
        earlier = event.alias("earlier")
        last = (
            select(earlier.c.created)
            .where(earlier.c.asset_pk == asset.c.pk, earlier.c.kind.in_(_WRITES))
            .where(*(() if first is None else (earlier.c.seq < first,)))
            .order_by(earlier.c.seq.desc())
            .limit(1)
            .scalar_subquery()
        )
        for pk, created in conn.execute(select(asset.c.pk, last).where(asset.c.pk.in_(some))):
            found[pk] += [] if created is None else [created]
        if first is not None:
            room = _add_later(conn, found, some, (first, end), room)
    return found


def _add_later(
    conn: Connection, found: _Writes, pks: list[int], since: tuple[int, datetime], room: int
) -> int:
    rows = conn.execute(
        select(event.c.asset_pk, event.c.created)
        .where(event.c.asset_pk.in_(pks), event.c.seq >= since[0], event.c.created <= since[1])
        .where(event.c.kind.in_(_WRITES))
        .order_by(event.c.asset_pk, event.c.seq)
        .limit(room + 1)
    ).all()
    if len(rows) > room:
        raise InvalidQuery(
            f"The assets were written more than {MAX_WRITES:,} times in this time.",
            hint="Ask for a shorter time or fewer assets.",
            field="fromTime",
            limit=MAX_WRITES,
        )
    for pk, created in rows:
        found[pk].append(created)
    return room - len(rows)


def _points(
    rows: Sequence[Row[Any]], expected: dict[int, Expectation], writes: _Writes, moments: list[datetime]
) -> list[StalenessPoint]:
    limits: dict[str, list[datetime]] = {}
    counts = [[0, 0, 0] for _ in moments]  # stale, fresh, unknown
    for row in rows:
        expectation = expected[row.pk]
        key = expectation.model_dump_json()
        if key not in limits:
            limits[key] = [stale_since(expectation, moment) for moment in moments]
        known = writes[row.pk] or [row.updated]
        for at, moment in enumerate(moments):
            if row.created > moment:
                continue
            number = bisect_right(known, moment)
            which = 2 if not number else 0 if known[number - 1] <= limits[key][at] else 1
            counts[at][which] += 1
    return [
        StalenessPoint(time=moment, stale=stale, fresh=fresh, unknown=unknown)
        for moment, (stale, fresh, unknown) in zip(moments, counts, strict=True)
    ]
