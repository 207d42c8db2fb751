"""The errors of asset definitions and their runs, under the names that the authoring contract gives them.

They are no errors of the catalogue (:mod:`airflow_assets.exceptions` has those, and offers these too): nobody
asks a server for a definition.
"""

from __future__ import annotations


class AssetDefinitionError(ValueError):
    """An asset, output, action or class-form asset breaks a rule of its definition."""


class AssetNotFoundError(LookupError):
    """A selection names an asset that the repository does not have, or no asset has the verb."""


class AssetOutputValidationError(TypeError):
    """An output's value is not of the declared type; nothing has been stored."""


class ConfigurationError(ValueError):
    """A registered name is unknown, or a setting or launch document is wrong."""


class ExecutionError(RuntimeError):
    """A step or run could not do what it was asked for."""


class GraphValidationError(ValueError):
    """The assets make no graph: a cycle, an input nobody provides, an upstream outside the selection."""


class InvalidMetadataError(ValueError):
    """A metadata value is not what its kind allows."""


class NodeNotFoundError(LookupError):
    """The repository has no node, job, schedule or sensor of this name."""


class PartitionDefinitionError(ValueError):
    """A partition definition, key or strategy breaks a rule."""


class PartitionValidationError(ValueError):
    """A partition key or mapping does not fit the asset it is used with."""


class ResultDefinitionError(ValueError):
    """What a body returned is not a result."""


class StorageError(RuntimeError):
    """The storage of a repository failed."""


class SchemaMigrationNeededError(StorageError):
    """The storage's tables are of another version."""


class ScheduleDefinitionError(ValueError):
    """A schedule breaks a rule of its definition."""


class SensorDefinitionError(ValueError):
    """A sensor breaks a rule of its definition."""


class TaskDefinitionError(ValueError):
    """A task of a graph asset breaks a rule of its definition."""
