"""Work that the parsing of a Dag file may wait for, but not for long."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
PARSE_LIMIT = 10.0
"""Seconds. Airflow ends the parsing of a file after 30, by a signal that may hit a request half read."""


class _Result(Generic[_T]):
    value: _T
    error: BaseException | None = None


def in_time(work: Callable[[], _T], seconds: float = PARSE_LIMIT) -> _T:
    """Return what ``work()`` returns, or raise what it raises; a late one goes on in a thread of its own.

    For what asks Airflow or the catalogue while a Dag file is parsed: the first connection that a Dag
    processor hands out makes it build its Execution API, which takes seconds, on a busy host too many.

    :raises TimeoutError: it is not done in time.
    """
    result: _Result[_T] = _Result()

    def run() -> None:
        try:
            result.value = work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            result.error = error

    # The context tells who is running here, which decides as whom the catalogue is asked.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no answer within {seconds:g} s")
    if result.error is not None:
        raise result.error
    return result.value
