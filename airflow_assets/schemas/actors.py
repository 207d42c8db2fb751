"""Who wrote something: the source that every event and every change carries."""

from __future__ import annotations

from enum import Enum

from pydantic import Field

from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.rules import DEFAULT_TENANT


class SourceKind(str, Enum):
    """Through which door a write came."""

    TASK = "task"
    TRIGGER = "trigger"
    PARSE = "parse"
    """A Dag file while it is parsed; it only reads."""
    API = "api"
    UI = "ui"
    CLI = "cli"
    IMPORT = "import"
    AIRFLOW = "airflow"
    """Seen in Airflow's own ``asset_event`` table (REST events, other languages)."""


class Source(Schema):
    """Who wrote, as far as it is known.

    ``run_id`` also tells how deep in a chain of events the write is: a run made from an event is named
    after it, so the depth of what it writes is the event's depth plus one.
    """

    kind: SourceKind
    user: str | None = None
    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    map_index: int | None = None
    try_number: int | None = None
    ti_id: str | None = None


class Caller(Schema):
    """Who asks, for which tenant, and which namespaces are closed to him.

    :param hidden_namespaces: assets of these namespaces and of their dotted children do not exist for the
        caller: they are left out in SQL of every list, count, facet, graph and event.
    :param fencing_tokens: asset id -> number of the tenure under which the caller writes; a write whose
        number is older than the asset's present one is refused.
    :param clear_number: how often the Dag run of a task has been cleared, if that is known: a clear begins a
        new tenure of the locks that the run acquires again.
    """

    source: Source
    tenant: str = DEFAULT_TENANT
    hidden_namespaces: tuple[str, ...] = ()
    fencing_tokens: dict[str, int] = Field(default_factory=dict)
    clear_number: int | None = None
