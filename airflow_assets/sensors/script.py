"""Wait inside a Dag until the outcome of a script matches a condition."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import PokeReturnValue

from airflow_assets.operators.base import is_constant
from airflow_assets.running.definition import Definition
from airflow_assets.sensors.base import DeferrableSensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_assets.triggers.script_poll import ScriptWait


class PythonScriptSensor(DeferrableSensor):
    """Run a Python script at each poke until its outcome matches a condition, and return what it found.

    The script runs on the worker at each poke; a deferred sensor's runs there once and then where the
    triggerer runs. A script that did not begin or was not done in time is logged, and tried again later.

    :param script: Python source (templated). See :class:`airflow_assets.triggers.ScriptTrigger`.
    :param exit_condition: ``exit N``, else a pattern (templated).
    :param image: run it in a container of this image (templated).
    :param runner: ``auto``, ``process`` or ``container``.
    :param script_timeout: seconds after which one run of the script is ended; ``timeout`` is the sensor's.
    :param python: the interpreter, or the folder of a virtual environment (templated).
    :param network: the container's network; default ``bridge``.
    :raises InvalidRequest: an argument breaks a rule; constants are checked when the Dag is parsed.

    Returns ``timestamp``, ``condition``, ``exitCode`` and ``vars``.

    >>> PythonScriptSensor(task_id="wait", script="import app; app.check()", exit_condition="exit 0")
    """

    template_fields: Sequence[str] = ("script", "exit_condition", "image", "python")
    template_fields_renderers: ClassVar[dict[str, str]] = {"script": "python"}

    def __init__(
        self,
        *,
        script: str,
        exit_condition: str,
        image: str | None = None,
        runner: str = "auto",
        script_timeout: float = 60,
        python: str | None = None,
        network: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.script = script
        self.exit_condition = exit_condition
        self.image = image
        self.runner = runner
        self.script_timeout = script_timeout
        self.python = python
        self.network = network
        if is_constant([script, exit_condition, image, python]):
            self._definition()

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002
        """Run the script once."""
        from airflow_assets.triggers.script_poll import found_by

        finding = asyncio.run(found_by(self._definition(), f"Sensor {self.task_id}"))
        return PokeReturnValue(is_done=finding.get("matched", False), xcom_value=finding.get("payload"))

    def make_trigger(self, context: Context) -> ScriptWait:
        """Return the trigger that goes on running the script."""
        from airflow_assets.triggers.script_poll import ScriptWait

        ti = context["ti"]
        name = f"Sensor {ti.dag_id}.{ti.task_id} of run {ti.run_id}"
        return ScriptWait(self._definition().to_json(), self.poke_interval, name)

    def _definition(self) -> Definition:
        return Definition(
            script=self.script,
            exit_condition=self.exit_condition,
            image=self.image or None,
            runner=self.runner,
            timeout=self.script_timeout,
            python=self.python or None,
            network=self.network,
        )
