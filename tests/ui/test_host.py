"""How the page lives in its host: below any base path, with what the host lends, readable where that is not enough."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import httpx
from playwright.sync_api import expect

from airflow_assets.ui.bundle import FOLDER, MOUNT
from tests.support.ui_site import Server, make_site
from tests.ui.pages import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ui.pages import Visitor

    Visit = Callable[..., Visitor]


def test_it_works_below_a_base_path(visit: Visit, catalogue: None) -> None:
    with Server(make_site("/team/airflow/")) as server:
        visitor = visit("admin", address=f"{server.address}/team/airflow")
        table = visitor.catalogue(q="sales.orders")
        table.row("Orders").get_by_role("link").click()
        expect(visitor.page.get_by_role("heading", name="Orders", level=1)).to_be_visible()
        assert "/team/airflow/plugin/asset-catalogue/asset?id=sales.orders" in visitor.page.url
        visitor.page.get_by_role("tab", name="Lineage").click()
        expect(visitor.page.get_by_role("group", name="Lineage")).to_be_visible()
        assert visitor.leave() == []  # nothing was asked for outside of the base path


def test_a_host_that_lacks_something_shows_a_card_that_names_it(visit: Visit) -> None:
    visitor = visit()
    visitor.open(PAGE, withhold="ChakraUI.EmptyState")
    card = visitor.page.get_by_role("alert")
    expect(card).to_contain_text("This Airflow does not have what the asset catalogue needs")
    expect(card).to_contain_text("ChakraUI.EmptyState")


def test_a_file_that_is_gone_shows_a_card(visit: Visit) -> None:
    visitor = visit()
    visitor.expects = {404}
    visitor.page.route("**/App-*.js", lambda route: route.fulfill(status=404))
    visitor.open()
    expect(visitor.page.get_by_role("alert")).to_contain_text("The asset catalogue cannot be shown")
    visitor._problems.clear()  # React itself reports what a boundary has caught


def test_the_files_are_typed_kept_and_public(site: str) -> None:
    entry = json.loads((FOLDER / "build.json").read_text())["entry"]
    answer = httpx.get(f"{site}{MOUNT}/{entry}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    icon = httpx.get(f"{site}{MOUNT}/icon.svg")
    assert icon.headers["content-type"].startswith("image/svg+xml")
    assert icon.headers["cache-control"] == "no-cache"
    again = httpx.get(f"{site}{MOUNT}/icon.svg", headers={"If-None-Match": icon.headers["etag"]})
    assert again.status_code == 304
    for outside in ("..%2fplugin.py", "%2e%2e/plugin.py", "nothing.js"):
        assert httpx.get(f"{site}{MOUNT}/{outside}").status_code == 404


def test_the_first_load_is_small_and_brings_no_second_react(visit: Visit) -> None:
    visitor = visit()
    visitor.catalogue().row("lake.part-000").wait_for()
    loaded = [url.rpartition("/")[2] for url in visitor.requests if MOUNT in url and url.endswith(".js")]
    size = sum(len(gzip.compress((FOLDER / name).read_bytes())) for name in loaded)
    assert 10_000 < size < 150 * 1024
    assert not [name for name in loaded if "elk" in name or "Lineage" in name]
    everything = "".join((FOLDER / name).read_text(encoding="utf-8") for name in loaded)
    assert "react.transitional.element" not in everything
