"""The table of all assets: asked for, counted, sorted, paged, created and deleted; its state is its address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
from playwright.sync_api import expect

from airflow_assets.schemas.operations import API_PREFIX
from tests.support.ui_data import ODD
from tests.ui.conftest import token_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ui.pages import Visitor

    Visit = Callable[..., Visitor]


def ask(site: str, method: str, path: str, body: Any = None) -> Any:
    """Ask the API itself, as its admin."""
    headers = {"Authorization": f"Bearer {token_of('admin')}"}
    answer = httpx.request(method, f"{site}{API_PREFIX}{path}", headers=headers, json=body, timeout=60)
    answer.raise_for_status()
    return answer.json() if answer.content else None


def test_each_asset_has_a_row_that_says_what_it_is(visit: Visit) -> None:
    catalogue = visit().catalogue(q="sales.")
    row = catalogue.row("Orders")
    for words in ("sales.orders", "Table", "sales"):
        expect(row).to_contain_text(words)
    expect(row.get_by_title("Fresh: written", exact=False)).to_be_visible()
    expect(catalogue.row("sales.stale").get_by_title("Stale: written", exact=False)).to_be_visible()
    mart = catalogue.visitor.catalogue(q="mart.revenue")
    expect(mart.table).to_contain_text("Locked")
    expect(mart.table.get_by_title("Locked by tester until", exact=False)).to_be_visible()


def test_facets_count_and_filter_and_the_address_says_so(visit: Visit) -> None:
    catalogue = visit().catalogue()
    expect(catalogue.facet("Namespace", "lake")).to_contain_text("60")
    catalogue.facet("Namespace", "lake").click()
    expect(catalogue.filters).to_contain_text("60 assets")
    expect(catalogue.facet("Namespace", "lake")).to_have_attribute("aria-pressed", "true")
    catalogue.page.get_by_label("Count by a metadata key").select_option("owner")
    expect(catalogue.facet("owner", "platform")).to_contain_text("40")
    catalogue.facet("owner", "platform").click()
    expect(catalogue.filters).to_contain_text("40 assets")
    asked = parse_qs(urlsplit(catalogue.page.url).query)
    assert asked == {"namespace": ["lake"], "facet": ["owner"], "where": ['owner = "platform"']}
    catalogue.page.reload()
    expect(catalogue.filters).to_contain_text("40 assets")
    catalogue.page.go_back()
    expect(catalogue.filters).to_contain_text("60 assets")


def test_the_query_bar_speaks_the_grammar_of_the_command_line(visit: Visit) -> None:
    catalogue = visit().catalogue()
    catalogue.search(where="tier >= 1 and owner in (data, analytics) and region not exists")
    expect(catalogue.filters).to_contain_text("4 assets")
    catalogue.shows(["raw.customers", "raw.orders", "sales.customers", "Orders"])
    catalogue.search(where="exact = 12345678901234567890")
    expect(catalogue.filters).to_contain_text("1 asset")
    catalogue.shows(["Orders"])  # no digit is lost on the way
    catalogue.search(where="tier >=")
    expect(catalogue.page.get_by_text("expected a value")).to_be_visible()
    expect(catalogue.page.get_by_label("Metadata", exact=True)).to_have_attribute("aria-invalid", "true")


def test_the_query_bar_completes_keys_and_operators(visit: Visit) -> None:
    catalogue = visit().catalogue()
    bar = catalogue.page.get_by_label("Metadata", exact=True)
    options = catalogue.page.locator("datalist option")
    bar.fill("ti")
    expect(options).to_have_count(1)
    assert options.evaluate_all("all => all.map(one => one.value)") == ["tier "]
    bar.fill("tier ")
    expect(catalogue.page.locator('datalist option[value="tier >= "]')).to_have_count(1)
    bar.fill("tier >= 2 and own")
    expect(catalogue.page.locator('datalist option[value="tier >= 2 and owner "]')).to_have_count(1)


def test_free_text_finds_and_nothing_found_leads_back(visit: Visit) -> None:
    catalogue = visit().catalogue()
    catalogue.search(text="lake.part-007")
    expect(catalogue.row("lake.part-007")).to_be_visible()
    catalogue.shows(["lake.part-007"])
    catalogue.search(text="no such thing")
    expect(catalogue.page.get_by_text("No asset fits")).to_be_visible()
    catalogue.page.get_by_role("button", name="Show all assets").click()
    expect(catalogue.row("lake.part-000")).to_be_visible()


def test_pages_and_orders_are_the_servers(visit: Visit) -> None:
    catalogue = visit().catalogue(namespace="lake")
    expect(catalogue.row("lake.part-000")).to_be_visible()
    catalogue.shows([f"lake.part-{at:03}" for at in range(50)])
    catalogue.page.get_by_role("button", name="Next page").click()
    expect(catalogue.row("lake.part-050")).to_be_visible()
    catalogue.shows([f"lake.part-{at:03}" for at in range(50, 60)])
    catalogue.page.get_by_role("button", name="First page").click()
    expect(catalogue.row("lake.part-000")).to_be_visible()
    catalogue.page.get_by_role("button", name="Asset", exact=True).click()
    expect(catalogue.row("lake.part-059")).to_be_visible()
    catalogue.shows([f"lake.part-{at:03}" for at in range(59, 9, -1)])
    heading = catalogue.page.get_by_role("columnheader", name="Asset")
    expect(heading).to_have_attribute("aria-sort", "descending")


def test_columns_are_chosen(visit: Visit) -> None:
    catalogue = visit().catalogue(namespace="lake")
    catalogue.page.get_by_role("button", name="Columns").click()
    catalogue.page.get_by_role("menuitemcheckbox", name="bytes").click()
    catalogue.page.get_by_role("menuitemcheckbox", name="Lock").click()
    catalogue.page.keyboard.press("Escape")
    expect(catalogue.page.get_by_role("columnheader", name="bytes")).to_be_visible()
    expect(catalogue.page.get_by_role("columnheader", name="Lock")).to_have_count(0)
    expect(catalogue.row("lake.part-007")).to_contain_text("7000")
    catalogue.page.reload()
    expect(catalogue.page.get_by_role("columnheader", name="bytes")).to_be_visible()


def test_an_odd_id_leads_to_its_page(visit: Visit) -> None:
    visitor = visit()
    catalogue = visitor.catalogue(q="ordérs/part")
    catalogue.row(ODD).get_by_role("link").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(ODD)
    visitor.page.reload()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(ODD)


def test_an_asset_is_created_and_a_used_id_refused(visit: Visit, site: str) -> None:
    visitor = visit("op")
    visitor.expects = {409}
    catalogue = visitor.catalogue()
    page = catalogue.page
    page.get_by_role("button", name="Create asset").click()
    dialog = page.get_by_role("dialog", name="Create an asset")
    dialog.get_by_label("Id").fill("sales.orders")
    dialog.get_by_role("button", name="Create asset").click()
    expect(dialog.get_by_role("alert")).to_contain_text("sales.orders")
    dialog.get_by_label("Id").fill("ui.created")
    dialog.get_by_label("Metadata").fill("{")
    expect(dialog.get_by_text("This is not a JSON object")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create asset")).to_be_disabled()
    dialog.get_by_label("Metadata").fill('{"big": 98765432109876543210}')
    dialog.get_by_role("button", name="Create asset").click()
    expect(page.get_by_role("heading", name="ui.created", level=1)).to_be_visible()
    headers = {"Authorization": f"Bearer {token_of('admin')}"}
    stored = httpx.get(f"{site}{API_PREFIX}/assets/ui.created", headers=headers).text
    assert json.loads(stored)["metadata"]["big"] == 98765432109876543210
    events = ask(site, "GET", "/events?assetId=ui.created")["items"]
    assert [(event["event"], event["source"]["kind"], event["source"]["user"]) for event in events] == [
        ("CREATED", "ui", "op")
    ]


def test_chosen_assets_are_deleted_after_a_question_and_locked_ones_stay(visit: Visit, site: str) -> None:
    for name in ("ui.gone-1", "ui.gone-2", "ui.kept"):
        ask(site, "POST", "/upsert", {"id": name, "type": "t"})
    ask(site, "POST", "/locks/acquire", {"assetIds": ["ui.kept"]})
    catalogue = visit("op").catalogue(q="ui.")
    page = catalogue.page
    for name in ("ui.gone-1", "ui.gone-2", "ui.kept"):
        catalogue.choose(name)
    page.get_by_role("button", name="Delete 3 assets").click()
    question = page.get_by_role("alertdialog", name="Delete 3 assets?")
    expect(question).to_contain_text("ui.gone-2")
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    assert ask(site, "GET", "/assets?ids=ui.gone-1")["items"]
    page.get_by_role("button", name="Delete 3 assets").click()
    question.get_by_role("button", name="Delete 3 assets").click()
    refused = page.get_by_role("alertdialog").get_by_role("alert")  # its question is now about one asset
    expect(refused).to_contain_text("ui.kept")
    left = ask(site, "GET", "/assets?q=ui.")["items"]
    assert {one["id"] for one in left} & {"ui.gone-1", "ui.gone-2", "ui.kept"} == {"ui.kept"}


def test_who_may_only_look_sees_no_control_that_would_be_refused(visit: Visit) -> None:
    catalogue = visit("viewer").catalogue(q="sales.")
    expect(catalogue.row("Orders")).to_be_visible()
    expect(catalogue.page.get_by_role("button", name="Columns")).to_be_visible()
    assert catalogue.page.get_by_role("checkbox").count() == 0
    assert catalogue.page.get_by_role("button", name="Create asset").count() == 0


def test_a_server_that_is_down_is_said_and_asked_again(visit: Visit) -> None:
    visitor = visit()
    visitor.expects = {500}
    problem = {"type": "urn:airflow-assets:problem:internal", "title": "Internal error", "status": 500,
               "detail": "It broke.", "hint": "Ask your administrator.", "logId": "0123"}  # fmt: skip
    broken = {"times": 1}

    def answer(route: Any) -> None:
        if broken["times"]:
            broken["times"] -= 1
            route.fulfill(status=500, content_type="application/problem+json", body=json.dumps(problem))
        else:
            route.continue_()

    visitor.page.route("**/api/v1/facets", lambda route: route.continue_())
    visitor.page.route(lambda url: url.endswith("/api/v1/search"), lambda route: (
        answer(route) if '"limit":50' in (route.request.post_data or "") else route.continue_()
    ))  # fmt: skip
    visitor.open()
    card = visitor.page.get_by_role("main").get_by_text("It broke.")
    expect(card).to_be_visible()
    expect(visitor.page.get_by_text("In the server's log: 0123")).to_be_visible()
    visitor.page.get_by_role("button", name="Try again").click()
    expect(visitor.page.get_by_role("link", name="lake.part-000")).to_be_visible()
