"""What the catalogue's sensors share: the connection, and deferring after a first poke."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_assets.operators.base import CatalogOperator

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.triggers.base import BaseTrigger


class DeferrableSensor(BaseSensorOperator):
    """Base of the sensors: a subclass says how to poke, and which trigger goes on waiting.

    ``poke`` returns False or a ``PokeReturnValue`` with the payload; the task returns it. Time-out,
    ``soft_fail``, ``never_fail`` and ``silent_fail`` mean in each mode what Airflow says.

    :param deferrable: poke once and wait in the triggerer, without a worker; default ``[operators]
        default_deferrable``. Otherwise ``mode`` counts: ``poke`` keeps the worker, ``reschedule`` gives it
        back between two pokes.
    """

    ui_color = "#e4ebfe"

    def __init__(self, *, deferrable: bool | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.deferrable = _default_deferrable() if deferrable is None else deferrable

    def make_trigger(self, context: Context) -> BaseTrigger | None:
        """Return what goes on waiting after a poke that found nothing.

        None when that poke failed and ``silent_fail`` kept it quiet: the task is rescheduled and pokes again.
        """
        raise NotImplementedError(f"{type(self).__name__} must say which trigger waits for it.")

    def execute(self, context: Context) -> Any:
        """Wait, and return the payload."""
        if not self.deferrable:
            return super().execute(context)
        # Airflow's own loop makes one poke, with all its rules on failures, and then would reschedule.
        self.mode = "reschedule"
        try:
            return super().execute(context)
        except AirflowRescheduleException:
            trigger = self.make_trigger(context)
            if trigger is None:
                raise
        limit = timedelta(seconds=self.timeout)
        return self.defer(trigger=trigger, method_name="resumed", timeout=limit)

    def resumed(self, context: Context, event: Any) -> Any:  # noqa: ARG002
        """Return what the trigger found."""
        self.log.info("Success criteria met. Exiting.")
        return event


class CatalogSensor(CatalogOperator, DeferrableSensor):
    """Base of the sensors that ask the catalogue; takes the arguments of both its bases."""


def _default_deferrable() -> bool:
    from airflow.sdk.configuration import conf

    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))
