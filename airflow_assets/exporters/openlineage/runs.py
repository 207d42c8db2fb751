"""Jobs and runs: as the OpenLineage provider names them where it is installed, else as stable names."""

from __future__ import annotations

import json
import uuid
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from airflow_assets.schemas.shipping import ShippedEvent

_OURS = uuid.UUID("7c2f4a52-6a0e-5d53-9b53-0d5a3e9f6a41")
_PROVIDER = "airflow.providers.openlineage"


class Runs:
    """Names jobs and runs.

    The provider's own functions are called, so that what it sends of a task and what we send is one run. They
    need to know the Dag's run; of one that has been deleted meanwhile the id is ours.
    """

    @cached_property
    def active(self) -> bool:
        """Whether the provider itself sends the events of task runs here."""
        if not self._installed:
            return False
        from airflow.providers.openlineage.api.core import is_openlineage_active

        return is_openlineage_active()

    @cached_property
    def namespace(self) -> str:
        """The namespace of jobs."""
        if self._installed:
            from airflow.providers.openlineage.plugins import macros

            return str(macros.lineage_job_namespace())  # type: ignore[no-untyped-call]
        from airflow.configuration import conf

        return str(conf.get("openlineage", "namespace", fallback="default"))

    @cached_property
    def engine(self) -> str:
        """The version of Airflow."""
        from airflow import __version__

        return __version__

    def known_to_provider(self, event: ShippedEvent) -> bool:
        """Whether the provider's own id of this run can be told."""
        return self._installed and event.run is not None

    def run_id(self, event: ShippedEvent) -> str:
        """Return the id of a try: the same whenever it is asked for."""
        task = event.task
        if not self.known_to_provider(event):
            return _ours(task.dag_id, task.run_id, task.task_id, task.map_index, task.try_number)
        return str(
            self._adapter.build_task_instance_run_id(
                dag_id=task.dag_id,
                task_id=task.task_id,
                try_number=task.try_number,
                logical_date=_date(event),
                map_index=task.map_index,
            )
        )

    def parent(self, event: ShippedEvent) -> tuple[str, str, str]:
        """Return id, namespace and name of the Dag's run."""
        task = event.task
        if event.run is None or not self._installed:
            return _ours(task.dag_id, task.run_id), self.namespace, task.dag_id
        run_id = self._adapter.build_dag_run_id(
            dag_id=task.dag_id, logical_date=_date(event), clear_number=event.run.clear_number
        )
        return str(run_id), self.namespace, task.dag_id

    @cached_property
    def _installed(self) -> bool:
        try:
            return find_spec(_PROVIDER) is not None
        except ModuleNotFoundError:
            return False

    @cached_property
    def _adapter(self) -> Any:
        from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter

        return OpenLineageAdapter


def _date(event: ShippedEvent) -> datetime:
    """What the provider takes for the date of a run."""
    assert event.run is not None  # noqa: S101 - asked before
    return event.run.logical_date or event.run.run_after


def _ours(*parts: str | int) -> str:
    return str(uuid.uuid5(_OURS, json.dumps(parts, ensure_ascii=False, separators=(",", ":"))))
