"""What a task run read and wrote: the record it sends, and the usages, lineage events and graph it leaves."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.expectations import Freshness
from airflow_assets.schemas.masking import scrub_text


class TaskState(str, Enum):
    """How the body of a task ended, or the final state of the try where Airflow changed it afterwards."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    UP_FOR_RETRY = "up_for_retry"
    REMOVED = "removed"


AirflowId = Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\x00]+$")]
"""As long as Airflow's own ids of Dags, runs and tasks may be."""
MAX_BUNDLES = 10_000
_MAX_INT = 2**31 - 1


class TaskRun(Schema):
    """One try of one task instance. ``map_index`` is -1 for a task that is not mapped."""

    dag_id: AirflowId
    run_id: AirflowId
    task_id: AirflowId
    map_index: Annotated[int, Field(ge=-1, le=_MAX_INT)] = -1
    try_number: Annotated[int, Field(ge=0, le=_MAX_INT)]
    ti_id: Annotated[str, Field(pattern=r"^[0-9A-Fa-f-]{32,36}$")] | None = None


class Bundle(Schema):
    """Inputs and outputs that belong together: each input is upstream of each output of the same bundle."""

    inputs: list[AssetRef] = Field(default_factory=list)
    outputs: list[AssetInput] = Field(default_factory=list)


MAX_MESSAGE = 2_000
_MAX_RAW_MESSAGE = 20_000


def _told(message: str) -> str:
    """Scrub first: what is cut might be the part by which a secret is known."""
    text = scrub_text(message.replace("\0", "\ufffd").encode("utf-8", "replace").decode())
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


MaskedMessage = Annotated[str, Field(max_length=_MAX_RAW_MESSAGE), AfterValidator(_told)]
"""What went wrong: passwords of URIs and values of sensitive names masked, cut to :data:`MAX_MESSAGE`."""


class TaskError(Schema):
    """The exception that ended a try.

    :param type: its class, with the module unless it is built in.
    :param message: masked, and cut to 2,000 characters.
    """

    type: Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\x00]+$")]
    message: MaskedMessage


class TaskRunRecord(Schema):
    """Everything one try of a task read and wrote; recorded once, however often it is sent.

    Outputs are stored only when ``state`` is success; any other state leaves lineage and touches no asset.

    :param only_if_missing: sent by the reconciler and the follower: do nothing when the try has a record.
    :param error: the exception that ended the try, where one did.
    :param note: append the warnings, and the problems met here, to the note of the task instance.
    """

    task: TaskRun
    state: TaskState
    start_date: Utc | None = None
    end_date: Utc | None = None
    bundles: Annotated[list[Bundle], Field(max_length=MAX_BUNDLES)]
    warnings: list[str] = Field(default_factory=list)
    error: TaskError | None = None
    only_if_missing: bool = False
    note: bool = False


class Problem(Schema):
    """An output that was not stored, and why (a problem document)."""

    asset_id: str
    problem: dict[str, Any]


class RecordResult(Schema):
    """:param duplicate: the try had been recorded before; nothing was done (or only its state corrected)."""

    duplicate: bool
    stored: list[str]
    """Ids of the outputs that were stored."""
    problems: list[Problem]


class StateCorrection(Schema):
    """The body ended well, Airflow failed the try afterwards: correct the state of its lineage events."""

    task: TaskRun
    state: TaskState
    end_date: Utc | None = None
    error: TaskError | None = None


class LineageEvent(Schema):
    """One bundle of one try. ``inputs`` and ``outputs`` name the assets as they were called then.

    :param error: the exception that ended the try; null where none did, or nobody saw it.
    """

    seq: int
    task: TaskRun
    bundle: int
    state: TaskState
    inputs: list[AssetRef]
    outputs: list[AssetRef]
    warnings: list[str]
    error: TaskError | None = None
    start_date: Utc | None
    end_date: Utc | None
    created: Utc


class Role(str, Enum):
    """How a task run touched an asset."""

    INPUT = "input"
    OUTPUT = "output"


class Usage(Schema):
    """One task run that touched one asset."""

    asset_id: str
    role: Role
    task: TaskRun
    state: TaskState
    created: Utc
    lineage_seq: int


class NodeKind(str, Enum):
    """What a node of the dependency graph stands for."""

    ASSET = "ASSET"
    TASK = "TASK"
    DAG = "DAG"


class Node(Schema):
    """A node of the dependency graph. ``uid`` is unique in one answer and names the edge ends.

    :param freshness: of an asset, at the moment of the answer. :param locked: somebody holds its lock.
    """

    uid: str
    kind: NodeKind
    id: str
    """The asset's id, ``<dag_id>.<task_id>``, or the Dag's id."""
    type: str | None = None
    namespace: str | None = None
    display_name: str | None = None
    freshness: Freshness | None = None
    locked: bool = False
    dag_id: str | None = None
    task_id: str | None = None


class Relation(str, Enum):
    """PRODUCES: task -> asset; CONSUMED_BY: asset -> task; UPSTREAM_OF: asset -> asset of one bundle.

    TRIGGERS: asset -> Dag that is scheduled on it. Where Dags stand for tasks, they produce and consume.
    """

    PRODUCES = "PRODUCES"
    CONSUMED_BY = "CONSUMED_BY"
    UPSTREAM_OF = "UPSTREAM_OF"
    TRIGGERS = "TRIGGERS"


class Edge(Schema):
    """An edge of the dependency graph, by the uids of its ends.

    :param recorded: task runs have recorded it: between ``first_seen`` and ``last_seen``.
    :param declared: a Dag declares it. If none has recorded it, both times say when that was noticed.
    """

    source: str
    target: str
    relation: Relation
    recorded: bool
    declared: bool
    first_seen: Utc
    last_seen: Utc


class Graph(Schema):
    """A neighbourhood of the dependency graph.

    :param hidden: nodes in the caller's reach that the caller may not read.
    :param truncated: nodes left out because of the node limit.
    """

    nodes: list[Node]
    edges: list[Edge]
    hidden: int = 0
    truncated: int = 0


class Direction(str, Enum):
    """Which way to follow the edges."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"
