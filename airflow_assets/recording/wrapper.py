"""Around the body of a task: the recorder runs when the body has ended and before Airflow is told a state.

Only ``execute`` and ``resume_execution`` of the one operator object that is about to run are wrapped. So the
wrapper sees a return, a skip, a branch, a deferral and a failure alike, a downstream task always finds the
record, and an error of ours can fail the task.
"""

from __future__ import annotations

import functools
import logging
import os
from typing import TYPE_CHECKING, Any

from airflow_assets.recording.body import TaskBody

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

_NOT_RECORDED = "What this task has read and written will not be recorded in the asset catalogue."
CARRIED = "airflow_assets_emitted"
"""The argument in which a deferred task carries what it has emitted so far into its next process."""


def attach(ti: Any) -> None:
    """Wrap the body of the operator that a task instance is about to run."""
    task = ti.task
    around = _Around(TaskBody(ti))
    task.execute = around.wrapped(task.execute)
    task.resume_execution = around.wrapped(task.resume_execution)
    if task.outlets:
        task.outlets = [_by_name(outlet) for outlet in task.outlets]


def _by_name(outlet: Any) -> Any:
    """Let Airflow find an asset of ours without a URI of its own under the URI its name has elsewhere."""
    from airflow.sdk import Asset

    from airflow_assets.schemas.declared import EXTRA_KEY

    if isinstance(outlet, Asset) and EXTRA_KEY in outlet.extra and outlet.uri == outlet.name:
        return Asset.ref(name=outlet.name)
    return outlet


class _Around:
    def __init__(self, body: TaskBody) -> None:
        self._body = body
        self._pid = os.getpid()
        self._inside = False

    def wrapped(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            # resume_execution may call execute, and a body may fork: only the outermost call here is the try.
            if self._inside or os.getpid() != self._pid:
                return method(*args, **kwargs)
            self._inside = True
            try:
                self._unpack(kwargs.get("next_kwargs"))
                context = kwargs.get("context") or self._body.ti.get_template_context()
                return self._run(functools.partial(method, *args, **kwargs), context)
            finally:
                self._inside = False

        return recorded

    def _run(self, body: Callable[[], Any], context: Mapping[str, Any]) -> Any:
        try:
            with self._body.running(context):
                result = body()
        except BaseException as error:
            # A child that the body forked and that leaves by an exception is not the task.
            if os.getpid() == self._pid:
                self._raised(error, context)
            raise
        if self._body.has_something():
            self._record(context, "WELL", result=result)
        return result

    def _raised(self, error: BaseException, context: Mapping[str, Any]) -> None:
        try:
            from airflow_assets.recording.airflow_runtime import Ending, ending_of

            ending = ending_of(error)
            if ending is Ending.PAUSED:
                self._pack(error)
                return
        except Exception:  # the body's own error is the one that counts
            log.exception(_NOT_RECORDED)
            return
        if self._body.has_something():
            self._record(context, ending.name, error=error)

    def _record(
        self,
        context: Mapping[str, Any],
        ending: str,
        *,
        result: Any = None,
        error: BaseException | None = None,
    ) -> None:
        try:
            from airflow.sdk.exceptions import AirflowException, AirflowFailException

            from airflow_assets.recording.airflow_runtime import Ending
            from airflow_assets.recording.recorder import End, TaskFailedByAssets, record
        except Exception:  # a broken installation of ours is no reason to fail anybody's task
            log.exception(_NOT_RECORDED)
            return
        try:
            record(self._body, context, End(Ending[ending], result, error))
        except TaskFailedByAssets as failure:
            kind = AirflowException if failure.retry else AirflowFailException
            raise kind(str(failure)) from None

    def _pack(self, error: BaseException) -> None:
        """Carry what was emitted so far into the process that resumes the task."""
        emitted = self._body.bundles
        if emitted and hasattr(error, "kwargs"):
            carried = [bundle.to_json() for bundle in emitted]
            error.kwargs = {**(error.kwargs or {}), CARRIED: carried}

    def _unpack(self, next_kwargs: dict[str, Any] | None) -> None:
        carried = (next_kwargs or {}).pop(CARRIED, None)
        if not carried:
            return
        try:
            from airflow_assets.schemas.lineage import Bundle

            self._body.collector.bundles.extend(Bundle.model_validate(each) for each in carried)
        except Exception:  # written by another version of ours; the body goes on without
            log.exception("What this task had emitted before it was deferred is lost.")
