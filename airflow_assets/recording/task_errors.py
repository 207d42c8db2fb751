"""The exception that ended a try, as the catalogue may know it."""

from __future__ import annotations

from airflow_assets.running.definition import airflow_mask
from airflow_assets.schemas.lineage import TaskError

_LONGEST_TYPE, _LONGEST_MESSAGE = 250, 10_000


def task_error(error: BaseException) -> TaskError:
    """Return type and message, without the secrets that Airflow knows of, and cut.

    >>> task_error(ValueError("no such day"))
    TaskError(type='ValueError', message='no such day')
    """
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception as broken:  # noqa: BLE001 - anybody's exception, whose text is anybody's code
        message = f"(its text cannot be told: {type(broken).__name__})"
    return TaskError(type=name[:_LONGEST_TYPE], message=airflow_mask(message)[:_LONGEST_MESSAGE])
