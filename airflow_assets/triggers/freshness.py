"""A Dag run for the assets that are stale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.expectations import Expectation
from airflow_assets.schemas.freshness import FreshnessCheck
from airflow_assets.schemas.polls import FreshnessPoll, PollKind
from airflow_assets.schemas.subscription import PolledSubscription
from airflow_assets.triggers.base import ScheduleTrigger

if TYPE_CHECKING:
    from airflow.triggers.base import BaseEventTrigger


def check_of(**arguments: Any) -> FreshnessCheck:
    """Return the check that the arguments of a freshness trigger or sensor describe."""
    said = {name: arguments.pop(name) for name in ("max_staleness", "deadline", "timezone")}
    window = arguments.pop("window")
    if window is not None:
        said["window"] = window
    silent = said["max_staleness"] is None and said["deadline"] is None
    return FreshnessCheck.model_validate(
        {
            **arguments,
            "expectation": None if silent else Expectation.model_validate(said),
            "metadata_query": list(arguments["metadata_query"] or []),
        }
    )


@dataclass(frozen=True)
class FreshnessTrigger(ScheduleTrigger):
    """Start one Dag run for all assets that are stale, again at each interval while any is.

    An asset is stale when it was last written ``max_staleness`` ago or longer, by the server's clock. Every
    write refreshes it, also one that changed nothing; usage, lineage and failed tasks do not. The run finds
    the assets in the list ``trigger_assets`` (templates; ``from airflow_assets import trigger_assets``).

    Args:
        max_staleness: ISO 8601 text or timedelta. ``PT24H`` is exact; ``P1D`` is a day of the calendar in
            ``timezone``: 23, 24 or 25 hours.
        interval: how often to look, exact, from one second.
        asset_id: exact id; also matches an asset renamed from it.
        namespace: exact namespace of the assets.
        asset_type: exact type, for example ``airflow_assets.types.Table``.
        metadata_query: conditions on top-level metadata keys, all of which must hold.
        deadline: instead of ``max_staleness``, a time of day in ``timezone``: from then on an asset is stale
            that was not written within ``window`` before it. A late write makes it fresh.
        window: default ``P1D``: since the deadline of the day before.
        timezone: a name of the tz database; default UTC.
        per_asset: what an asset's metadata says under ``freshness`` comes first: a duration, or an object
            with ``maxStaleness`` or ``deadline``, ``window``, ``timezone``. Without ``max_staleness`` and
            ``deadline`` only assets that say something are looked at.
        mode: ``repeat`` (default), or ``transitions``: once when an asset has become stale and once when it
            has been written again; ``state`` tells which (``STALE``, ``RECOVERED``).
        when: a Jinja template over ``assets`` and ``checkTime``; a firing counts only if it renders to
            something true. See :class:`~airflow_assets.triggers.EventTrigger`.
        stop_after: run states (``success``, ``failed``, ...): once a run of this trigger has reached one, it
            starts no further run.
        allow_concurrent: False (default): no run is started while one of the Dag is active. With ``repeat``
            the firing is passed over, with ``transitions`` it waits.
        on_pause: as :class:`~airflow_assets.triggers.EventTrigger`; while every Dag of a trigger is paused
            nothing is checked.
        max_pending: how many queued runs of the Dag may pile up.
        id: what ``triggerId`` says in the run. Default ``trigger_<position in any_of>``.
        position: set by :func:`any_of`.

    Raises:
        InvalidRequest: an argument breaks a rule; the message names it and the way out.

    Example:
        >>> FreshnessTrigger("PT6H", interval="PT30M", asset_type="airflow_assets.types.Table")
        >>> FreshnessTrigger(deadline="07:00", timezone="Europe/Paris", mode="transitions", namespace="sales")
    """

    max_staleness: str | timedelta | None = None
    interval: str | timedelta = "PT1H"
    asset_id: str | None = None
    namespace: str | None = None
    asset_type: str | None = None
    metadata_query: Sequence[dict[str, Any]] | None = None
    deadline: str | None = None
    window: str | timedelta | None = None
    timezone: str = "UTC"
    per_asset: bool = False
    mode: str = "repeat"
    when: str | None = None
    stop_after: Sequence[str] | None = None
    allow_concurrent: bool = False
    on_pause: str = "keep"
    max_pending: int | None = None
    id: str | None = None
    position: int = 1

    def poll(self) -> FreshnessPoll:
        """Return what the server checks."""
        check = check_of(
            max_staleness=self.max_staleness,
            deadline=self.deadline,
            window=self.window,
            timezone=self.timezone,
            per_asset=self.per_asset,
            asset_id=self.asset_id,
            namespace=self.namespace,
            asset_type=self.asset_type,
            metadata_query=self.metadata_query,
        )
        return FreshnessPoll.model_validate({"check": check, "interval": self.interval, "mode": self.mode})

    def _subscription(self) -> PolledSubscription:
        poll = self.poll()
        return PolledSubscription.model_validate(
            {"kind": PollKind.FRESHNESS, "poll_key": poll.key, "title": _title(poll.check), **self._shared()}
        )

    def _watch(self) -> BaseEventTrigger:
        from airflow_assets.triggers.freshness_poll import FreshnessWatch

        return FreshnessWatch(self.poll().model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _title(check: FreshnessCheck) -> str:
    """``stale assets in sales (PT6H)``."""
    of = check.asset_id or (f"{check.asset_type.rpartition('.')[2]} assets" if check.asset_type else "assets")
    where = f" in {check.namespace}" if check.namespace else ""
    limits = [str(check.expectation)] if check.expectation else []
    limits += ["their own"] if check.per_asset else []
    return f"stale {of}{where} ({', '.join(limits)})"
