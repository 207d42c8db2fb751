"""Dagster's side of `record`: one `report_runless_asset_event` per record, storage as its docs set it up."""

from __future__ import annotations

import logging

from dagster import AssetKey, AssetMaterialization, DagsterInstance
from loop import serve_records

logging.disable(logging.CRITICAL)


def main() -> None:
    instance = DagsterInstance.get()

    def record(number: int) -> None:
        instance.report_runless_asset_event(
            AssetMaterialization(
                asset_key=AssetKey(f"a{number % 200}"),
                metadata={"rows": number, "owner": f"team{number % 10}", "tier": number % 5},
            )
        )

    serve_records(record)


if __name__ == "__main__":
    main()
