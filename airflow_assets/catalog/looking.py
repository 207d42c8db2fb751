"""Waiting in the calling thread: look, pause, look again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

EVERY = 0.5


def look_until(look: Callable[[], T], found: Callable[[T], bool], seconds: float) -> T:
    """Return what the last look saw: the first that found something, or the one when the time had passed."""
    until = time.monotonic() + seconds
    while True:
        seen = look()
        left = until - time.monotonic()
        if found(seen) or left <= 0:
            return seen
        time.sleep(min(left, EVERY))
