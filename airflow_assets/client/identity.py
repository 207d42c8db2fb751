"""Who is running here: the task instance, the trigger or the Dag file that makes a call."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from airflow_assets.exceptions import NotAuthenticated
from airflow_assets.schemas.credentials import Claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.schemas.actors import Source

_acting: ContextVar[Any] = ContextVar("airflow_assets_acting_as", default=None)
_speaking: ContextVar[Claims | None] = ContextVar("airflow_assets_speaking_as", default=None)


@contextmanager
def acting_as(task_instance: Any) -> Iterator[None]:
    """Let calls inside the block be made in the name of a task instance (Airflow's ``RuntimeTaskInstance``).

    For code around the body of a task, where Airflow's current context may not be set.
    """
    mark = _acting.set(task_instance)
    try:
        yield
    finally:
        _acting.reset(mark)


@contextmanager
def speaking_as(claims: Claims) -> Iterator[None]:
    """Let managed tokens signed inside the block say this, for checks of the credentials themselves."""
    mark = _speaking.set(claims)
    try:
        yield
    finally:
        _speaking.reset(mark)


def current_task_instance() -> Any | None:
    """Return the task instance that runs here, None outside of a task."""
    acting = _acting.get()
    if acting is not None:
        return acting
    # Not imported yet means that no task runs in this process: a plain script then stays free of Airflow.
    contexts = sys.modules.get("airflow.sdk.definitions._internal.contextmanager")
    if contexts is None:
        return None
    from airflow.sdk import get_current_context

    try:
        return get_current_context().get("ti")
    except RuntimeError:
        return None


def current_claims() -> Claims:
    """Return what a managed token must say here.

    :raises NotAuthenticated: neither a task, a trigger nor a Dag file runs here.
    """
    spoken = _speaking.get()
    if spoken is not None:
        return spoken
    task_instance = current_task_instance()
    if task_instance is not None:
        return Claims(
            sub=f"ti:{task_instance.id}",
            dag_id=task_instance.dag_id,
            run_id=task_instance.run_id,
            task_id=task_instance.task_id,
            map_index=-1 if task_instance.map_index is None else task_instance.map_index,
            try_number=task_instance.try_number,
        )
    bound = _bound_for_logs()
    if bound.get("trigger_id") is not None:
        return Claims(sub=f"trigger:{bound['trigger_id']}")
    if bound.get("ti_id"):
        return _claims_of_starting_task(bound)
    if _is_supervised():
        return Claims(sub=f"parse:{parsed_module() or 'unknown'}")
    raise NotAuthenticated(
        "The managed credentials are for tasks, triggers and Dag files; this process is none of them.",
        hint="Log in: give a token, or username and password, as arguments or in an Airflow connection.",
    )


def current_source() -> Source:
    """Return who writes in process: the task instance that runs here, else the user of the host."""
    from airflow_assets.schemas.actors import Source, SourceKind

    task_instance = current_task_instance()
    if task_instance is None:
        return Source(kind=SourceKind.CLI, user=_user_of_host())
    return Source(
        kind=SourceKind.TASK,
        dag_id=task_instance.dag_id,
        run_id=task_instance.run_id,
        task_id=task_instance.task_id,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
        try_number=task_instance.try_number,
        ti_id=str(task_instance.id),
    )


def _user_of_host() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under an id that has no name
        return str(os.getuid())


def in_task_process() -> bool:
    """Whether this process was started for one task, even if the task's body does not run yet or any more."""
    bound = _bound_for_logs()
    return bool(bound.get("ti_id")) and bound.get("trigger_id") is None


def _bound_for_logs() -> dict[str, Any]:
    """Return the ids that Airflow binds for log lines: a task's at its start, a trigger's in its task."""
    contextvars = sys.modules.get("structlog.contextvars")
    return dict(contextvars.get_contextvars()) if contextvars else {}


def _claims_of_starting_task(bound: dict[str, Any]) -> Claims:
    """While a task's process parses the Dag file and resolves its params there is no current context yet."""
    map_index = bound.get("map_index")
    return Claims(
        sub=f"ti:{bound['ti_id']}",
        dag_id=bound.get("dag_id"),
        run_id=bound.get("run_id"),
        task_id=bound.get("task_id"),
        map_index=-1 if map_index is None else map_index,
        try_number=bound.get("try_number"),
    )


def _is_supervised() -> bool:
    """Whether this process is a child that talks to an Airflow supervisor."""
    runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
    return getattr(runner, "SUPERVISOR_COMMS", None) is not None


def parsed_module() -> str | None:
    """Return the name of the module as which a Dag file is being imported here; None if none is.

    Airflow does not tell the code that it parses the name of its bundle.
    """
    contexts = sys.modules.get("airflow.sdk.definitions._internal.contextmanager")
    return getattr(getattr(contexts, "DagContext", None), "current_autoregister_module_name", None)
