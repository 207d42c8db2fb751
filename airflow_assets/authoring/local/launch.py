"""The launch document: what a run changes of the assets' configuration, metadata, resources and executor."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.errors import ConfigurationError
from airflow_assets.authoring.local.executors import NAMES, Executor

if TYPE_CHECKING:
    from airflow_assets.authoring.graph.plan import Plan

_SECTIONS = ("assets", "execution", "resources")
_EXECUTION = ("executor", "max_async_concurrent", "max_workers")


@dataclass(frozen=True)
class Launch:
    """A launch document, checked.

    :param config: by asset: the fields of its context's ``Config``.
    :param metadata: by asset: what is laid over its static metadata.
    :param resources: by key: the fields that are set anew.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    executor: Executor | None = None


def read_launch(document: Mapping[str, Any] | None, plan: Plan, resources: Collection[str]) -> Launch:
    """Return a launch document, checked against what is run.

    Raises:
        ConfigurationError: an unknown section, key, asset, resource or executor; the error names it.

    >>> read_launch({"execution": {"executor": "in_process"}}, plan, ()).executor
    InProcess()
    """
    if document is None:
        return Launch()
    _known("config", _mapping(document, "config"), _SECTIONS, "section")
    assets = {
        name: _mapping(entry, f"config.assets.{name}")
        for name, entry in _mapping(document.get("assets"), "config.assets").items()
    }
    run = {*plan.nodes, *(planned.name for planned in plan.steps), *(_owner(name) for name in plan.nodes)}
    for name, entry in assets.items():
        if name not in run:
            raise ConfigurationError(f"config names the asset {name!r}, which this launch does not run")
        _known(f"config.assets.{name}", entry, ("config", "metadata"), "key")
    fields = _mapping(document.get("resources"), "config.resources")
    _known("config.resources", fields, sorted(resources), "resource")
    return Launch(
        {name: entry["config"] for name, entry in assets.items() if "config" in entry},
        {name: entry["metadata"] for name, entry in assets.items() if "metadata" in entry},
        {name: _mapping(entry, f"config.resources.{name}") for name, entry in fields.items()},
        _executor(_mapping(document.get("execution"), "config.execution")),
    )


def rebuilt(resources: Mapping[str, Any], launch: Launch) -> Mapping[str, Any]:
    """Return the resources of a run; those that the launch changes are made anew and set up.

    Raises:
        ConfigurationError: a resource that is no settings model has no fields to set.
    """
    if not launch.resources:
        return resources
    found = dict(resources)
    for key, fields in launch.resources.items():
        old = resources[key]
        if not hasattr(old, "model_dump"):
            raise ConfigurationError(f"config.resources.{key}: a {type(old).__name__} has no fields to set")
        given = {name: getattr(old, name) for name in type(old).model_fields}
        found[key] = type(old)(**{**given, **fields})
        if hasattr(found[key], "setup"):
            found[key].setup()
    return found


def executor_named(name: str, **more: Any) -> Executor:
    """Return an executor by its name.

    Raises:
        ConfigurationError: there is none of this name.
    """
    if name == "in_process":
        return Executor.in_process()
    if name == "parallel":
        return Executor.parallel(**more)
    raise ConfigurationError(f"There is no executor {name!r} for local runs; there are {', '.join(NAMES)}")


def _executor(section: Mapping[str, Any]) -> Executor | None:
    _known("config.execution", section, _EXECUTION, "key")
    if not section:
        return None
    more = {name: section[name] for name in _EXECUTION[1:] if name in section}
    return executor_named(section.get("executor", "parallel" if more else ""), **more)


def _owner(name: str) -> str:
    return name.partition("/")[0]


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{where} is a mapping, not {type(value).__name__}: {value!r}")
    return value


def _known(where: str, given: Collection[str], expected: Collection[str], what: str) -> None:
    unknown = next((name for name in given if name not in expected), None)
    if unknown is not None:
        raise ConfigurationError(
            f"{where} has an unknown {what} {unknown!r}; expected {', '.join(expected) or 'none'}"
        )
