"""Which URIs the Dags of this Airflow give to the names of assets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, union

from airflow_assets.schemas.native import NativeUri, NativeUris

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session


def native_uris(session: Session, names: Sequence[str]) -> NativeUris:
    """Return the URIs under which Dags that are not gone use these names; the newest first, by name."""
    from airflow.models import asset as models
    from airflow.models.dag import DagModel

    kinds = (
        models.DagScheduleAssetReference,
        models.TaskInletAssetReference,
        models.TaskOutletAssetReference,
    )
    used = union(*(select(kind.asset_id, kind.dag_id) for kind in kinds)).subquery()
    asset = models.AssetModel
    rows = session.execute(
        select(
            asset.id,
            asset.name,
            asset.uri,
            asset.active.has().label("active"),
            used.c.dag_id,
            DagModel.fileloc,
        )
        .join(used, used.c.asset_id == asset.id)
        .join(DagModel, DagModel.dag_id == used.c.dag_id)
        .where(asset.name.in_(names), DagModel.is_stale.is_(False))
        .order_by(asset.name, asset.id.desc(), used.c.dag_id)
    )
    found: dict[int, NativeUri] = {}
    for row in rows:
        one = found.setdefault(
            row.id, NativeUri(name=row.name, uri=row.uri, active=bool(row.active), dag_ids=[], files=[])
        )
        one.dag_ids.append(row.dag_id)
        if row.fileloc and row.fileloc not in one.files:
            one.files.append(row.fileloc)
    return NativeUris(items=list(found.values()))
