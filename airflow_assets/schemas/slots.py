"""Slots of pools, and the two sides of an asset's lock, for the steps of assets written in Python."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.recorded_values import MAX_NUMBER, Name, RunId, Text

_Lease = Annotated[float, Field(gt=0, le=86_400)]


class PoolClaim(Schema):
    """Slots of a pool."""

    pool: Name
    slots: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 1


class NodeClaim(Schema):
    """A side of an asset's lock: readers share it, a writer (``exclusive``) shares with nobody.

    :param partitions: which; null is all of it.
    """

    node: Name
    exclusive: bool = False
    partitions: list[Text] | None = None


class SlotClaim(Schema):
    """All that a step needs, or none of it; what it holds already is extended.

    :param only_renew: extend what is held, take nothing new.
    """

    run_id: RunId
    step: Name
    pools: list[PoolClaim] = Field(default_factory=list)
    nodes: list[NodeClaim] = Field(default_factory=list)
    lease_seconds: _Lease = 300.0
    only_renew: bool = False


class SlotGrant(Schema):
    """Whether the claim is granted; else why not, and whether it never can be."""

    granted: bool
    reason: str | None = None
    impossible: bool = False


class SlotRelease(Schema):
    """Give up what a step, or all of a run, holds."""

    run_id: RunId
    step: Name | None = None


class SlotsReleased(Schema):
    """How many claims were given up."""

    released: int


class PoolLimit(Schema):
    """A pool's limit; -1 is none."""

    pool: Name
    slot_limit: Annotated[int, Field(ge=-1, le=MAX_NUMBER)]
    lease_seconds: _Lease = 300.0


class SlotHolder(Schema):
    """Who holds slots of a pool."""

    run_id: str
    step: str
    slots: int
    claimed: Utc
    expires: Utc


class Pool(Schema):
    """A pool and who is in it now; ``configured`` where its limit was set."""

    pool: str
    slot_limit: int
    lease_seconds: float
    configured: bool
    holders: list[SlotHolder]


class Pools(Schema):
    """Pools by name."""

    items: list[Pool]


class PoolQuery(Schema):
    """One pool, or all."""

    pool: Name | None = None
