"""Dagster's side of `locks`: claim and free the only slot of a pool."""

from __future__ import annotations

import logging

from dagster import DagsterInstance
from locking import Claimed, serve_locks

logging.disable(logging.CRITICAL)
POOL = "locked"


def main() -> None:
    storage = DagsterInstance.get().event_log_storage
    storage.set_concurrency_slots(POOL, 1)

    def claim(number: int, attempt: int) -> Claimed:
        ask = storage.check_concurrency_claim if attempt else storage.claim_concurrency_slot
        return ask(POOL, f"run_{number}", "load").is_claimed, None

    def free(number: int) -> None:
        storage.free_concurrency_slot_for_step(f"run_{number}", "load")

    serve_locks(claim, free, give_up=free)


if __name__ == "__main__":
    main()
