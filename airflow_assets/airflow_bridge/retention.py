"""Purges events that are older than ``[airflow_assets] event_retention``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_assets import config
from airflow_assets.airflow_bridge.service import AirflowService
from airflow_assets.catalog.engine import db_now, read
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.purge import Purge

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from airflow_assets.schemas.purge import PurgeResult

log = logging.getLogger(__name__)
_CALLER = Caller(source=Source(kind=SourceKind.AIRFLOW))
_STEP = 5_000
"""Events of one pass: the thread is shared with other jobs, and the lease must be kept."""


class Retention:
    """The job; once an hour it purges to the end, a second at a time."""

    name = "retention"
    interval = 3_600.0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._service = AirflowService(engine)
        self._purge: Purge | None = None
        self._done: PurgeResult | None = None

    def close(self) -> None:
        """Nothing to let go of: whoever has the job next begins again."""

    def step(self) -> bool:
        """Purge for about a second; return True if there is more."""
        if self._purge is None:
            self._purge, self._done = self._begin(), None
        if self._purge is None:
            return False
        done = self._service.purge(_CALLER, self._purge)
        self._done = done.after(self._done)
        if done.next_cursor is not None:
            self._purge = self._purge.model_copy(update={"cursor": done.next_cursor})
            return True
        self._tell(self._done)
        self._purge = None
        return False

    def _begin(self) -> Purge | None:
        retention = config.event_retention()
        if retention is None:
            return None
        with read(self._engine) as conn:
            end = retention.before(db_now(conn))
        return Purge(
            end_date=end,
            purge_assets=False,
            purge_asset_usages=False,
            purge_asset_lineages=False,
            purge_asset_events=True,
            limit=_STEP,
        )

    def _tell(self, done: PurgeResult) -> None:
        if done.purged:
            log.info("Purged %d events older than %s.", done.purged, config.event_retention())
        if done.kept_for_readers_count:
            names = ", ".join(f"{one.kind} {one.name}" for one in done.readers)
            log.info(
                "Kept %d older events that have yet to be read by %s.", done.kept_for_readers_count, names
            )
        for one in done.idle_readers:
            log.warning(
                "The %s %s has not read the log beyond %d since %s: old events are not kept for it any more.",
                one.kind, one.name, one.seq, one.updated,
            )  # fmt: skip
