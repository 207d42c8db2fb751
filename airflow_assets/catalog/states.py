"""An asset's row in Python: what the catalogue's modules pass to each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_assets.catalog.values import id_sort
from airflow_assets.schemas.assets import Asset
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.expectations import Freshness
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.schemas.lease import Lease


@dataclass(frozen=True, slots=True)
class AssetState:
    """One asset at one moment.

    :param key: its identity (:func:`airflow_assets.schemas.rules.identity`).
    :param pk: its row number; 0 as long as it has no row.
    :param lock_until: when its lock runs out; may be over. Only the locks' own modules write it.
    """

    key: bytes
    pk: int
    tenant: str
    id: str
    type: str
    namespace: str | None
    display_name: str | None
    description: str | None
    metadata: dict[str, Any]
    uri: str | None
    group: str | None
    created: datetime
    updated: datetime
    deleted: bool
    lock_until: datetime | None = None

    @classmethod
    def of(cls, row: Any) -> AssetState:
        """Return the state of a row of the table ``asset``."""
        return cls(
            key=bytes(row.asset_key),
            pk=row.pk,
            tenant=row.tenant,
            id=row.id,
            type=row.type,
            namespace=row.namespace,
            display_name=row.display_name,
            description=row.description,
            metadata=json.loads(row.metadata),
            uri=row.uri,
            group=row.asset_group,
            created=row.created.astimezone(timezone.utc),
            updated=row.updated.astimezone(timezone.utc),
            deleted=bool(row.deleted),
            lock_until=row.lock_until,
        )

    def columns(self) -> dict[str, Any]:
        """Return the values of the table's columns, without ``pk``."""
        return {
            "asset_key": self.key,
            "tenant": self.tenant,
            "id": self.id,
            "id_sort": id_sort(self.id),
            "namespace": self.namespace,
            "type": self.type,
            "display_name": self.display_name,
            "description": self.description,
            "metadata": json_text(self.metadata),
            "uri": self.uri,
            "asset_group": self.group,
            "created": self.created,
            "updated": self.updated,
            "deleted": self.deleted,
        }

    def payload(self) -> dict[str, Any]:
        """Return the JSON form of :class:`~airflow_assets.schemas.events.EventAsset`."""
        return {
            "id": self.id,
            "type": self.type,
            "namespace": self.namespace,
            "displayName": self.display_name,
            "description": self.description,
            "metadata": self.metadata,
            "tenantId": self.tenant,
            "created": iso(self.created),
            "updated": iso(self.updated),
        }

    def to_asset(
        self, aliases: Sequence[str] = (), lock: Lease | None = None, now: datetime | None = None
    ) -> Asset:
        """Return the asset as callers see it."""
        return Asset.trusted(
            id=self.id,
            type=self.type,
            namespace=self.namespace,
            display_name=self.display_name,
            description=self.description,
            metadata=self.metadata,
            uri=self.uri,
            group=self.group,
            tenant_id=self.tenant,
            created=self.created,
            updated=self.updated,
            deleted=self.deleted,
            aliases=list(aliases),
            freshness=None if now is None else Freshness.of(self.metadata, self.updated, now),
            lock=lock,
        )
