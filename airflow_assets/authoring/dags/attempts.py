"""Counting the tries of a task as its step's retry policy counts them."""

from __future__ import annotations

from airflow_assets.authoring.retries import FailureReason


def attempt_of(try_number: int, max_tries: int, retries: int) -> int:
    """Return which try this is of those that the policy allows; a cleared task begins anew.

    >>> attempt_of(1, 2, 2), attempt_of(4, 5, 2)
    (1, 1)
    """
    return max(1, try_number - max(0, max_tries - retries))


def reason_of(error: BaseException) -> FailureReason:
    """Return why a try ended, Airflow's own time-out included."""
    timeout = type(error).__name__ == "AirflowTaskTimeout"
    return FailureReason.TIMEOUT if timeout else FailureReason.of(error)
