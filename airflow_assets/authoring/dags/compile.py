"""Dags of a resolved graph."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.dags.compiled import Compiled
from airflow_assets.authoring.dags.names import safe
from airflow_assets.authoring.dags.schedules import schedule_of
from airflow_assets.authoring.dags.units import units
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.plan import MATERIALIZE
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import DAG

    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.handlers.interface import BaseIOHandler


def to_dags(
    graph: Graph,
    *,
    name: str = "assets",
    default_handler: BaseIOHandler | None = None,
    pool_limits: Mapping[str, int] | None = None,
    **dag_options: Any,
) -> dict[str, DAG]:
    """Return the Dags of a graph, by id: ``<group>.materialize``, ``<name>.observe``, ``<name>.<verb>``.

    Of assets without a group those that depend on each other share a Dag, called after the first. Every id
    has a dot, so ``globals().update(...)`` in a Dag file exchanges no name of it.

    :param name: what the ids of the Dags of verbs begin with, which are for the whole repository.
    :param default_handler: for assets without one; a value that another step reads needs one that outlives a
        process.
    :param pool_limits: slots by pool; tasks set them in the catalogue before they take some.
    :param dag_options: arguments of every ``DAG``, such as ``start_date``, ``tags``, ``default_args``.

    Raises:
        ConfigurationError: a value is read by another step and nothing stores it, the assets of one Dag have
            conditions on different crons, or an option is one that only the assets can say.
    """
    from airflow_assets.authoring.dags.building import materialize_dag
    from airflow_assets.authoring.dags.verbs import verb_dags

    for option in {"dag_id", "schedule", "params", "fileloc"} & {*dag_options}:
        raise ConfigurationError(f"to_dags() takes no {option!r}: the assets say it")
    check_handlers(graph, default_handler)
    handler = default_handler or InMemoryIOHandler()
    limits = dict(pool_limits or {})
    made: dict[str, DAG] = {}
    for unit in units(graph):
        schedule = schedule_of(graph, unit)
        _warn_of(schedule.not_built)
        compiled = Compiled(graph, handler, MATERIALIZE, unit, schedule, limits)
        dag = materialize_dag(compiled, f"{safe(unit.name)}.materialize", dag_options)
        made[dag.dag_id] = dag
    for dag in verb_dags(graph, handler, name, limits, dag_options):
        made[dag.dag_id] = dag
    return made


def check_handlers(graph: Graph, default_handler: BaseIOHandler | None) -> None:
    """Look whether everything that another step reads is stored where its process finds it.

    Raises:
        ConfigurationError: naming the asset, who reads it, and what to do.
    """
    for node in graph.nodes.values():
        for edge in node.edges.values():
            if not edge.loads or edge.io_handler is not None:
                continue
            handler = graph.nodes[edge.upstream].io_handler or default_handler
            if handler is None or isinstance(handler, InMemoryIOHandler):
                raise ConfigurationError(
                    f"Asset {node.name!r} reads {edge.upstream!r}, whose value no other task could load: it "
                    f"is {'kept in memory' if handler else 'stored nowhere'}. Give {edge.upstream!r} an "
                    "io_handler, or to_dags() a default_handler, that stores values outside of the process"
                )


def _warn_of(not_built: Mapping[str, str]) -> None:
    for asset, condition in not_built.items():
        warnings.warn(
            f"Asset {asset!r} is not started by its automation condition {condition!r}: neither a cron of "
            "Airflow nor an event of the catalogue says exactly that. Leave the condition out to have it "
            "follow what it reads, or start its Dag by hand",
            UserWarning,
            stacklevel=4,
        )
