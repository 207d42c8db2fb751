"""Dagster's side of `locks`: claim and free the only slot of a pool."""

from __future__ import annotations

import logging
import time

from dagster import DagsterInstance
from locking import serve_locks

logging.disable(logging.CRITICAL)
POOL = "locked"
PAUSE = 0.002


def main() -> None:
    storage = DagsterInstance.get().event_log_storage
    storage.set_concurrency_slots(POOL, 1)

    def claim(number: int) -> None:
        claimed = storage.claim_concurrency_slot(POOL, f"run_{number}", "load").is_claimed
        while not claimed:
            time.sleep(PAUSE)
            claimed = storage.check_concurrency_claim(POOL, f"run_{number}", "load").is_claimed

    def free(number: int) -> None:
        storage.free_concurrency_slot_for_step(f"run_{number}", "load")

    serve_locks(claim, free)


if __name__ == "__main__":
    main()
