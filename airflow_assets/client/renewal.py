"""A thread that renews what would run out by itself."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Renewal:
    """Calls ``renew`` again and again in a thread of its own, until stopped or told to end.

    The thread sees the context variables of the code that starts it. It runs beside pure Python that never
    waits, since the interpreter lets threads take turns; not beside native code that keeps the
    interpreter's lock.

    :param renew: returns after how many seconds to call it again, None to end; it must not raise.
    :param first: seconds until the first call.
    """

    def __init__(self, renew: Callable[[], float | None], first: float, name: str) -> None:
        self._renew = renew
        self._first = first
        self._ended = threading.Event()
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; a renewal that is under way is waited for, so that none comes after this."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause: float | None = self._first
        while pause is not None and not self._ended.wait(pause):
            pause = self._renew()
