"""Which URIs the Dags of this Airflow give to the names of assets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, union, update

from airflow_assets.schemas.declared import EXTRA_KEY
from airflow_assets.schemas.native import NativeUri, NativeUris

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.orm import Session


def native_uris(session: Session, names: Sequence[str]) -> NativeUris:
    """Return the URIs under which Dags that are not gone use these names; the newest first, by name."""
    found: dict[int, NativeUri] = {}
    for row in session.execute(_uses(names)):
        one = found.setdefault(
            row.id, NativeUri(name=row.name, uri=row.uri, active=row.active, dag_ids=[], files=[])
        )
        one.dag_ids.append(row.dag_id)
        if row.fileloc and row.fileloc not in one.files:
            one.files.append(row.fileloc)
    return NativeUris(items=list(found.values()))


def without_places(found: NativeUris) -> NativeUris:
    """Return the same without the Dags and files: not everybody who reads assets may read every Dag."""
    return NativeUris(items=[item.model_copy(update={"dag_ids": [], "files": []}) for item in found.items])


def held_by_default(session: Session, found: NativeUris) -> dict[str, str]:
    """Return the URI of names that Airflow keeps active under a URI nobody chose: the name itself.

    That happens when a file that leaves the URI out is parsed before the one that gives it.
    """
    from airflow.models.asset import AssetModel

    by_name: dict[str, list[NativeUri]] = {}
    for item in found.items:
        by_name.setdefault(item.name, []).append(item)
    wanted = {
        name: chosen.uri
        for name, items in by_name.items()
        if any(item.active and item.uri == name for item in items)
        and (chosen := next((item for item in items if item.uri != name), None))
    }
    if not wanted:
        return {}
    rows = session.execute(
        select(AssetModel.name, AssetModel.extra).where(
            AssetModel.name.in_(wanted), AssetModel.uri == AssetModel.name
        )
    )
    return {row.name: wanted[row.name] for row in rows if EXTRA_KEY in (row.extra or {})}


def activate(session: Session, wanted: dict[str, str]) -> None:
    """Make these URIs the active ones of their names, unless another name has them.

    In one statement each, where the scheduler would delete and insert: on SQLite it does so in two
    transactions, and ends when the Dag processor inserts in between (seen with Airflow 3.3.2).
    """
    from airflow.models.asset import AssetActive

    taken = set(session.scalars(select(AssetActive.uri).where(AssetActive.uri.in_(wanted.values()))))
    for name, uri in sorted(wanted.items()):
        if uri not in taken:
            session.execute(
                update(AssetActive)
                .where(AssetActive.name == name, AssetActive.uri == name)
                .values(uri=uri)
                .execution_options(synchronize_session=False)
            )


def _uses(names: Sequence[str]) -> Any:
    from airflow.models import asset as models
    from airflow.models.dag import DagModel

    used = union(*(select(kind.asset_id, kind.dag_id) for kind in _reference_kinds(models))).subquery()
    asset = models.AssetModel
    return (
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


def _reference_kinds(models: Any) -> Iterator[Any]:
    yield models.DagScheduleAssetReference
    yield models.TaskInletAssetReference
    yield models.TaskOutletAssetReference
