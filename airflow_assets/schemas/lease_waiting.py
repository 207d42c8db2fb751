"""Waiting for locks: whose turn it is."""

from __future__ import annotations

from uuid import UUID

from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.waiting import WaitTime


class LeaseWait(Schema):
    """Wait until it may be one's turn for the locks that were refused, and keep the place in their queue.

    :param wait_id: that of the refused acquisition.
    :param timeout: seconds to wait, up to 25; 0 looks once.

    >>> LeaseWait(wait_id="0199b1f4-6f3c-7aaf-8000-000000000000", timeout=25)
    """

    wait_id: UUID
    timeout: WaitTime = 0.0


class LeaseWaitResult(Schema):
    """Whether to acquire again, with the same ``wait_id``: one's turn may have come, or the place is gone."""

    turn: bool
