"""Nodes of assets that are written in Python: what is declared, their state, their partitions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.assets import AssetId
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.recorded_values import Name, Number, Text

_NO_KEY = ("", "|", ",")


class NodeDeclaration(Schema):
    """What code says of a node: an asset, or a task (``inner``) inside a graph asset."""

    name: AssetId
    tags: list[Text] = Field(default_factory=list)
    kinds: list[Text] = Field(default_factory=list)
    group: Text | None = None
    code_version: Text | None = None
    upstreams: list[Text] = Field(default_factory=list)
    pools: list[tuple[Text, Number]] = Field(default_factory=list)
    inner: bool = False
    external: bool = False


class NodeDeclarations(Schema):
    """Nodes to declare; those that are declared elsewhere stay."""

    items: Annotated[list[NodeDeclaration], Field(max_length=20_000)]


class Declared(Schema):
    """How many declarations were new or changed."""

    changed: int


class AssetNode(Schema):
    """A node: what is declared, and what its last materialization or observation left.

    ``last_event`` alone is set after a deletion.
    """

    name: str
    tags: list[str]
    kinds: list[str]
    group: str | None
    code_version: str | None
    pools: list[tuple[str, int]]
    inner: bool
    last_event: str | None
    last_run_id: str | None
    last_time: Utc | None
    data_version: str | None
    materialized_code_version: str | None
    input_versions: dict[str, str]


class Nodes(Schema):
    """Nodes by name."""

    items: list[AssetNode]


class NodeQuery(Schema):
    """All nodes, or those of these names, with this tag or kind, or of this group."""

    names: list[AssetId] | None = None
    tag: str | None = None
    kind: str | None = None
    group: str | None = None


class Cause(Schema):
    """Why a node is stale: ``Code``, or ``Data`` because of an upstream."""

    category: str
    reason: str
    dependency: str | None = None


class NodeStatus(Schema):
    """``UpToDate``, ``Stale`` or ``Missing``."""

    name: str
    status: str
    causes: list[Cause]


class NodeStatuses(Schema):
    """All nodes, by name."""

    items: list[NodeStatus]


class NodePartition(Schema):
    """What is known of one partition; ``failed`` since it was last materialized."""

    partition_key: str
    materialized: bool
    failed: bool
    data_version: str | None
    last_run_id: str | None


class NodePartitions(Schema):
    """Partitions in no particular order, and how many of them are materialized."""

    items: list[NodePartition]
    materialized: int


class NodePartitionQuery(Schema):
    """The partitions of a node; with ``count_only`` just their number."""

    node: AssetId
    count_only: bool = False


def _dynamic_key(value: object) -> object:
    if isinstance(value, str):
        bad = next((mark for mark in _NO_KEY if (mark in value if mark else not value)), None)
        if bad is not None:
            what = f"has {bad!r}, which separates keys" if bad else "is empty"
            raise InvalidRequest(
                f"The partition key {value!r} {what}.",
                hint="Register keys of other characters.",
                field="add",
                value=value,
            )
    return value


DynamicKey = Annotated[Name, BeforeValidator(_dynamic_key)]


class DynamicPartitionChange(Schema):
    """Register keys under the name of a dynamic definition, or take some out."""

    name: Name
    add: list[DynamicKey] = Field(default_factory=list)
    remove: list[Text] = Field(default_factory=list)


class DynamicPartitionQuery(Schema):
    """The keys of a dynamic definition."""

    name: Name


class DynamicPartitions(Schema):
    """Keys in the order in which they were registered."""

    name: str
    keys: list[str]
