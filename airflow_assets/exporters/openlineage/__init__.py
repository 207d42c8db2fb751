"""The exporter that sends OpenLineage run events.

This module is what a Dag file imports; ``openlineage-python`` (extra ``[openlineage]``) is imported when the
exporter starts.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.exporters.base import AssetExporter, ExportBatch, Shipment
from airflow_assets.exporters.openlineage.mapping import Mappings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_assets.exporters.openlineage.sending import Sender

__all__ = ["OpenLineageAssetExporter"]


class OpenLineageAssetExporter(AssetExporter):
    """Sends each lineage event as an OpenLineage run event: the task is the job, assets are datasets.

    What no task run did is sent as events of datasets: writes by people and other systems, deletions, purges.

    :param uri: base address of an OpenLineage server, such as ``http://marquez:5000``.
    :param conn_id: an Airflow connection: its address, unless ``uri`` is given; password or ``extra`` hold
        the credentials; ``extra["transport"]`` may hold a whole transport of openlineage-python. Neither
        given: the transport that is configured for the OpenLineage provider.
    :param mappings: asset type -> part of the dataset -> metadata key, for types whose metadata has names of
        its own: ``{"airflow_assets.types.Table": {"namespace": "warehouse", "name": "full_name"}}``.
        Parts are ``namespace``, ``name``, ``schema``, ``dataSource``, ``ownership``, ``documentation``,
        ``tags``, ``lifecycleStateChange`` and ``columnLineage``. Every asset of a mapped type must have the
        keys: one that has not is left out and reported, and everything else is sent.

    What is not mapped is named by OpenLineage's conventions where the asset's URI, id or structured metadata
    tell; else the dataset's namespace is ``airflow_assets`` and its name the asset's id.

    Answers 5xx, 408, 425, 429 and time-outs are repeated. An event that is refused (other 4xx) goes into a
    dead-letter file with the reason; a refusal of the sender itself (401, 403, 404, 405, 407) fails the task
    and loses nothing. See docs/shipping.md.

    >>> OpenLineageAssetExporter("marquez", uri="http://marquez:5000")
    """

    takes_changes: ClassVar[bool] = True

    def __init__(
        self,
        id: str,  # noqa: A002 - the contract's name
        uri: str | None = None,
        conn_id: str | None = None,
        mappings: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        super().__init__(id)
        if uri is not None and not uri.lower().startswith(("http://", "https://")):
            raise ValueError(
                f"Exporter {id!r}: uri is {uri!r}; it must begin with http:// or https://. Other transports "
                "are given by conn_id."
            )
        self.uri = uri
        self.conn_id = conn_id
        self.mappings = Mappings(id, mappings or {})
        self._sender: Sender | None = None

    def start(self, shipment: Shipment) -> None:
        """Read the configuration and make the transport.

        :raises ModuleNotFoundError: openlineage-python is not installed.
        :raises ExportFailed: no transport is configured.
        """
        if find_spec("openlineage") is None:
            raise ModuleNotFoundError(
                f"Exporter {self.id!r} needs openlineage-python: "
                "pip install 'airflow-provider-assets[openlineage]'."
            )
        from airflow_assets.exporters.openlineage.sending import Sender

        self.problems = []
        self._sender = Sender(self, shipment)

    def export(self, batch: ExportBatch) -> None:
        """Send a batch; returns when every event is accepted, or is in the dead-letter file."""
        self._started().send(batch)

    def finish(self) -> dict[str, Any]:
        """Close the transport; return ``sent`` (their events), ``deadLetters`` and ``deadLetterUris``."""
        sender = self._started()
        self._sender = None
        return sender.close()

    def abandon(self) -> None:
        """Stop sending."""
        if self._sender is not None:
            self._sender.stop()
            self._sender = None

    def _started(self) -> Sender:
        if self._sender is None:
            raise RuntimeError(f"Exporter {self.id!r} has not been started: call start() first.")
        return self._sender
