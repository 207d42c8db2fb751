"""Records of tries that could not record themselves, from what their tasks declare in the serialized Dag."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from airflow_assets.airflow_bridge.runs import SerializedDags
from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.declared import MARKER_GROUPS, Declared, from_native, is_authored
from airflow_assets.schemas.lineage import Bundle, TaskRun, TaskRunRecord, TaskState
from airflow_assets.schemas.rules import EXTERNAL_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.orm import Session

    from airflow_assets.schemas.assets import AssetInput, AssetRef

log = logging.getLogger(__name__)
STATES = {
    "success": TaskState.SUCCESS,
    "failed": TaskState.FAILED,
    "skipped": TaskState.SKIPPED,
    "up_for_retry": TaskState.UP_FOR_RETRY,
}
"""States in which a try has ended and its body may have run."""


@dataclass(frozen=True)
class EndedTry:
    """A try of a task instance that has ended."""

    task: TaskRun
    state: TaskState
    start_date: datetime | None
    end_date: datetime | None

    @property
    def caller(self) -> Caller:
        """In whose name it is recorded."""
        task = self.task
        return Caller(
            source=Source(
                kind=SourceKind.TASK,
                dag_id=task.dag_id,
                run_id=task.run_id,
                task_id=task.task_id,
                map_index=task.map_index,
                try_number=task.try_number,
                ti_id=task.ti_id,
            )
        )


class Declarations:
    """What tasks declare, as far as it can be known without running them."""

    def __init__(self) -> None:
        self._dags = SerializedDags()

    def record(
        self, session: Session, ended: EndedTry, more_outputs: Iterable[Declared] = ()
    ) -> TaskRunRecord | None:
        """Return the record of a try, None if it declares nothing that can be known.

        Templates in a declaration are left out: they are rendered where the task runs. What the catalogue
        knows already is kept, since it is merged.
        """
        inlets, outlets = self._of_task(session, ended.task)
        outputs = {one.id: one for one in (*outlets, *more_outputs)}
        bundle = Bundle(
            inputs=_kept(_as_input, inlets.values(), ended.task),
            outputs=_kept(as_output, outputs.values(), ended.task),
        )
        if not bundle.inputs and not bundle.outputs:
            return None
        return TaskRunRecord(
            task=ended.task,
            state=ended.state,
            start_date=ended.start_date,
            end_date=ended.end_date,
            bundles=[bundle],
            only_if_missing=True,
        )

    def _of_task(self, session: Session, run: TaskRun) -> tuple[dict[str, Declared], list[Declared]]:
        dag = self._dags.get(session, run.dag_id)
        if dag is None or not dag.has_task(run.task_id):
            return {}, []
        task = dag.get_task(run.task_id)
        inlets = [_declared(session, item) for item in task.inlets or ()]
        outlets = [_declared(session, item) for item in task.outlets or ()]
        return {one.id: one for one in inlets if one}, [one for one in outlets if one]


def as_output(declared: Declared) -> AssetInput:
    """Return a declared asset to be stored; one that nobody gave a type is an External."""
    return (declared if declared.type else replace(declared, type=EXTERNAL_TYPE)).output()


def _as_input(declared: Declared) -> AssetRef:
    return declared.ref()


def _kept(make: Any, declared: Iterable[Declared], task: TaskRun) -> list[Any]:
    """Leave out what breaks a rule: the task itself would have been told."""
    made = []
    for one in declared:
        try:
            made.append(make(one))
        except (AssetCatalogError, ValueError) as error:
            log.warning("%s.%s declares an asset that is left out: %s", task.dag_id, task.task_id, error)
    return made


def _declared(session: Session, item: Any) -> Declared | None:
    """Return what an inlet or outlet says; None for an alias, which stands for no asset by itself."""
    found = item if hasattr(item, "group") and hasattr(item, "uri") else _referred(session, item)
    if found is None or found.group in MARKER_GROUPS or is_authored(found.extra):
        return None
    return from_native(found.name, found.uri, found.group, found.extra).without_templates()


def _referred(session: Session, item: Any) -> Any | None:
    """Return the asset that ``Asset.ref(...)`` means."""
    from airflow.models.asset import AssetModel

    if type(item).__name__.endswith("NameRef"):
        return session.scalar(select(AssetModel).where(AssetModel.name == item.name).limit(1))
    if type(item).__name__.endswith("UriRef"):
        return session.scalar(select(AssetModel).where(AssetModel.uri == item.uri).limit(1))
    return None
