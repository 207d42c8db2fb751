"""Processes that contend for locks."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from airflow_assets.exceptions import AssetLocked
from airflow_assets.schemas.assets import AssetUpdate
from tests.support.fenced_resource import FencedResource
from tests.support.lock_callers import Locks, task, with_tokens

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService

ASSETS = ("left", "right")
TTL = 1.0
PATIENCE = 60.0


def contend(service: CatalogService, folder: str, seconds: float, number: int) -> dict[str, Any]:
    """Take one or both of two locks again and again, write under them, hang now and then; return the counts.

    Who has never won goes on after its time: on a slow machine a turn may take longer to come. The database's errors are counted where they arise, also those after which a transaction is run again.
    """
    choose = random.Random(number)  # noqa: S311 - repeatable on purpose
    counts: Counter[str] = Counter()
    errors: list[str] = []
    event.listen(
        service.engine, "handle_error", lambda context: errors.append(str(context.original_exception))
    )
    deadline = time.monotonic() + seconds
    while (now := time.monotonic()) < deadline or (not counts["won"] and now < deadline + PATIENCE):
        _tenure(service, Path(folder), number, choose, counts)
    return {**counts, "errors": errors}


def _tenure(
    service: CatalogService, folder: Path, number: int, choose: random.Random, counts: Counter[str]
) -> None:
    caller = task(f"run {number} {uuid.uuid4()}")
    names = choose.choice((ASSETS[:1], ASSETS[1:], ASSETS, ASSETS[::-1]))
    wait_id = uuid.uuid4() if choose.random() < 0.7 else None
    locks = Locks(service)
    granted, sent = None, 0.0
    for _ in range(200):
        sent = time.monotonic()
        try:
            granted = locks.acquire_all(caller, names, wait_id, TTL)
            break
        except AssetLocked:
            counts["refused"] += 1
            time.sleep(choose.uniform(0.001, 0.02))
    if granted is None:
        locks.release(caller, *names, wait_id=wait_id)
        return
    counts["won"] += 1
    holder = str(caller.source.run_id)
    tokens = {lease.asset_id: lease.fencing_token for lease in granted}
    writer = with_tokens(caller, **tokens)
    for lease in granted:
        counts[f"won {lease.asset_id}"] += 1
        if not FencedResource(folder / lease.asset_id).enter(lease, holder):
            counts["late"] += 1
    hangs = choose.random() < 0.02
    time.sleep(TTL * 1.3 if hangs else choose.uniform(0, 0.005))
    try:
        service.update_asset(writer, names[0], AssetUpdate(metadata={"by": number}))
        counts["written"] += 1
    except AssetLocked:
        counts["fenced"] += 1
        # The lease began after it was asked for: within a ttl of that it cannot have run out.
        counts["fenced in time"] += time.monotonic() - sent < TTL
    for name, token in tokens.items():
        FencedResource(folder / name).leave(token, holder)
    locks.release(writer, *names)


def hold_and_hang(service: CatalogService, pids: Any, ttl: float) -> None:
    """Lock, tell the process id, and never come back."""
    Locks(service).acquire(task("victim"), ASSETS[0], ttl=ttl)
    pids.put(os.getpid())
    time.sleep(600)
