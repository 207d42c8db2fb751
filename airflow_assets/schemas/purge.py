"""Purging: what is deleted for good, and the combinations that a kind of record cannot express.

=====================  ===============  ===============  ===============  ===============
filter                 assets           usages           lineage          events
=====================  ===============  ===============  ===============  ===============
``end_date``           ``updated`` <=   ``created`` <=   ``created`` <=   ``created`` <=
``namespace``          its own          its asset's      all its assets'  at that time
``asset_id``           yes              yes              no               yes
``asset_type``         any of them      no               no               any of them
``metadata_query``     yes              no               no               no
=====================  ===============  ===============  ===============  ===============
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from typing_extensions import Self

from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas.assets import AssetId, AssetType, Namespace
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.metadata_query import MetadataCondition

MAX_STEP = 100_000
_CANNOT = {
    "purge_asset_usages": ("usage", ("asset_type", "metadata_query")),
    "purge_asset_lineages": ("lineage event", ("asset_id", "asset_type", "metadata_query")),
    "purge_asset_events": ("event", ("metadata_query",)),
}


def _limit(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_STEP:
        raise InvalidQuery(
            f"One request can purge 1 to {MAX_STEP:,} records, not {value!r}.",
            field="limit",
            limit=MAX_STEP,
            value=str(value),
        )
    return value


StepLimit = Annotated[
    int, BeforeValidator(_limit), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_STEP})
]


class Purge(Schema):
    """What to purge, one bounded step of it: repeat with ``cursor`` until there is no next one.

    :param end_date: what is as old as this or older, inclusive; at most the moment of the first step.
    :param namespace: this namespace and its dotted children: ``a.b`` covers ``a.b.c``, never ``a.b_other``.
    :param asset_id: the asset's id, or a former one.
    :param asset_type: any of these types, compared exactly.
    :param metadata_query: conditions on top-level metadata keys, all of which must hold.
    :param purge_assets: assets, deleted ones too; locked ones stay.
    :param purge_asset_events: events which every reader of the log has read.
    :param dry_run: count only.
    :param limit: records that one step purges at most.
    :raises InvalidQuery: a filter that one of the chosen kinds of records cannot be asked for; names the
        switch to turn off.
    """

    end_date: Utc
    namespace: Namespace | None = None
    asset_id: AssetId | None = None
    asset_type: list[AssetType] | None = None
    metadata_query: list[MetadataCondition] = Field(default_factory=list)
    purge_assets: bool = True
    purge_asset_usages: bool = True
    purge_asset_lineages: bool = True
    purge_asset_events: bool = False
    dry_run: bool = False
    limit: StepLimit = 20_000
    cursor: str | None = None

    @model_validator(mode="after")
    def _can_be_expressed(self) -> Self:
        for switch, (record, filters) in _CANNOT.items():
            given = [name for name in filters if getattr(self, name) not in (None, [])]
            if getattr(self, switch) and given:
                raise InvalidQuery(
                    f"{' and '.join(given)} cannot choose among {record}s: a {record} has no such member."
                    if record != "event"
                    else "metadata_query cannot choose among events: their metadata is not indexed.",
                    hint=f"Turn {switch} off, or leave {' and '.join(given)} out.",
                    field=given[0],
                    switch=switch,
                )
        return self


class LogReader(Schema):
    """A reader of the log that has not read everything.

    :param kind: ``dag``, ``sensor``, or what else follows the log. :param seq: it has read up to here.
    :param updated: when it last moved.
    """

    kind: str
    name: str
    seq: int
    updated: Utc


class PurgeResult(Schema):
    """What one step purged; a count is null where its switch is off.

    :param locked_assets_count: assets that stay because they are locked.
    :param kept_for_readers_count: events and lineage events that stay because a reader still needs them.
    :param readers: those readers, the furthest behind first, at most 100.
    :param idle_readers: readers that no longer count: something has waited for them for 7 days.
    :param next_cursor: where the next step goes on; null at the end.
    """

    purged_assets_count: int | None = None
    purged_asset_usages_count: int | None = None
    purged_asset_lineages_count: int | None = None
    purged_asset_events_count: int | None = None
    locked_assets_count: int = 0
    kept_for_readers_count: int = 0
    readers: list[LogReader] = Field(default_factory=list)
    idle_readers: list[LogReader] = Field(default_factory=list)
    next_cursor: str | None = None

    def after(self, earlier: PurgeResult | None) -> PurgeResult:
        """Return the result of this step and all earlier ones together.

        >>> PurgeResult(purged_assets_count=2).after(PurgeResult(purged_assets_count=3)).purged_assets_count
        5
        """
        if earlier is None:
            return self
        counts = {
            name: None if ours is None else ours + (getattr(earlier, name) or 0)
            for name in COUNTS
            for ours in [getattr(self, name)]
        }
        readers = {(one.kind, one.name): one for one in (*earlier.readers, *self.readers)}
        idle = {(one.kind, one.name): one for one in (*earlier.idle_readers, *self.idle_readers)}
        return self.model_copy(
            update={**counts, "readers": list(readers.values()), "idle_readers": list(idle.values())}
        )

    @property
    def purged(self) -> int:
        """All records that were purged."""
        return sum(getattr(self, name) or 0 for name in PURGED)


PURGED = (
    "purged_assets_count",
    "purged_asset_usages_count",
    "purged_asset_lineages_count",
    "purged_asset_events_count",
)
COUNTS = (*PURGED, "locked_assets_count", "kept_for_readers_count")
