"""Calls in the name of a task instance, where none runs."""

from __future__ import annotations

import contextvars
import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_assets.client.identity import acting_as

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

T = TypeVar("T")


def task(run_id: str = "r1", task_id: str = "t", *, map_index: int = -1, try_number: int = 1) -> Any:
    """What our code uses of Airflow's task instance; each call is another try with an id of its own."""
    return SimpleNamespace(
        id=uuid.uuid4(),
        dag_id="d",
        run_id=run_id,
        task_id=task_id,
        map_index=map_index,
        try_number=try_number,
    )


def in_task(
    run_id: str = "r1", task_id: str = "t", *, map_index: int = -1, try_number: int = 1
) -> AbstractContextManager[None]:
    """Let calls inside the block be made by a task."""
    return acting_as(task(run_id, task_id, map_index=map_index, try_number=try_number))


def elsewhere(call: Callable[[], T], run_id: str = "r2", *, map_index: int = -1) -> T:
    """Make a call as another process would: by a task of another run, under no lock of this one."""

    def made() -> T:
        with in_task(run_id, map_index=map_index):
            return call()

    return contextvars.Context().run(made)
