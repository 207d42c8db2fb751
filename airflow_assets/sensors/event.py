"""Wait inside a Dag for an event of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import PokeReturnValue

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.operators.base import CONNECTION_FIELDS, is_constant
from airflow_assets.sensors.base import CatalogSensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_assets.schemas.events import EventFilter
    from airflow_assets.schemas.waiting import EventWait
    from airflow_assets.triggers.waiting import EventWaitTrigger

DEFAULT_EVENTS = ("CREATED", "UPDATED", "DELETED")
RUN, TASK, BEGINNING = "run", "task", "beginning"
_FILTER_FIELDS = ("asset_id", "namespace", "asset_type", "events", "metadata_query")


class AssetEventSensor(CatalogSensor):
    """Wait for the first event that matches every given member, and return it.

    The place from which it looks is fixed at the first poke of a try and kept over reschedules, deferral and
    restarts of the triggerer: an event between two pokes is neither missed nor seen twice. A retry begins
    anew.

    :param asset_id: exact id; also matches an asset renamed from it.
    :param namespace: exact namespace of the asset.
    :param asset_type: exact type, for example ``airflow_assets.types.Table``.
    :param events: any of CREATED, UPDATED, DELETED, USED. Default: all but USED.
    :param metadata_query: conditions on top-level metadata keys, all of which must hold.
    :param only_changes: leave out writes that changed nothing.
    :param since: from where to look: ``run`` (default), events since the run's ``run_after``; ``task``, those
        after this try's first poke; ``beginning``, all that the log still has; or a cursor, the ``cursor``
        that an earlier sensor returned: events after that one.
    :raises InvalidRequest: an argument breaks a rule; constants are checked when the Dag is parsed.

    Returns the asset as it was at the event (``id``, ``type``, ``namespace``, ``displayName``,
    ``description``, ``metadata``, ``tenantId``, ``created``, ``updated``) with ``event``, ``eventTime``,
    ``eventId`` and ``cursor``.

    >>> AssetEventSensor(task_id="wait", asset_id="analytics.orders", events=["UPDATED"], deferrable=True)
    """

    template_fields: Sequence[str] = (*_FILTER_FIELDS, "since", *CONNECTION_FIELDS)
    template_fields_renderers: ClassVar[dict[str, str]] = {"metadata_query": "json"}

    def __init__(
        self,
        *,
        asset_id: str | None = None,
        namespace: str | None = None,
        asset_type: str | None = None,
        events: Sequence[str] = DEFAULT_EVENTS,
        metadata_query: Sequence[dict[str, Any]] | None = None,
        only_changes: bool = False,
        since: str | int = RUN,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.asset_id = asset_id
        self.namespace = namespace
        self.asset_type = asset_type
        self.events = events
        self.metadata_query = metadata_query
        self.only_changes = only_changes
        self.since = since
        self._cursor: int | None = None
        if is_constant([getattr(self, name) for name in _FILTER_FIELDS]):
            self._filter()
        if is_constant(since):
            place_of(since)

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once, from where the last poke of this try ended."""
        self._cursor = None
        seen = self.client().wait_events(self._wait(context))
        self._cursor = seen.cursor
        return PokeReturnValue(is_done=seen.event is not None, xcom_value=seen.payload())

    def make_trigger(self, context: Context) -> EventWaitTrigger | None:
        """Return the trigger that looks on from the first poke's place."""
        if self._cursor is None:
            return None
        from airflow_assets.triggers.waiting import EventWaitTrigger

        return EventWaitTrigger(
            wanted=self._filter().to_json(),
            cursor=self._cursor,
            ti_id=str(context["ti"].id),
            conn_id=self.conn_id,
            api_url=self.api_url,
            tenant=self.tenant,
        )

    def _wait(self, context: Context) -> EventWait:
        from airflow_assets.schemas.waiting import EventWait

        place = place_of(self.since)
        start: dict[str, Any] = {"after": place} if isinstance(place, int) else {}
        if place == RUN:
            start = {"since": context["dag_run"].run_after}
        return EventWait(filter=self._filter(), keep_for=context["ti"].id, resume=True, **start)

    def _filter(self) -> EventFilter:
        from airflow_assets.schemas.events import EventFilter

        if isinstance(self.events, str) or not self.events:
            raise InvalidRequest(
                f"events={self.events!r} is not a list of events.",
                hint="Write for example events=['CREATED', 'UPDATED'].",
                field="events",
            )
        return EventFilter.model_validate(
            {
                "asset_id": self.asset_id,
                "namespace": self.namespace,
                "asset_type": self.asset_type,
                "events": sorted(set(self.events)),
                "metadata_query": list(self.metadata_query or []),
                "only_changes": self.only_changes,
            }
        )


def place_of(since: Any) -> str | int:
    """Return ``run``, ``task``, or the number of the event after which to look (``beginning``: 0).

    :raises InvalidRequest: it is none of these.

    >>> place_of("beginning"), place_of("4711"), place_of("task")
    (0, 4711, 'task')
    """
    if since in {RUN, TASK}:
        return str(since)
    if since == BEGINNING:
        return 0
    number = int(since) if isinstance(since, str) and since.strip().isdecimal() else since
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    raise InvalidRequest(
        f"since={since!r} is no place in the log.",
        hint="Use 'run', 'task', 'beginning', or the cursor that an earlier sensor returned.",
        field="since",
        value=repr(since),
    )
