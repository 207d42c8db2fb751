"""A task whose body is about to run. Imports nothing that a task without assets would have to pay for."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from airflow_assets import config
from airflow_assets.recording.emitting import Collector, collecting
from airflow_assets.recording.settings import settings_of
from airflow_assets.schemas.declared import is_authored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_assets.recording.script_lines import ScriptLines
    from airflow_assets.schemas.lineage import Bundle

log = logging.getLogger(__name__)
_TRUE = ("1", "on", "t", "true", "y", "yes")


class TaskBody:
    """A running task as the recorder sees it.

    :param ti: Airflow's ``RuntimeTaskInstance``. Inlets and outlets are those of the Dag file.
    """

    def __init__(self, ti: Any) -> None:
        self.ti = ti
        self.task = ti.task
        self.inlets = list(self.task.inlets)
        self.outlets = [one for one in self.task.outlets if not is_authored(getattr(one, "extra", None))]
        self.settings = settings_of(self.task)
        self.collector = Collector()
        self._script: ScriptLines | None = None

    @property
    def bundles(self) -> list[Bundle]:
        """What the body emitted and what its script printed, so far."""
        return [*self.collector.bundles, *(self._script.bundles if self._script else ())]

    @property
    def problems(self) -> list[str]:
        """Lines of the script that could not be understood."""
        return self._script.problems if self._script else []

    def has_something(self) -> bool:
        """Tell whether there is anything to record, or to complain about."""
        return bool(
            self.bundles
            or self.problems
            or self.inlets
            or self.outlets
            or self.settings.inputs is not None
            or self.settings.outputs is not None
        )

    def running(self, context: Mapping[str, Any]) -> ExitStack:
        """Collect what the body emits and, with ``enable_auto``, what its script prints, until closed."""
        stack = ExitStack()
        stack.enter_context(collecting(self.collector))
        try:
            if self._reads_script(context):
                self._listen(stack)
        except Exception:
            log.exception("The output of this task is not read for asset lines.")
        return stack

    def _listen(self, stack: ExitStack) -> None:
        from airflow_assets.recording.script_lines import ScriptLines, reading

        self._script = ScriptLines()
        if not stack.enter_context(reading(self.task, self._script.read)):
            log.info(
                "enable_auto is on, but the output of %s is not read for asset lines (that of BashOperator, "
                "@task.bash, PythonVirtualenvOperator and ExternalPythonOperator is). "
                "Call airflow_assets.emit() instead.",
                type(self.task).__name__,
            )

    def _reads_script(self, context: Mapping[str, Any]) -> bool:
        given = self.settings.enable_auto
        if given is None:
            return config.enable_auto()
        if isinstance(given, str) and "{" in given:
            from airflow_assets.recording.rendering import Renderer, RenderingFailed

            try:
                given = Renderer(self.task, context).text(given, "enable_auto")
            except RenderingFailed as error:
                log.warning("%s Asset lines are not read.", error)
                return False
        return given if isinstance(given, bool) else given.strip().lower() in _TRUE
