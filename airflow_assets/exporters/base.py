"""What an exporter is: one method, and a few more for those that need them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_assets.schemas.assets import Asset, AssetRef
    from airflow_assets.schemas.shipping import ShippedChange, ShippedEvent

_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")
_MAX_ID = 250


class ExportFailed(Exception):
    """An exporter could not deliver; what it has not confirmed is shipped again by the next run."""


@dataclass(frozen=True)
class Shipment:
    """One run of a shipper.

    :param key: names the shipper (``offset_key``); the same in every run.
    :param tenant: whose lineage it is.
    """

    key: str
    tenant: str


class ExportBatch:
    """Some lineage events, oldest first, each task run's together.

    :param assets: the assets that the events name, by that name, as they are now.
    :param changes: changes of assets that no lineage tells, oldest first, for an exporter that takes them.
    """

    __slots__ = ("assets", "changes", "events")

    def __init__(
        self, events: list[ShippedEvent], assets: dict[str, Asset], changes: Sequence[ShippedChange] = ()
    ) -> None:
        self.events = events
        self.assets = assets
        self.changes = list(changes)

    def asset(self, ref: AssetRef) -> Asset | None:
        """Return the whole asset; None if it was never stored or has been purged."""
        return self.assets.get(ref.id)

    def to_json(self, event: ShippedEvent) -> dict[str, Any]:
        """Return an event as JSON (camelCase) with whole assets; ``name`` says how each was called then."""
        made = event.to_json()
        for side, refs in (("inputs", event.inputs), ("outputs", event.outputs)):
            made[side] = [self._whole(ref) for ref in refs]
        return made

    def _whole(self, ref: AssetRef) -> dict[str, Any]:
        asset = self.asset(ref)
        return {"name": ref.id, **(asset.to_json() if asset else ref.to_json())}


class AssetExporter(ABC):
    """A destination of lineage events.

    :param id: a letter or digit, then letters, digits, ``_`` and ``-``; the bookmark is kept under it, so a
        renamed exporter begins anew.

    One instance serves one run of the task at a time, from one thread.
    """

    confirms_at_finish: ClassVar[bool] = False
    """False: a batch is delivered when :meth:`export` has returned. True: all are when :meth:`finish` has."""

    takes_changes: ClassVar[bool] = False
    """Whether batches also hold what people and other systems changed, and every deletion; then a batch may
    be without lineage events."""

    def __init__(self, id: str) -> None:  # noqa: A002 - the contract's name
        if not _ID.fullmatch(str(id)) or len(id) > _MAX_ID:
            raise ValueError(
                f"{id!r} is no id of an exporter: it begins with a letter or digit and goes on with letters, "
                f"digits, '_' and '-', at most {_MAX_ID} in all."
            )
        self.id = id
        self.problems: list[str] = []
        """What was left out although the rest was delivered; the task fails with it when all is confirmed."""

    def start(self, shipment: Shipment) -> None:  # noqa: B027 - most need nothing
        """Prepare; called before the first batch."""

    @abstractmethod
    def export(self, batch: ExportBatch) -> None:
        """Deliver a batch; to return means that it is delivered (see :attr:`confirms_at_finish`).

        :raises Exception: any; it stops this exporter and not the others, and what it has not confirmed comes
            again with the next run.
        """

    def finish(self) -> dict[str, Any]:
        """Complete the delivery; return what the task's result says of this exporter, as JSON."""
        return {}

    def abandon(self) -> None:  # noqa: B027 - most need nothing
        """Give up after an error or when the task is killed: remove what is half done."""
