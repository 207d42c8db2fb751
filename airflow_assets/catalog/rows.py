"""From table rows to the models that travel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.assets import Asset

if TYPE_CHECKING:
    from collections.abc import Iterable


def asset_of(row: Any, aliases: Iterable[str] = ()) -> Asset:
    """Return the asset of a row that has all columns of the table ``asset``."""
    return Asset(
        id=row.id,
        type=row.type,
        namespace=row.namespace,
        display_name=row.display_name,
        description=row.description,
        metadata=json.loads(row.metadata),
        uri=row.uri,
        group=row.asset_group,
        tenant_id=row.tenant,
        created=row.created,
        updated=row.updated,
        deleted=bool(row.deleted),
        aliases=list(aliases),
    )
