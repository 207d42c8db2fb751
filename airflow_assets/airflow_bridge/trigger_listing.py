"""The triggers of all Dags as a listing: five statements a page, whatever the history."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from airflow_assets.airflow_bridge import positions
from airflow_assets.catalog import cursors, tables
from airflow_assets.catalog.filters import is_hidden
from airflow_assets.catalog.lineage import hidden_ids
from airflow_assets.catalog.log import last_seq
from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.schemas.polls import FreshnessPoll, PollKind, ScriptPoll
from airflow_assets.schemas.subscription import (
    GROUP,
    POLLED_GROUPS,
    PolledSubscription,
    Subscription,
    read_marker,
)
from airflow_assets.schemas.trigger_listing import EdgeState, PollInfo, TriggerInfo, TriggerKind, Triggers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    from airflow_assets.schemas.actors import Caller
    from airflow_assets.schemas.events import EventFilter
    from airflow_assets.schemas.freshness import FreshnessCheck
    from airflow_assets.schemas.trigger_listing import TriggerQuery

log = logging.getLogger(__name__)
_ORDER = "triggers"
_GROUPS = {
    TriggerKind.EVENT: GROUP,
    TriggerKind.FRESHNESS: POLLED_GROUPS[PollKind.FRESHNESS],
    TriggerKind.SCRIPT: POLLED_GROUPS[PollKind.SCRIPT],
}
_KINDS = {group: kind for kind, group in _GROUPS.items()}
_Marker = Subscription | PolledSubscription
_Firing = tuple[Any, str]


def list_triggers(conn: Connection, session: Session, caller: Caller, query: TriggerQuery) -> Triggers:
    """Return one page of the triggers of Dags that are there, by Dag.

    Left out are those that name a namespace or an asset that is closed to the caller.

    :raises InvalidCursor: the cursor is not one of this listing.
    """
    seen = cursors.decode(_ORDER, query.cursor, [str, int])
    rows = session.execute(_statement(conn.dialect.name, query, seen)).all()
    page = rows[: query.limit]
    read = [(row, marker) for row in page if (marker := _marker(row)) is not None]
    known = _Known.of(conn, session, read)
    hidden = _Hidden(conn, caller, [_filter(marker, known) for _, marker in read])
    last = page[-1] if len(rows) > query.limit else None
    return Triggers(
        items=[_info(row, marker, known) for row, marker in read if not hidden.hides(_filter(marker, known))],
        next_cursor=cursors.encode(_ORDER, [last.dag_id, last.id]) if last else None,
    )


def _statement(dialect: str, query: TriggerQuery, seen: tuple[Any, ...] | None) -> Any:
    from airflow.models.asset import AssetEvent, AssetModel, DagScheduleAssetReference
    from airflow.models.dag import DagModel
    from airflow.models.dagrun import DagRun

    reference = DagScheduleAssetReference
    newest = (
        select(AssetEvent.id)
        .join(AssetEvent.created_dagruns)
        .where(AssetEvent.asset_id == AssetModel.id, DagRun.dag_id == reference.dag_id)
        .order_by(AssetEvent.timestamp.desc(), AssetEvent.id.desc())
        .limit(1)
        .correlate(AssetModel, reference)
        .scalar_subquery()
    )
    columns = (AssetModel.id, AssetModel.name, AssetModel.group, AssetModel.extra)
    of_dag = (reference.dag_id, reference.created_at, DagModel.is_paused, DagModel.has_import_errors)
    groups = [_GROUPS[query.kind]] if query.kind else sorted(_KINDS)
    found = (
        select(*columns, *of_dag, newest.label("newest"))
        .join(reference, reference.asset_id == AssetModel.id)
        .join(DagModel, DagModel.dag_id == reference.dag_id)
        .where(AssetModel.group.in_(groups), DagModel.is_stale.is_(False))
    )
    if query.dag_id is not None:
        found = found.where(reference.dag_id == query.dag_id)
    order: Any = (reference.dag_id, AssetModel.id)
    if seen is not None:
        found = found.where(cursors.beyond(dialect, order, seen))
    return found.order_by(*order).limit(query.limit + 1)


def _marker(row: Row[Any]) -> _Marker | None:
    try:
        return read_marker(row.group, row.extra)
    except (AssetCatalogError, ValueError) as error:
        log.warning("The trigger %r of Dag %s cannot be read: %s", row.name, row.dag_id, error)
        return None


@dataclass(frozen=True)
class _Known:
    """What is looked up for a page at once."""

    log_end: int = 0
    read_to: dict[str, int] = field(default_factory=dict)
    polls: dict[str, Row[Any]] = field(default_factory=dict)
    firings: dict[int, _Firing] = field(default_factory=dict)

    @classmethod
    def of(cls, conn: Connection, session: Session, read: Sequence[tuple[Row[Any], _Marker]]) -> _Known:
        """Look it up."""
        if not read:
            return cls()
        consumer, poll = tables.consumer.c, tables.poll
        dag_ids = sorted({row.dag_id for row, _ in read})
        keys = sorted({marker.poll_key for _, marker in read if isinstance(marker, PolledSubscription)})
        places = select(consumer.name, consumer.seq)
        places = places.where(consumer.kind == positions.KIND, consumer.name.in_(dag_ids))
        rows = conn.execute(select(poll).where(poll.c.poll_key.in_(keys))) if keys else ()
        return cls(
            log_end=last_seq(conn),
            read_to={row.name: row.seq for row in conn.execute(places)},
            polls={row.poll_key: row for row in rows},
            firings=_firings(session, [row.newest for row, _ in read if row.newest is not None]),
        )


def _firings(session: Session, event_ids: list[int]) -> dict[int, _Firing]:
    """When each of these events of Airflow's was, and the run that it started."""
    from airflow.models.asset import AssetEvent
    from airflow.models.dagrun import DagRun

    if not event_ids:
        return {}
    rows = session.execute(
        select(AssetEvent.id, AssetEvent.timestamp, DagRun.run_id)
        .join(AssetEvent.created_dagruns)
        .where(AssetEvent.id.in_(event_ids))
    )
    return {row.id: (row.timestamp, row.run_id) for row in rows}


