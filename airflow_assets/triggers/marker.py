"""The native asset that stands for an event trigger in a Dag's schedule.

Airflow serializes both classes as the plain asset and the plain condition they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from airflow.sdk.definitions.asset import Asset, AssetAny, BaseAsset

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.subscription import GROUP

if TYPE_CHECKING:
    from airflow_assets.schemas.subscription import Subscription


def marker_of(subscription: Subscription) -> EventMarker:
    """Return the marker of a subscription; equal subscriptions give equal markers."""
    return EventMarker(
        name=subscription.name, uri=subscription.uri, group=GROUP, extra=subscription.to_extra()
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
        "Event triggers cannot be joined by '&': each starts a run of its own for every event.",
        hint="Join them by '|' or any_of(...), and let the run ask for the other assets it needs.",
    )
