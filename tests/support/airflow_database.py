"""Airflow's database without Airflow's processes: its own models write the Dags and runs that our code meets."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow.sdk import DAG
    from sqlalchemy import Row

BUNDLE = "tests"
CALLER = Caller(source=Source(kind=SourceKind.CLI, user="tester"))


class AirflowDatabase:
    """Airflow's tables and ours at `url`, which is empty.

    Example:
        >>> database = AirflowDatabase("sqlite:////tmp/a.db")
        >>> database.put_dag(dag)
        >>> database.upsert("orders", namespace="sales", rows=3)
    """

    def __init__(self, url: str) -> None:
        from airflow.models import import_all_models
        from airflow.models.base import Base

        from airflow_assets.airflow_bridge.context import make_airflow_engine
        from airflow_assets.airflow_bridge.service import AirflowService
        from airflow_assets.catalog import tables

        import_all_models()  # type: ignore[no-untyped-call]
        self.engine = make_airflow_engine(url)
        if self.engine.dialect.name in {"mysql", "mariadb"}:
            # Airflow's ids are utf8mb3 there, which its models only know when its own configuration names MySQL.
            with self.engine.begin() as conn:
                conn.exec_driver_sql("ALTER DATABASE CHARACTER SET utf8mb3")
        Base.metadata.create_all(self.engine)
        tables.metadata.create_all(self.engine)
        self.service = AirflowService(self.engine)
        self.in_session(_add_log_template)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def in_session(self, work: Callable[[Session], Any]) -> Any:
        """Return `work(session)`, committed."""
        from airflow_assets.catalog.engine import write

        with (
            write(self.engine) as conn,
            Session(bind=conn, autoflush=False, expire_on_commit=False) as session,
        ):
            result = work(session)
            session.flush()
            return result

    def put_dag(self, dag: DAG, *, paused: bool = False) -> None:
        """Write a Dag as the Dag processor does after parsing it."""
        from airflow.models.dag import DagModel
        from airflow.models.dagbundle import DagBundleModel
        from airflow.models.serialized_dag import SerializedDagModel
        from airflow.serialization.definitions.dag import SerializedDAG
        from airflow.serialization.serialized_objects import LazyDeserializedDAG

        dag.fileloc, dag.relative_fileloc = __file__, "airflow_database.py"
        lazy = LazyDeserializedDAG.from_dag(dag)

        def work(session: Session) -> None:
            if session.get(DagBundleModel, BUNDLE) is None:
                session.add(DagBundleModel(name=BUNDLE))
                session.flush()
            SerializedDAG.bulk_write_to_db(BUNDLE, None, [lazy], 0.1, session=session)
            session.flush()
            SerializedDagModel.write_dag(lazy, bundle_name=BUNDLE, min_update_interval=None, session=session)
            session.flush()
            session.execute(update(DagModel).where(DagModel.dag_id == dag.dag_id).values(is_paused=paused))

        self.in_session(work)

    def set_dag(self, dag_id: str, **columns: Any) -> None:
        """Change columns of the Dag's row: `is_paused`, `is_stale`, `has_import_errors`."""
        from airflow.models.dag import DagModel

        self.in_session(
            lambda session: session.execute(
                update(DagModel).where(DagModel.dag_id == dag_id).values(**columns)
            )
        )

    def upsert(
        self, asset_id: str, *, caller: Caller = CALLER, namespace: str | None = "sales", **metadata: Any
    ) -> None:
        """Write an asset; makes one event."""
        self.service.upsert_asset(
            caller, AssetInput(id=asset_id, type="table", namespace=namespace, metadata=metadata or None)
        )

    def runs(self, dag_id: str) -> list[Row[Any]]:
        """(run_id, state, the payload of the linked event) of every run, in the order in which they start."""
        from airflow.models.asset import AssetEvent
        from airflow.models.dagrun import DagRun

        with Session(self.engine) as session:
            return list(
                session.execute(
                    select(DagRun.run_id, DagRun.state, AssetEvent.extra, AssetEvent.asset_id)
                    .join(AssetEvent.created_dagruns)
                    .where(DagRun.dag_id == dag_id)
                    .order_by(DagRun.run_after, DagRun.id)
                )
            )

    def payloads(self, dag_id: str) -> list[dict[str, Any]]:
        """What each run is told of its event."""
        return [run.extra["airflow_assets"] for run in self.runs(dag_id)]

    def count(self, dag_id: str, state: str | None = None) -> int:
        """How many runs the Dag has."""
        from airflow.models.dagrun import DagRun

        statement = select(func.count()).select_from(DagRun).where(DagRun.dag_id == dag_id)
        with Session(self.engine) as session:
            return session.scalar(statement if state is None else statement.where(DagRun.state == state)) or 0

    def set_runs(self, dag_id: str, before: str, after: str, limit: int | None = None) -> int:
        """Change the state of the oldest `limit` runs that are in state `before`, and return how many those were."""
        from airflow.models.dagrun import DagRun

        def work(session: Session) -> int:
            found = (
                select(DagRun.id).where(DagRun.dag_id == dag_id, DagRun.state == before).order_by(DagRun.id)
            )
            ids = list(session.scalars(found.limit(limit) if limit else found))
            session.execute(update(DagRun).where(DagRun.id.in_(ids)).values(state=after))
            return len(ids)

        count: int = self.in_session(work)
        return count

    def add_event(self, name: str, *, extra: dict[str, Any] | None = None, **source: Any) -> int:
        """Append to Airflow's own `asset_event`, as the Execution API or `POST /assets/events` does; return its id.

        `source`: `source_dag_id`, `source_run_id`, `source_task_id`, `source_map_index`.
        """
        event_id: int = self.in_session(lambda session: insert_event(session, name, extra, **source))
        return event_id

    def make_run(self, dag_id: str, run_id: str) -> None:
        """Make a manual run of a Dag with its task instances, none of which has begun."""
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        from airflow_assets.airflow_bridge.runs import SerializedDags

        def work(session: Session) -> None:
            dag: Any = SerializedDags().get(session, dag_id)
            dag.create_dagrun(
                run_id=run_id,
                run_after=datetime.now(timezone.utc),
                run_type=DagRunType.MANUAL,
                triggered_by=DagRunTriggeredByType.TEST,
                state=DagRunState.RUNNING,
                session=session,
            )

        self.in_session(work)

    def end_task(self, dag_id: str, run_id: str, task_id: str, state: str, **columns: Any) -> str:
        """Give a task instance a final state of `age` ago (default one minute) and return its id."""
        from airflow.models.taskinstance import TaskInstance

        ended = datetime.now(timezone.utc) - columns.pop("age", timedelta(minutes=1))
        values = {"state": state, "start_date": ended, "end_date": ended, "try_number": 1, **columns}

        def work(session: Session) -> str:
            this = (
                TaskInstance.dag_id == dag_id,
                TaskInstance.run_id == run_id,
                TaskInstance.task_id == task_id,
            )
            session.execute(update(TaskInstance).where(*this).values(**values))
            return str(session.scalars(select(TaskInstance.id).where(*this)).one())

        ti_id: str = self.in_session(work)
        return ti_id


def insert_event(session: Session, name: str, extra: dict[str, Any] | None = None, **source: Any) -> int:
    """Insert an event of Airflow's into the session's transaction and return its id."""
    from airflow.models.asset import AssetEvent, AssetModel

    uri, group = source.pop("uri", name), source.pop("group", "asset")
    asset = session.scalar(select(AssetModel).where(AssetModel.name == name))
    if asset is None:
        asset = AssetModel(name=name, uri=uri, group=group, extra={})
        session.add(asset)
        session.flush()
    event = AssetEvent(asset_id=asset.id, extra=extra or {}, **source)
    session.add(event)
    session.flush()
    return event.id


def _add_log_template(session: Session) -> None:
    """Every run refers to one; `airflow db migrate` makes it."""
    from airflow.models.tasklog import LogTemplate

    session.add(LogTemplate(filename="log", elasticsearch_id="log"))
