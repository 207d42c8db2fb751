"""Listing locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.base import Page
    from airflow_assets.schemas.leases import ForcedUnlock, ForcedUnlockQuery, Lease, LeaseQuery


def list_leases(conn: Connection, caller: Caller, query: LeaseQuery) -> Page[Lease]:
    raise NotImplementedError


def list_forced_unlocks(conn: Connection, caller: Caller, query: ForcedUnlockQuery) -> Page[ForcedUnlock]:
    raise NotImplementedError
