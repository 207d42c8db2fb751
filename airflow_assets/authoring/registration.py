"""What a repository accepts beside its assets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from airflow_assets.authoring.checks import of_type
from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.graph.graph import Registered
from airflow_assets.authoring.retries import RetryPolicy

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.graph import Graph
    from airflow_assets.authoring.partitions.definitions import PartitionsDefinition

Tags = Sequence[tuple[str, str]] | Mapping[str, str]
_AIRFLOWS = {
    "jobs": "select assets in materialize(), or run the Dag that to_dags() makes of them",
    "schedules": "set a condition, AutomationCondition.on_cron(...), or a Dag's own schedule",
    "sensors": "write an Airflow sensor or an event trigger",
    "run_queue": "set max_active_runs and pools in Airflow",
    "run_backend": "Airflow's executor starts the tasks",
}


def refused(**given: Any) -> None:
    """Refuse what Airflow is.

    Raises:
        ConfigurationError: naming the argument, and what takes its place.
    """
    for name, value in given.items():
        if value:
            raise ConfigurationError(f"CodeRepository takes no {name}: {_AIRFLOWS[name]}")


def checked_resources(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return resources by key, with classes made into instances.

    Raises:
        ConfigurationError: something that is no resource, handler or settings model.
    """
    found = {}
    for key, value in resources.items():
        of_type(key, str, "a key of resources")
        made = value() if isinstance(value, type) and issubclass(value, BaseModel) else value
        if not isinstance(made, BaseModel):
            raise ConfigurationError(
                f"resources[{key!r}] takes a Resource, a BaseIOHandler or a pydantic model, not {value!r}"
            )
        found[key] = made
    return found


def registered(
    resources: Mapping[str, Any] | None,
    partition_defs: Mapping[str, PartitionsDefinition] | None,
    retries: Mapping[str, RetryPolicy] | None,
    default: RetryPolicy | str | None,
) -> Registered:
    """Return what definitions may name, checked.

    Raises:
        ConfigurationError: a resource that is none, or a default policy that is not registered.
    """
    policies = {
        name: of_type(one, RetryPolicy, f"retries[{name!r}]") for name, one in (retries or {}).items()
    }
    if isinstance(default, str):
        if default not in policies:
            raise ConfigurationError(
                f"default_retry_policy is {default!r}, and retries has {sorted(policies)}"
            )
        default = policies[default]
    return Registered(checked_resources(resources or {}), dict(partition_defs or {}), policies, default)


def pairs(tags: Tags | None) -> tuple[tuple[str, str], ...]:
    """Return the tags of a run as pairs.

    >>> pairs({"team": "sales"})
    (('team', 'sales'),)
    """
    given = tags.items() if isinstance(tags, Mapping) else tags or ()
    return tuple((of_type(key, str, "a tag"), of_type(value, str, f"tag {key!r}")) for key, value in given)


def set_up(resources: Mapping[str, Any]) -> None:
    """Let resources get ready, those that can."""
    for resource in resources.values():
        if hasattr(resource, "setup"):
            resource.setup()


def tear_down(resources: Mapping[str, Any]) -> None:
    """Let resources go."""
    for resource in resources.values():
        if hasattr(resource, "teardown"):
            resource.teardown()


def check_pools(graph: Graph, limits: Mapping[str, int]) -> None:
    """Look whether every step can get its slots.

    Raises:
        ConfigurationError: a step takes more slots than the pool has.
    """
    for name, limit in limits.items():
        if of_type(limit, int, f"pool_limits[{name!r}]") < -1:
            raise ConfigurationError(f"pool_limits[{name!r}] is 0 or more, or -1 for no limit, not {limit}")
    for step in graph.steps.values():
        for pool, slots in step.pools:
            limit = limits.get(pool, -1)
            if 0 <= limit < slots:
                raise ConfigurationError(
                    f"{step.name!r} takes {slots} slots of the pool {pool!r}, which has {limit}: raise the "
                    "limit, or take fewer"
                )
