"""Processes that report checks of the same polled schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.schemas.polls import CheckReport, FreshnessPoll, PollRef, ScriptPoll
from tests.support.catalog_writers import CALLER

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService


def report_same(service: CatalogService, key: str, found: list[bool]) -> list[bool]:
    """Report the same checks as everybody else; tells for each whether this report was accepted."""
    poll = ScriptPoll(definition_key=key)
    reports = [
        CheckReport(poll=poll, number=number, matched=matched, payload={})
        for number, matched in enumerate(found)
    ]
    return [service.report_check(CALLER, report).accepted for report in reports]


def report_next(service: CatalogService, checks: int) -> None:
    """Make checks of one freshness trigger, as a triggerer does."""
    check = {"expectation": {"max_staleness": "PT6H"}}
    poll = FreshnessPoll.model_validate({"check": check, "mode": "transitions"})
    for _ in range(checks):
        due = service.next_check(CALLER, PollRef(poll=poll))
        service.report_check(CALLER, CheckReport(poll=poll, number=due.number))
