"""The listener of this provider: it hands every task that is about to run to the recorder.

Airflow calls it in the task's process, after the operator is final and before its body; it calls it in the
API server too when somebody sets a state by hand, with nothing to run there. It must cost a foreign task
next to nothing and can never fail one.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.listeners import hookimpl

# Here and not in the hook, so that a process that starts tasks by a fork has it already. It is all stdlib.
from airflow_assets.config import enabled
from airflow_assets.recording.wrapper import attach

log = logging.getLogger(__name__)


@hookimpl
def on_task_instance_running(previous_state: Any, task_instance: Any) -> None:  # noqa: ARG001 - Airflow's names
    """Wrap the body of the task, so that what it read and wrote is recorded when it has ended."""
    task = getattr(task_instance, "task", None)
    if task is None:
        return
    try:
        if enabled():
            attach(task_instance)
    except Exception:
        log.exception("What this task reads and writes will not be recorded in the asset catalogue.")
