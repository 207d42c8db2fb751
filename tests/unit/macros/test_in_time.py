from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from airflow_assets.in_time import in_time

here: ContextVar[str] = ContextVar("here", default="elsewhere")


def test_what_is_done_in_time_is_returned_or_raised() -> None:
    here.set("in the parse")
    assert in_time(here.get) == "in the parse"
    with pytest.raises(ZeroDivisionError):
        in_time(lambda: 1 / 0)


def test_what_is_late_goes_on_without_the_caller() -> None:
    answer, done = threading.Event(), threading.Event()

    def slow() -> None:
        answer.wait()
        done.set()

    with pytest.raises(TimeoutError, match=r"no answer within 0.05 s"):
        in_time(slow, 0.05)
    answer.set()
    assert done.wait(10)
