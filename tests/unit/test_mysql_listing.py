"""No MySQL server can run here: the pages that MySQL 8 would be asked for are compiled and compared.

Write the file anew with `GOLDEN=write`; what is in it must be what MySQL 8 takes.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy.dialects import mysql

from airflow_assets.catalog import metadata_sql
from airflow_assets.catalog.listing import Listing, Order
from airflow_assets.catalog.metadata_sql import Driver
from airflow_assets.catalog.tables import asset
from airflow_assets.schemas.queries import AssetFilter, Sort
from tests.support.catalog_rows import CALLER, NOON

if TYPE_CHECKING:
    import pytest

GOLDEN = Path(__file__).parent / "golden" / "mysql_listing.sql"
OWNER = {"field": "owner", "type": "EQUAL_TO", "value": "team3"}
TIER = {"field": "tier", "type": "GREATER_THAN_OR_EQUAL_TO", "value": 2}
PAGES: dict[str, tuple[dict[str, Any], Sort, bool]] = {
    "the first page": ({}, Sort.ID, False),
    "a page after a cursor": ({}, Sort.UPDATED_DESC, True),
    "of one type": ({"types": ["T"]}, Sort.ID, True),
    "with deleted assets": ({"include_deleted": True}, Sort.ID, True),
    "from a frequent value": ({"metadata_query": [OWNER, TIER]}, Sort.ID, True),
    "from a rare value": ({"metadata_query": [OWNER, TIER]}, Sort.CREATED, True),
    "candidates of a pattern": (
        {"metadata_query": [{"field": "k", "type": "REGEX", "value": "x"}]},
        Sort.ID,
        False,
    ),
    "free text": ({"q": "größe"}, Sort.ID, False),
}


def page(query: dict[str, Any], sort: Sort, after: bool) -> str:
    conn = cast("Any", SimpleNamespace(dialect=SimpleNamespace(name="mysql")))
    order = Order(sort)
    seen = ((b"orders" if order.by == "id" else NOON), 7) if after else None
    listing = Listing(conn, CALLER, AssetFilter.model_validate(query))
    statement = listing.page(order, seen, 50, [asset.c.pk, asset.c.id, order.column])
    return "\n".join(line.rstrip() for line in str(statement.compile(dialect=mysql.dialect())).splitlines())


def test_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(conn: Any, conditions: Any, *, by_id: bool) -> Driver | None:
        """What would be counted on a server."""
        if not conditions or conditions[0].field != "owner":
            return None
        return Driver(conditions[0], few=name == "from a rare value", ordered=True)

    monkeypatch.setattr(metadata_sql, "choose_driver", chosen)
    parts = []
    for name, asked in PAGES.items():
        parts.append(f"-- {name}\n{page(*asked)};\n")
    text = "\n".join(parts)
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
