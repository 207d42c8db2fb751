"""Wait inside a Dag until an asset is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import PokeReturnValue

from airflow_assets.operators.base import CONNECTION_FIELDS, is_constant
from airflow_assets.sensors.base import CatalogSensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from airflow.sdk import Context

    from airflow_assets.schemas.freshness import FreshnessCheck
    from airflow_assets.triggers.freshness_wait import FreshnessWait

_FIELDS = (
    "max_staleness",
    "asset_id",
    "namespace",
    "asset_type",
    "metadata_query",
    "deadline",
    "window",
    "timezone",
)


class AssetFreshnessSensor(CatalogSensor):
    """Wait until at least one of the assets is stale, and return all that are.

    The arguments are those of :class:`~airflow_assets.triggers.FreshnessTrigger`, all templated. A deferred
    sensor looks again every ``poke_interval``.

    :param max_staleness: ISO 8601 text or timedelta; ``P1D`` is a day of the calendar in ``timezone``.
    :param asset_id: exact id; also matches an asset renamed from it.
    :param namespace: exact namespace of the assets.
    :param asset_type: exact type.
    :param metadata_query: conditions on top-level metadata keys, all of which must hold.
    :param deadline: instead of ``max_staleness``, a time of day in ``timezone``.
    :param window: how long before the deadline a write counts; default since the one of the day before.
    :param timezone: a name of the tz database; default UTC.
    :param per_asset: what an asset's metadata says under ``freshness`` comes first.
    :raises InvalidRequest: an argument breaks a rule; constants are checked when the Dag is parsed.

    Returns ``{"checkTime": …, "assets": […]}`` as ``trigger_assets`` has them, with ``staleDuration`` in
    seconds.

    >>> AssetFreshnessSensor(task_id="overdue", max_staleness="PT6H", namespace="sales", deferrable=True)
    """

    template_fields: Sequence[str] = (*_FIELDS, *CONNECTION_FIELDS)
    template_fields_renderers: ClassVar[dict[str, str]] = {"metadata_query": "json"}

    def __init__(
        self,
        *,
        max_staleness: str | timedelta | None = None,
        asset_id: str | None = None,
        namespace: str | None = None,
        asset_type: str | None = None,
        metadata_query: Sequence[dict[str, Any]] | None = None,
        deadline: str | None = None,
        window: str | timedelta | None = None,
        timezone: str = "UTC",
        per_asset: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_staleness = max_staleness
        self.asset_id = asset_id
        self.namespace = namespace
        self.asset_type = asset_type
        self.metadata_query = metadata_query
        self.deadline = deadline
        self.window = window
        self.timezone = timezone
        self.per_asset = per_asset
        if is_constant([getattr(self, name) for name in _FIELDS]):
            self._check()

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002
        """Look once."""
        report = self.client().check_freshness(self._check())
        return PokeReturnValue(is_done=bool(report.assets), xcom_value=report.to_json())

    def make_trigger(self, context: Context) -> FreshnessWait:  # noqa: ARG002
        """Return the trigger that goes on looking."""
        from airflow_assets.triggers.freshness_wait import FreshnessWait

        return FreshnessWait(
            check=self._check().model_dump(mode="json", by_alias=True, exclude_defaults=True),
            interval=self.poke_interval,
            conn_id=self.conn_id,
            api_url=self.api_url,
            tenant=self.tenant,
        )

    def _check(self) -> FreshnessCheck:
        from airflow_assets.triggers.freshness import check_of

        return check_of(per_asset=self.per_asset, **{name: getattr(self, name) or None for name in _FIELDS})
