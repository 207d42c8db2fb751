"""The native asset that stands for a trigger in a Dag's schedule.

Airflow serializes both classes as the plain asset and the plain condition they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from airflow.sdk.definitions.asset import Asset, AssetAny, AssetWatcher, BaseAsset

from airflow_assets.exceptions import InvalidRequest

if TYPE_CHECKING:
    from airflow.triggers.base import BaseEventTrigger

    from airflow_assets.schemas.subscription import Following


def marker_of(subscription: Following, watch: BaseEventTrigger | None = None) -> EventMarker:
    """Return the marker of a subscription; equal subscriptions give equal markers.

    :param watch: what the triggerer runs as long as a Dag is scheduled on the marker.
    """
    watchers = [] if watch is None else [AssetWatcher(name=subscription.digest[:12], trigger=watch)]
    return EventMarker(
        name=subscription.name,
        uri=subscription.uri,
        group=subscription.group,
        extra=subscription.to_extra(),
        watchers=watchers,
    )


class EventMarker(Asset):
    """A marker; see the module."""

    def __or__(self, other: object) -> BaseAsset:
        return AnyMarker(self, other) if isinstance(other, BaseAsset) else NotImplemented

    def __ror__(self, other: object) -> BaseAsset:
        return AnyMarker(other, self) if isinstance(other, BaseAsset) else NotImplemented

    def __and__(self, other: BaseAsset) -> NoReturn:
        _refuse_and()

    def __rand__(self, other: BaseAsset) -> NoReturn:
        _refuse_and()


class AnyMarker(AssetAny):
    """Several markers, each of which fires by itself."""

    def __or__(self, other: object) -> BaseAsset:
        return AnyMarker(*self.objects, other) if isinstance(other, BaseAsset) else NotImplemented

    def __and__(self, other: BaseAsset) -> NoReturn:
        _refuse_and()


def _refuse_and() -> NoReturn:
    raise InvalidRequest(
        "Triggers cannot be joined by '&': each starts runs of its own.",
        hint="Join them by '|' or any_of(...), and let the run ask for the other assets it needs.",
    )
