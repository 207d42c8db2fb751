"""Locking assets: acquire, release, take by force, list."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.assets import AssetId, AssetIds
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.lease import DEFAULT_TTL, Lease, LeaseScope, OwnerType, Ttl
from airflow_assets.schemas.queries import Limit

__all__ = [
    "AcquireLeases",
    "ForceUnlock",
    "ForceUnlockResult",
    "ForcedUnlock",
    "ForcedUnlockQuery",
    "Lease",
    "LeaseGrant",
    "LeaseQuery",
    "LeaseScope",
    "OwnerType",
    "ReleaseLeases",
    "ReleaseResult",
]

MAX_LOCKED_AT_ONCE = 100
"""Assets of one acquisition or release."""
MAX_REASON = 1_000
WAITER_PATIENCE = timedelta(seconds=60)
"""A waiter that has not asked again for so long has lost its place in the queue."""


def _some_ids(ids: list[str]) -> list[str]:
    if not 1 <= len(ids) <= MAX_LOCKED_AT_ONCE:
        raise InvalidRequest(
            f"{len(ids):,} assets are named; one request locks or releases 1 to {MAX_LOCKED_AT_ONCE}.",
            hint="Only what is locked in one request is locked all or none.",
            field="assetIds",
            limit=MAX_LOCKED_AT_ONCE,
            value=len(ids),
        )
    return ids


LockedIds = Annotated[AssetIds, AfterValidator(_some_ids)]


class AcquireLeases(Schema):
    """Lock assets, all or none, or extend the locks on them.

    :param scope: whose lock it is when a task asks; a person's is his own.
    :param hold_after_run: keep it until its ttl has passed even when the Dag run has ended.
    :param wait_id: any UUID of the caller's; when the lock is refused it keeps his place in the queue. Ask
        again with it within 60 s, or the place is lost.

    >>> AcquireLeases(asset_ids=["analytics.orders"], ttl="PT15M")
    """

    asset_ids: LockedIds
    ttl: Ttl = DEFAULT_TTL
    scope: LeaseScope = LeaseScope.RUN
    hold_after_run: bool = False
    wait_id: UUID | None = None


class LeaseGrant(Schema):
    """The locks that are now held, in the order asked for."""

    leases: list[Lease]


class ReleaseLeases(Schema):
    """Give up locks, and the place in the queue of ``wait_id`` if there is one."""

    asset_ids: LockedIds
    wait_id: UUID | None = None


class ReleaseResult(Schema):
    """The assets whose lock was the caller's and is free now; foreign, free and expired ones are left out."""

    released: list[str]


def _reason(value: object) -> Any:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_REASON:
        raise InvalidRequest(
            "A forced unlock needs a reason of 1 to 1,000 characters.",
            hint="Say why the holder may be locked out; it is recorded.",
            field="reason",
            limit=MAX_REASON,
            value=value if isinstance(value, str) else str(value),
        )
    return value.strip()


Reason = Annotated[
    str,
    BeforeValidator(_reason),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_REASON}),
]


class ForceUnlock(Schema):
    """Take a lock from whoever holds it.

    :param reason: recorded with the caller and the lock that was taken.
    """

    asset_id: AssetId
    reason: Reason


class ForcedUnlock(Schema):
    """One lock that was taken by force: which, by whom, why and when."""

    id: int
    asset_id: str
    lease: Lease
    reason: str
    source: Source
    created: Utc


class ForceUnlockResult(Schema):
    """:param unlocked: null when the asset was free, so that nothing had to be done."""

    unlocked: ForcedUnlock | None


class LeaseQuery(Schema):
    """One page of live locks, the longest held first."""

    asset_id: AssetId | None = None
    limit: Limit = 100
    cursor: str | None = None


class ForcedUnlockQuery(Schema):
    """One page of forced unlocks, newest first; of one asset, or of all."""

    asset_id: AssetId | None = None
    limit: Limit = 100
    cursor: str | None = None
