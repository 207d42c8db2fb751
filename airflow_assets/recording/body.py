"""A task whose body is about to run. Imports nothing that a task without assets would have to pay for."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_assets import config
from airflow_assets.recording.emitting import Collector, collecting
from airflow_assets.recording.script_lines import ScriptLines, reading
from airflow_assets.recording.settings import Settings, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)
_TRUE = ("1", "on", "t", "true", "y", "yes")


@dataclass
class TaskBody:
    """A running task as the recorder sees it."""

    ti: Any
    settings: Settings
    inlets: list[Any]
    outlets: list[Any]
    collector: Collector = field(default_factory=Collector)
    script: ScriptLines = field(default_factory=ScriptLines)

    @classmethod
    def of(cls, ti: Any) -> TaskBody:
        """Return the task that a task instance is about to run."""
        task = ti.task
        return cls(ti, settings_of(task), list(task.inlets), list(task.outlets))

    @property
    def task(self) -> Any:
        """The operator."""
        return self.ti.task

    def has_something(self) -> bool:
        """Tell whether there is anything to record, or to complain about."""
        return bool(
            self.collector.bundles
            or self.script.bundles
            or self.script.problems
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
            if self._reads_script(context) and not stack.enter_context(reading(self.task, self.script.read)):
                log.info(
                    "enable_auto is on, but the output of %s is not read for asset lines (that of "
                    "BashOperator, @task.bash, PythonVirtualenvOperator and ExternalPythonOperator is). "
                    "Call airflow_assets.emit() instead.",
                    type(self.task).__name__,
                )
        except Exception:
            log.exception("The output of this task is not read for asset lines.")
        return stack

    def _reads_script(self, context: Mapping[str, Any]) -> bool:
        given = self.settings.enable_auto
        if given is None:
            return config.enable_auto()
        if isinstance(given, str) and "{" in given:
            from airflow_assets.recording.rendering import Renderer, RenderingFailed

            try:
                given = Renderer(self.task, context, None).text(given, "enable_auto")
            except RenderingFailed as error:
                log.warning("%s Asset lines are not read.", error)
                return False
        return given if isinstance(given, bool) else given.strip().lower() in _TRUE
