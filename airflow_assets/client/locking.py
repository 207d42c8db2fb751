"""Acquiring locks: what the arguments mean, and waiting for one's turn where nothing better can wait."""

from __future__ import annotations

import logging
import random
import time
import uuid
from typing import TYPE_CHECKING, Any

from airflow_assets.exceptions import AssetCatalogError, AssetLocked, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from airflow_assets.client.base import CatalogClient
    from airflow_assets.schemas.lease import Lease, LeaseScope
    from airflow_assets.schemas.leases import AcquireLeases

log = logging.getLogger(__name__)

FIRST_POLL, LONGEST_POLL = 0.5, 3.0
"""Seconds between two looks; a place in the queue lasts much longer."""


def acquire_in_turn(
    client: CatalogClient, request: AcquireLeases, patience: float
) -> tuple[list[Lease], float]:
    """Acquire locks, waiting up to ``patience`` seconds (0: not at all) in the order of arrival.

    Returns the leases, and when the request for them was sent (``time.monotonic``): by the database's clock
    they were granted after that.

    :raises AssetLocked: somebody else holds one, and still does when the time is over.
    """
    if patience:
        request = request.model_copy(update={"wait_id": uuid.uuid4()})
    deadline, pause = time.monotonic() + patience, FIRST_POLL
    while True:
        sent = time.monotonic()
        try:
            return client.acquire_leases(request).leases, sent
        except AssetLocked as error:
            left = deadline - time.monotonic()
            refuse_hopeless(client, error, request.wait_id)
            if left <= 0:
                raise given_up(client, error, request.wait_id, patience) from None
            log.info("Waiting: %s", error.detail)
        time.sleep(min(left, pause * random.uniform(0.5, 1.0)))  # noqa: S311 - spreads the waiters
        pause = min(LONGEST_POLL, pause * 1.5)


def refuse_hopeless(client: CatalogClient, error: AssetLocked, wait_id: uuid.UUID | None) -> None:
    """Do not wait for what never comes.

    :raises AssetLocked: the caller's fencing number is out of date; or his own Dag run, which ends only after
        him, holds what he wants for his task alone.
    """
    if "current_fencing_token" in error.members:
        raise given_up(client, error, wait_id, 0.0)
    if _is_own_run(error):
        error = given_up(client, error, wait_id, 0.0)
        error.hint = "This task's own run holds it: its tasks may write, and need no lock of their own."
        raise error


def _is_own_run(error: AssetLocked) -> bool:
    from airflow_assets.client.identity import current_task_instance

    ti = current_task_instance()
    if ti is None or error.members.get("owner_type") != "EXECUTION":
        return False
    return bool(error.members.get("owner") == f"{ti.dag_id} / {ti.run_id}")


def given_up(
    client: CatalogClient, error: AssetLocked, wait_id: uuid.UUID | None, waited: float
) -> AssetLocked:
    """Leave the queue, so that those behind need not wait for it to be noticed; return the error to raise."""
    if wait_id is None:
        return error
    from airflow_assets.schemas.leases import ReleaseLeases

    try:
        # Nothing has the wait's own id: only the place is given up, no lock that the caller may hold.
        client.release_leases(ReleaseLeases(asset_ids=[str(wait_id)], wait_id=wait_id))
    except AssetCatalogError as unheard:
        log.warning("The place in the queue is kept for one more minute: %s", unheard)
    told = f"{error.detail} It was waited for, for {waited:g} s." if waited else error.detail
    return AssetLocked(told, hint=error.hint, **error.members)


def request_of(asset_ids: Sequence[str], ttl: Any, scope: Any, **more: Any) -> AcquireLeases:
    """Return the request of these arguments.

    :raises InvalidRequest: one of them breaks a rule.
    """
    from airflow_assets.schemas.leases import AcquireLeases

    return AcquireLeases(asset_ids=list(asset_ids), ttl=lock_ttl(ttl), scope=lease_scope(scope), **more)


def lock_ttl(value: Any) -> timedelta:
    """Return how long a lock lasts; takes seconds also as text, as templates and command lines give them.

    :raises InvalidRequest: it cannot be understood, or is shorter than 1 s or longer than 24 h.
    """
    from airflow_assets.schemas.lease import lease_ttl

    return lease_ttl(_number(value))


def lease_scope(scope: Any) -> LeaseScope:
    """Return the scope of that name.

    :raises InvalidRequest: it is neither ``run`` nor ``task``.
    """
    from airflow_assets.schemas.lease import LeaseScope

    try:
        return LeaseScope(scope)
    except ValueError:
        raise InvalidRequest(
            f"scope={scope!r} is neither run nor task.",
            hint="run: all tasks of the Dag run may write; task: only this task instance.",
            field="scope",
            value=str(scope),
        ) from None


def wait_seconds(timeout: Any) -> float:
    """Return how many seconds to wait at most: infinity for None.

    :param timeout: a ``timedelta``, a number of seconds, or ISO 8601 text (``PT10M``).
    :raises InvalidRequest: it cannot be understood, or is negative.
    """
    if timeout is None or timeout == "":
        return float("inf")
    from datetime import timedelta

    from pydantic import TypeAdapter, ValidationError

    try:
        seconds = TypeAdapter(timedelta).validate_python(_number(timeout)).total_seconds()
    except ValidationError:
        seconds = -1.0
    if seconds < 0:
        raise InvalidRequest(
            f"timeout={timeout!r} is no time to wait.",
            hint="Give seconds, a timedelta or ISO 8601 text (PT10M); leave it out to wait without end.",
            field="timeout",
            value=str(timeout),
        )
    return seconds


def _number(value: Any) -> Any:
    """The number that a text is, else the value itself."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
