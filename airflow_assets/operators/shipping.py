"""The operator that ships lineage to other systems."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.operators.base import CONNECTION_FIELDS, CatalogOperator, check_constants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_assets.exporters.base import AssetExporter
    from airflow_assets.schemas.shipping import LineageFilter


class AssetShipperOperator(CatalogOperator):
    """Ship lineage events, what one bundle of a task run read and wrote, to one or more destinations.

    Each exporter has a bookmark, a number in the log of lineage. It moves when that exporter has confirmed,
    so one that fails holds back neither the others nor makes them ship twice.

    :param asset_exporters: at least one :class:`~airflow_assets.exporters.AssetExporter`, each with an id of
        its own.
    :param lookback_period: how far back an exporter without a bookmark begins: ISO 8601, or a timedelta.
    :param offset_key: under which the bookmarks are kept, default ``<dag_id>.<task_id>``.
    :param asset_namespace: only events with an input or output in this namespace.
    :param asset_types: ... of one of these types.
    :param flow_namespace: only Dags whose id is this, or begins with it and a dot.
    :param dag_id: only this Dag. (``dag=`` says where the operator itself belongs.)
    :param shipped_task_id: only tasks of this id; see docs/shipping.md for its name.
    :param delete: delete from the catalogue what all exporters have confirmed and nobody else needs.
    :returns: ``size`` (events read), ``endFetchedDate`` (of the last one), ``outputs`` (one entry for each
        exporter).
    :raises ExportFailed: an exporter failed or left something out, after the others have been served.

    >>> AssetShipper(
    ...     task_id="ship",
    ...     asset_exporters=[
    ...         FileAssetExporter("archive", path="s3://aws_default@bucket/lineage"),
    ...         OpenLineageAssetExporter("marquez", conn_id="marquez"),
    ...     ],
    ... )
    """

    template_fields: Sequence[str] = (
        "lookback_period", "offset_key", "asset_namespace", "asset_types", "flow_namespace", "shipped_dag_id",
        "shipped_task_id", *CONNECTION_FIELDS,
    )  # fmt: skip

    template_fields_renderers: ClassVar[dict[str, str]] = {"asset_types": "json"}

    def __init__(
        self,
        *,
        asset_exporters: Sequence[AssetExporter],
        lookback_period: str | timedelta = "P1D",
        offset_key: str | None = None,
        asset_namespace: str | None = None,
        asset_types: list[str] | None = None,
        flow_namespace: str | None = None,
        dag_id: str | None = None,
        shipped_task_id: str | None = None,
        delete: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.asset_exporters = list(asset_exporters)
        self.lookback_period = _text(lookback_period)
        self.offset_key = offset_key
        self.asset_namespace = asset_namespace
        self.asset_types = asset_types
        self.flow_namespace = flow_namespace
        self.shipped_dag_id = dag_id
        self.shipped_task_id = shipped_task_id
        self.delete = delete
        _check_exporters(self.task_id, self.asset_exporters)
        check_constants({_seconds: self.lookback_period})

    def execute(self, context: Context) -> dict[str, Any]:
        """Ship what is new."""
        from airflow_assets.exporters.base import Shipment
        from airflow_assets.exporters.shipping import Order, raise_failures, ship
        from airflow_assets.schemas.rules import DEFAULT_TENANT

        ti = context["ti"]
        key = self.offset_key or f"{ti.dag_id}.{ti.task_id}"
        order = Order(
            shipment=Shipment(key=key, tenant=self.tenant or DEFAULT_TENANT),
            filter=self._filter(),
            lookback=_seconds(self.lookback_period),
            delete=self.delete,
        )
        outcome = ship(self.client(), self.asset_exporters, order)
        raise_failures(outcome)
        return outcome.to_json()

    def on_kill(self) -> None:
        """Remove what is half done."""
        for exporter in self.asset_exporters:
            exporter.abandon()

    def _filter(self) -> LineageFilter:
        from airflow_assets.schemas.shipping import LineageFilter

        return LineageFilter(
            asset_namespace=self.asset_namespace or None,
            asset_types=self.asset_types or None,
            dag_namespace=self.flow_namespace or None,
            dag_id=self.shipped_dag_id or None,
            task_id=self.shipped_task_id or None,
        )


def _check_exporters(task_id: str, exporters: list[AssetExporter]) -> None:
    from airflow_assets.exporters.base import AssetExporter

    if not exporters:
        raise ValueError(f"Task {task_id!r}: asset_exporters is empty; give at least one exporter.")
    for exporter in exporters:
        if not isinstance(exporter, AssetExporter):
            raise ValueError(f"Task {task_id!r}: {exporter!r} in asset_exporters is no AssetExporter.")
    ids = [exporter.id for exporter in exporters]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ValueError(f"Task {task_id!r}: several exporters have the id {twice[0]!r}; give each its own.")


def _text(value: str | timedelta) -> str:
    return f"PT{value.total_seconds():f}S" if isinstance(value, timedelta) else value


def _seconds(value: str) -> float:
    from airflow_assets.schemas.durations import Duration

    found = Duration.parse(value)
    if found.months:
        from airflow_assets.exceptions import InvalidRequest

        raise InvalidRequest(
            f"lookback_period is {value!r}: months and years have no fixed length.",
            hint="Write days: P30D.",
            field="lookback_period",
        )
    return found.shortest.total_seconds()
