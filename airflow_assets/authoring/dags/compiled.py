"""What the tasks of one Dag share. It hangs on the Dag object and is never serialized.

A worker parses the Dag file again and so makes it anew: a task finds the graph through its own Dag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_assets.authoring.dags.schedules import Schedule
from airflow_assets.authoring.dags.units import Unit
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.graph import Graph
from airflow_assets.authoring.handlers.interface import BaseIOHandler

ATTRIBUTE = "_airflow_assets_compiled"


@dataclass(frozen=True)
class Compiled:
    """A graph and the part of it that a Dag runs.

    :param verb: ``materialize``, ``observe`` or an action's.
    :param unit: the steps of the Dag; of a verb, its targets.
    """

    graph: Graph
    default_handler: BaseIOHandler
    verb: str
    unit: Unit
    schedule: Schedule = field(default_factory=Schedule)
    pool_limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def resources(self) -> Mapping[str, Any]:
        """The resources that bodies and handlers get."""
        return self.graph.registered.resources

    def hang_on(self, dag: Any) -> None:
        """Let the tasks of a Dag find this."""
        object.__setattr__(dag, ATTRIBUTE, self)


def compiled_of(task: Any) -> Compiled:
    """Return what the Dag of a task was compiled from.

    Raises:
        ConfigurationError: the Dag was not made by ``to_dags()`` in this process.
    """
    found = getattr(task.dag, ATTRIBUTE, None)
    if not isinstance(found, Compiled):
        raise ConfigurationError(
            f"The Dag {task.dag.dag_id!r} has no graph of assets: its tasks run only in Dags that "
            "CodeRepository.to_dags() has made in the Dag file"
        )
    return found
