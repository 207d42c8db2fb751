"""Acquiring and releasing the locks of assets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.leases import (
        AcquireLeases,
        ForceUnlock,
        ForceUnlockResult,
        LeaseGrant,
        ReleaseLeases,
        ReleaseResult,
    )


def acquire(engine: Engine, caller: Caller, body: AcquireLeases) -> LeaseGrant:
    raise NotImplementedError


def release(engine: Engine, caller: Caller, body: ReleaseLeases) -> ReleaseResult:
    raise NotImplementedError


def force_unlock(engine: Engine, caller: Caller, body: ForceUnlock) -> ForceUnlockResult:
    raise NotImplementedError
