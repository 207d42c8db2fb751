"""What the catalogue's sensors share: the connection, and deferring after a first poke."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_assets.client.options import DEFAULT_CONN_ID
from airflow_assets.operators.base import CONNECTION_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context
    from airflow.triggers.base import BaseTrigger

    from airflow_assets.client.base import CatalogClient


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


class CatalogSensor(DeferrableSensor):
    """Base of the sensors that ask the catalogue.

    :param conn_id: the Airflow connection; the default one is made and kept by the provider.
    :param api_url: address of the API server, if it is not to be found by the rules of docs/connection.md.
    :param tenant: the tenant to act on, default the connection's, else ``main``.
    """

    template_fields: Sequence[str] = CONNECTION_FIELDS

    def __init__(
        self,
        *,
        conn_id: str = DEFAULT_CONN_ID,
        api_url: str | None = None,
        tenant: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.api_url = api_url
        self.tenant = tenant

    def client(self) -> CatalogClient:
        """Return the client of the connection arguments."""
        from airflow_assets.client import get_client

        return get_client(self.conn_id or DEFAULT_CONN_ID, api_url=self.api_url, tenant=self.tenant)


def _default_deferrable() -> bool:
    from airflow.sdk.configuration import conf

    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))
