"""Which assets are stale: decided in one snapshot, so none is missed or seen twice while others are written.

The moment that counts is the database's, taken in the snapshot. What SQL cannot say (days of the calendar,
the expectation in an asset's own metadata) is decided row by row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, false, select

from airflow_assets.catalog.engine import db_now
from airflow_assets.catalog.listing import Listing, Order
from airflow_assets.catalog.tables import asset
from airflow_assets.schemas.expectations import (
    METADATA_KEY,
    Expectation,
    FreshnessState,
    own_expectation,
    seconds_between,
)
from airflow_assets.schemas.freshness import CheckedAsset, FreshnessCheck, FreshnessReport
from airflow_assets.schemas.matching import conditions_hold
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator
from airflow_assets.schemas.polls import Mode
from airflow_assets.schemas.queries import AssetFilter, Sort

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.polls import FreshnessPoll

PAGE = 1_000
_IN_LIST = 500
_COLUMNS = [column for column in asset.c if column.name not in {"uri", "asset_group"}]


@dataclass(frozen=True)
class Observation:
    """What a check saw: which assets a firing tells of (none: it does not fire), and what is remembered."""

    check_time: datetime
    assets: list[CheckedAsset] = field(default_factory=list)
    memory: dict[str, Any] | None = None


def check(conn: Connection, caller: Caller, wanted: FreshnessCheck) -> FreshnessReport:
    """Return all stale assets.

    :param conn: in a :func:`airflow_assets.catalog.snapshot.snapshot`.
    """
    now = db_now(conn)
    stale = _Looker(conn, caller, wanted, now).stale()
    return FreshnessReport(check_time=now, assets=[_checked(row, now, FreshnessState.STALE) for row in stale])


def observe(conn: Connection, caller: Caller, poll: FreshnessPoll, memory: dict[str, Any]) -> Observation:
    """Make one check of a trigger, given what the check before has left.

    :param memory: ``{"stale": [row numbers]}``; empty before the first check.
    """
    now = db_now(conn)
    looker = _Looker(conn, caller, poll.check, now)
    stale = list(looker.stale())
    if poll.mode is Mode.REPEAT:
        return Observation(now, [_checked(row, now, FreshnessState.STALE) for row in stale])
    before = set(memory.get("stale", ()))
    present = {row.pk for row in stale}
    changed = [_checked(row, now, FreshnessState.STALE) for row in stale if row.pk not in before]
    recovered = looker.still_there(sorted(before - present))
    changed += [_checked(row, now, FreshnessState.RECOVERED) for row in recovered]
    changed.sort(key=lambda one: one.id)
    return Observation(now, changed, {"stale": sorted(present)})


class _Looker:
    """Looks at the assets of one check at one moment."""

    def __init__(self, conn: Connection, caller: Caller, wanted: FreshnessCheck, now: datetime) -> None:
        self._conn = conn
        self._caller = caller
        self._wanted = wanted
        self._now = now

    def stale(self) -> Iterator[Row[Any]]:
        """Yield the rows of the stale assets, ordered by id."""
        listing = Listing(self._conn, self._caller, self._filter(self._latest()))
        order = Order(Sort.ID)
        seen: tuple[Any, ...] | None = None
        while True:
            rows: Sequence[Row[Any]] = self._conn.execute(listing.page(order, seen, PAGE, _COLUMNS)).all()
            for row in rows:
                if listing.regexes_match(row) and self._is_stale(row):
                    yield row
            if len(rows) < PAGE:
                return
            seen = (rows[-1].id_sort, rows[-1].pk)

    def still_there(self, pks: list[int]) -> list[Row[Any]]:
        """Return those of the assets that the check still looks at: not deleted, not out of its filter."""
        listing = Listing(self._conn, self._caller, self._filter(None))
        rows: list[Row[Any]] = []
        for start in range(0, len(pks), _IN_LIST):
            rows += self._conn.execute(
                select(*_COLUMNS).where(
                    asset.c.pk.in_(pks[start : start + _IN_LIST]),
                    asset.c.deleted == false(),
                    *listing.conditions(),
                )
            ).all()
        return [
            row
            for row in rows
            if self._expectation(row) is not None
            and conditions_hold(json.loads(row.metadata), listing.regexes)
        ]

    def _filter(self, latest: datetime | None) -> AssetFilter:
        wanted = self._wanted
        conditions = list(wanted.metadata_query)
        if wanted.expectation is None:
            conditions.append(MetadataCondition(field=METADATA_KEY, type=Operator.EXISTS))
        return AssetFilter(
            ids=None if wanted.asset_id is None else [wanted.asset_id],
            types=None if wanted.asset_type is None else [wanted.asset_type],
            namespace=wanted.namespace,
            metadata_query=conditions,
            # The listing's bound is exclusive.
            updated_to=None if latest is None else latest + timedelta(microseconds=1),
        )

    def _latest(self) -> datetime | None:
        """Nothing written later than this is stale; null where each asset says for itself."""
        wanted = self._wanted
        if wanted.per_asset or wanted.expectation is None:
            return None
        return wanted.expectation.latest_stale(self._now)

    def _is_stale(self, row: Row[Any]) -> bool:
        expectation = self._expectation(row)
        return expectation is not None and expectation.is_stale(row.updated, self._now)

    def _expectation(self, row: Row[Any]) -> Expectation | None:
        own = own_expectation(json.loads(row.metadata)) if self._wanted.per_asset else None
        return own or self._wanted.expectation


def _checked(row: Row[Any], now: datetime, state: FreshnessState) -> CheckedAsset:
    return CheckedAsset.model_construct(
        tenant_id=row.tenant,
        namespace=row.namespace,
        id=row.id,
        type=row.type,
        display_name=row.display_name,
        description=row.description,
        metadata=json.loads(row.metadata),
        created=row.created,
        last_updated=row.updated,
        deleted=False,
        stale_duration=seconds_between(row.updated, now),
        check_time=now,
        state=state,
    )
