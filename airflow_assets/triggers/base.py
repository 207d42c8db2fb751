"""What all triggers of Dags share: members, checks where they are written, how a schedule is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from airflow_assets.exceptions import AssetCatalogError, InvalidRequest
from airflow_assets.places import defined_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow.sdk.definitions.asset import Asset
    from airflow.triggers.base import BaseEventTrigger

    from airflow_assets.schemas.subscription import Following


class ScheduleTrigger:
    """The base of the dataclasses in this package.

    A trigger is also the list of its one schedule, since Airflow takes a list of assets for a schedule:
    ``DAG(schedule=EventTrigger(...))`` means ``DAG(schedule=EventTrigger(...).as_schedule())``.
    """

    when: str | None
    stop_after: Sequence[str] | None
    allow_concurrent: bool
    on_pause: str
    max_pending: int | None
    id: str | None
    position: int

    def __post_init__(self) -> None:
        try:
            self.subscription()
        except AssetCatalogError as error:
            # Airflow shows the last two frames of an import error: ours. The user needs his own.
            file, line = defined_at()
            error.hint = f"{error.hint or ''} It is at {file}:{line}.".strip()
            raise error.with_traceback(None) from None

    def __and__(self, other: object) -> NoReturn:
        raise InvalidRequest(
            f"{_named(type(self).__name__)} does not join with others by itself.",
            hint="Call .as_schedule() on each, or join several with any_of(...).",
        )

    __or__ = __rand__ = __ror__ = __and__

    def __iter__(self) -> Iterator[Asset]:
        yield self.as_schedule()

    def __len__(self) -> int:
        return 1

    def __contains__(self, item: object) -> bool:
        return item == self.as_schedule()

    def subscription(self) -> Following:
        """Return what the server follows.

        Raises:
            InvalidRequest: an argument breaks a rule.
        """
        from pydantic import ValidationError

        try:
            return self._subscription()
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidRequest(
                f"{type(self).__name__} is wrong at {'.'.join(map(str, first['loc']))}: {first['msg']}.",
                hint="A metadata query is a list of conditions with field, type and value.",
                field=str(first["loc"][0]) if first["loc"] else None,
            ) from None

    def as_schedule(self) -> Asset:
        """Return the asset to schedule a Dag on; it combines with lists, ``|``, ``AssetOrTimeSchedule``."""
        from airflow_assets.triggers.marker import marker_of

        return marker_of(self.subscription(), self._watch())

    def _subscription(self) -> Following:
        raise NotImplementedError

    def _watch(self) -> BaseEventTrigger | None:
        """What the triggerer runs for it."""
        return None

    def _shared(self) -> dict[str, Any]:
        """The members that every subscription has."""
        return {
            "trigger_id": f"trigger_{self.position}" if self.id is None else self.id,
            "position": self.position,
            "when": self.when,
            "stop_after": list(self.stop_after or []),
            "allow_concurrent": self.allow_concurrent,
            "on_pause": self.on_pause,
            "max_pending": self.max_pending,
        }


def _named(name: str) -> str:
    return f"{'An' if name[0] in 'AEIOU' else 'A'} {name}"
