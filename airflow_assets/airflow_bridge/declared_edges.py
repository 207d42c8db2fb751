"""What the Dags of this Airflow declare: the inlets and outlets of tasks, and the assets that start Dags.

Airflow keeps all of it in tables of references, so no Dag is read. As long as nothing has changed in those,
and no asset is new, a pass is five small statements.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from airflow_assets.airflow_bridge.context import orm
from airflow_assets.catalog import tables
from airflow_assets.catalog.declarations import Declarations, DeclaredTask
from airflow_assets.catalog.engine import read
from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.schemas import rules
from airflow_assets.schemas.declared import MARKER_GROUPS, from_native
from airflow_assets.schemas.subscription import Subscription, read_marker

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)
_Key = tuple[str, str]


class DeclaredEdges:
    """The job; see the module."""

    name = "declarations"
    interval = 30.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._declarations = Declarations(engine, rules.DEFAULT_TENANT)
        self._mark: Any = None

    def close(self) -> None:
        """Nothing to let go of."""

    def step(self) -> bool:
        """Bring the declared edges up to date."""
        with read(self._engine) as conn, orm(conn) as session:
            mark = _mark(conn, session)
            if mark == self._mark:
                return False
            tasks = _declared(session)
        self._declarations.put(tasks)
        self._mark = mark
        return False


def _models() -> tuple[Any, Any, Any]:
    from airflow.models import asset

    return asset.TaskInletAssetReference, asset.TaskOutletAssetReference, asset.DagScheduleAssetReference


def _mark(conn: Connection, session: Session) -> tuple[Any, ...]:
    """What is another once a declaration, or the set of Dags or of assets, has changed."""
    from airflow.models.dag import DagModel

    stale = select(func.count()).select_from(DagModel).where(DagModel.is_stale.is_(True))
    newest = (select(func.count(), func.max(model.updated_at)) for model in _models())
    marks = [tuple(session.execute(statement).one()) for statement in newest]
    return (*marks, session.scalar(stale), conn.scalar(select(func.max(tables.asset.c.pk))))


def _declared(session: Session) -> list[DeclaredTask]:
    inlets, outlets, schedules = _models()
    inputs: dict[_Key, set[str]] = {}
    outputs: dict[_Key, set[str]] = {}
    ids: dict[int, str | None] = {}
    for model, task_id, found in (
        (inlets, inlets.task_id, inputs),
        (outlets, outlets.task_id, outputs),
        (schedules, None, inputs),
    ):
        for row in session.execute(_references(model, task_id)):
            if row.id not in ids:
                ids[row.id] = _asset_id(row)
            asset_id = ids[row.id]
            if asset_id is not None:
                found.setdefault((row.dag_id, "" if task_id is None else row.task_id), set()).add(asset_id)
    return [
        DeclaredTask(*key, frozenset(inputs.get(key, ())), frozenset(outputs.get(key, ())))
        for key in sorted({*inputs, *outputs})
    ]


def _references(model: Any, task_id: Any) -> Any:
    from airflow.models.asset import AssetModel
    from airflow.models.dag import DagModel

    columns = (AssetModel.id, AssetModel.name, AssetModel.uri, AssetModel.group, AssetModel.extra)
    return (
        select(*columns, model.dag_id, *(() if task_id is None else (task_id,)))
        .join(model, model.asset_id == AssetModel.id)
        .join(DagModel, DagModel.dag_id == model.dag_id)
        .where(DagModel.is_stale.is_(False))
    )


def _asset_id(row: Any) -> str | None:
    """The id of the asset in the catalogue; of an event trigger, of the one asset that it follows, if any."""
    try:
        if row.group in MARKER_GROUPS:
            marker = read_marker(row.group, row.extra)
            return marker.filter.asset_id if isinstance(marker, Subscription) else None
        found = from_native(row.name, row.uri, row.group, row.extra).without_templates()
        return rules.asset_id(found.id) if found else None
    except (AssetCatalogError, ValueError) as error:
        log.debug("The asset %r that Dag %s names is left out of the graph: %s", row.name, row.dag_id, error)
        return None
