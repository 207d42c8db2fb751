"""Processes that report checks of the same polled schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.schemas.polls import CheckReport, ScriptPoll
from tests.support.catalog_writers import CALLER

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService


def report_same(service: CatalogService, key: str, number: int, matched: bool) -> tuple[bool, str | None]:
    """Report one check; return whether it was accepted, and the firing."""
    poll = ScriptPoll(definition_key=key)
    result = service.report_check(CALLER, CheckReport(poll=poll, number=number, matched=matched, payload={}))
    return result.accepted, result.firing_id