def _filter(marker: _Marker, known: _Known) -> EventFilter | FreshnessCheck | None:
    """Which assets a trigger is about; null for a script, and for a poll that was never checked."""
    if isinstance(marker, Subscription):
        return marker.filter
    row = known.polls.get(marker.poll_key)
    poll = None if row is None or marker.kind is not PollKind.FRESHNESS else _poll(row)
    return poll.check if isinstance(poll, FreshnessPoll) else None


class _Hidden:
    """Which filters name what is closed to the caller."""

    def __init__(
        self, conn: Connection, caller: Caller, filters: Sequence[EventFilter | FreshnessCheck | None]
    ) -> None:
        self._caller = caller
        self._ids: set[str] = set()
        named = sorted({one.asset_id for one in filters if one is not None and one.asset_id is not None})
        if caller.hidden_namespaces and named:
            self._ids = set(hidden_ids(conn, caller, named))

    def hides(self, wanted: EventFilter | FreshnessCheck | None) -> bool:
        """Whether the trigger of this filter is left out."""
        if wanted is None:
            # Its title may name a namespace, and nothing here says which.
            return bool(self._caller.hidden_namespaces)
        return is_hidden(wanted.namespace, self._caller) or wanted.asset_id in self._ids


def _info(row: Row[Any], marker: _Marker, known: _Known) -> TriggerInfo:
    poll_row = known.polls.get(marker.poll_key) if isinstance(marker, PolledSubscription) else None
    fired, run_id = known.firings.get(row.newest, (None, None))
    if poll_row is not None and poll_row.fired is not None and (fired is None or poll_row.fired > fired):
        fired, run_id = poll_row.fired, run_id if fired is not None else None
    read_to = known.read_to.get(row.dag_id)
    return TriggerInfo(
        dag_id=row.dag_id,
        kind=_KINDS[row.group],
        title=row.name.rpartition(" #")[0],
        since=row.created_at,
        dag_paused=bool(row.is_paused),
        held=bool(row.has_import_errors),
        filter=marker.filter if isinstance(marker, Subscription) else None,
        poll=None if poll_row is None else _poll_info(poll_row),
        unread=None if read_to is None else max(0, known.log_end - read_to),
        last_firing=fired,
        last_run_id=run_id,
        **{name: getattr(marker, name) for name in _OF_MARKER},
    )


_OF_MARKER = (
    "trigger_id",
    "position",
    "when",
    "stop_after",
    "allow_concurrent",
    "on_pause",
    "max_pending",
)


def _poll(row: Row[Any]) -> FreshnessPoll | ScriptPoll:
    model = FreshnessPoll if row.kind == PollKind.FRESHNESS.value else ScriptPoll
    return model.model_validate_json(row.definition)


def _poll_info(row: Row[Any]) -> PollInfo:
    poll = _poll(row)
    members: dict[str, Any] = {"edge": poll.edge} if isinstance(poll, ScriptPoll) else {}
    if isinstance(poll, FreshnessPoll):
        members = {"mode": poll.mode, "check": poll.check}
    return PollInfo(
        interval=poll.interval,
        checks=row.number,
        last_check=row.checked,
        next_check=row.due,
        last_error=row.error,
        edge_state=_edge_state(json.loads(row.state)) if row.state else None,
        **members,
    )


def _edge_state(memory: dict[str, Any]) -> EdgeState:
    stale = memory.get("stale")
    return EdgeState(matched=memory.get("matched"), stale=None if stale is None else len(stale))
