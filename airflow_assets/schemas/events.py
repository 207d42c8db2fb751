"""Events of the catalogue: what happened to which asset, and the filters that choose among them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.actors import Source
from airflow_assets.schemas.assets import AssetId, AssetType, Namespace
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.metadata_query import MetadataCondition


class EventKind(str, Enum):
    """What happened to an asset."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    USED = "USED"


def _kind(value: object) -> EventKind:
    try:
        return EventKind(value)
    except ValueError:
        raise InvalidQuery(
            f"Unknown event {value!r}.",
            hint=f"Use {', '.join(kind.value for kind in EventKind)}.",
            field="events",
            value=str(value),
        ) from None


Kind = Annotated[EventKind, BeforeValidator(_kind)]


class EventAsset(Schema):
    """The asset at the moment of the event."""

    id: str
    type: str
    namespace: str | None
    display_name: str | None
    description: str | None
    metadata: dict[str, Any]
    tenant_id: str
    created: Utc
    updated: Utc


class Event(Schema):
    """One entry of the event log.

    :param seq: its place in the log: no reader that has seen ``seq`` ever finds a smaller one later.
    :param id: a UUIDv7 as text; the run made from it is ``asset_event__<id>``.
    :param changed: the members that changed (``["metadata.owner"]``); ``[]`` where the write changed nothing.
    :param depth: 1 + the depth of the event that started the writing run, else 0.
    :param suppressed: why no run was made (``"loop"``, ``"import"``), else null.
    """

    seq: int
    id: str
    event: Kind
    event_time: Utc
    asset: EventAsset
    source: Source
    changed: list[str]
    depth: int
    suppressed: str | None = None

    def payload(self) -> dict[str, Any]:
        """Return what Dags are told: the asset's JSON with ``event`` and ``eventTime`` beside its members."""
        whole = self.to_json()
        return {**whole["asset"], "event": whole["event"], "eventTime": whole["eventTime"]}


class Change(Schema):
    """One entry of an asset's history: the event, and from what to what (member -> [old, new])."""

    seq: int
    event_id: str
    event: Kind
    event_time: Utc
    source: Source
    diff: dict[str, tuple[Any, Any]]


class EventFilter(Schema):
    """Which events are wanted; every given member must hold.

    ``asset_id`` also matches an asset that was renamed from it; ``namespace`` and ``asset_type`` are exact.
    ``only_changes`` leaves out UPDATED events with ``changed: []``.
    """

    asset_id: AssetId | None = None
    namespace: Namespace | None = None
    asset_type: AssetType | None = None
    events: list[Kind] | None = None
    metadata_query: list[MetadataCondition] = Field(default_factory=list)
    only_changes: bool = False


class Replay(Schema):
    """Ask for another run of an old event; the same ``replay_id`` never starts a second one.

    :param dag_id: the subscribed Dag, or every Dag subscribed to the event when null.
    """

    event_id: str
    replay_id: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
    dag_id: str | None = None


class ReplayResult(Schema):
    """The runs that stand for the replay, and which of them this request made."""

    runs: list[ReplayRun]


class ReplayRun(Schema):
    """One run of a replay; ``created`` tells whether this request made it."""

    dag_id: str
    run_id: str
    created: bool


ReplayResult.model_rebuild()
