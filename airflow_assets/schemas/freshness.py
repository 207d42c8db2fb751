"""Which assets a check of freshness looks at, and what it found."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator
from typing_extensions import Self

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.assets import AssetId, AssetType, Namespace
from airflow_assets.schemas.base import Schema, Utc
from airflow_assets.schemas.expectations import Expectation, FreshnessState
from airflow_assets.schemas.metadata_query import MetadataCondition


class FreshnessCheck(Schema):
    """Which assets to look at, and when they are stale.

    :param expectation: of every asset, or of those that say nothing themselves if ``per_asset``.
    :param per_asset: what an asset's metadata says under ``freshness`` comes first; without ``expectation``
        only assets that say something are looked at.
    """

    expectation: Expectation | None = None
    per_asset: bool = False
    asset_id: AssetId | None = None
    namespace: Namespace | None = None
    asset_type: AssetType | None = None
    metadata_query: list[MetadataCondition] = Field(default_factory=list)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.expectation is None and not self.per_asset:
            raise InvalidRequest(
                "Nothing says when an asset is stale.",
                hint="Give max_staleness, a deadline, or per_asset=True to ask the assets themselves.",
                field="max_staleness",
            )
        return self


class CheckedAsset(Schema):
    """An asset that a check found; ``check_time`` is the same for all of a check.

    :param stale_duration: seconds since the last write. :param state: STALE or RECOVERED.
    """

    tenant_id: str
    namespace: str | None
    id: str
    type: str
    display_name: str | None
    description: str | None
    metadata: dict[str, Any]
    created: Utc
    last_updated: Utc
    deleted: bool = False
    stale_duration: float
    check_time: Utc
    state: FreshnessState = FreshnessState.STALE


class FreshnessReport(Schema):
    """All stale assets of one moment, ordered by id."""

    check_time: Utc
    assets: list[CheckedAsset]
