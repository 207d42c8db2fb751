"""An asset's page: what it is, what happened to it, who holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.ui.test_catalogue import ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ui.pages import Visitor

    Visit = Callable[..., Visitor]


def test_the_overview_tells_what_it_is_and_what_surrounds_it(visit: Visit) -> None:
    asset = visit().asset("sales.orders")
    expect(asset.heading("Orders")).to_be_visible()
    metadata = asset.section("Metadata").first
    for words in ("12345678901234567890", "number", "list", "bigint", "boolean"):
        expect(metadata).to_contain_text(words)
    expect(asset.section("Made by")).to_contain_text("load · clean")
    expect(asset.section("Made from")).to_contain_text("raw.customers")
    expect(asset.section("Used by")).to_contain_text("report · build")
    expect(asset.section("Used by")).to_contain_text("mart.revenue")
    asset.section("Made from").get_by_role("link", name="raw.orders").click()
    expect(asset.heading("raw.orders")).to_be_visible()


def test_a_description_is_markdown_and_never_a_script(visit: Visit) -> None:
    asset = visit().asset("sales.orders")
    text = asset.section("Description")
    expect(text.get_by_role("heading", name="Orders")).to_be_visible()
    expect(text.get_by_role("table")).to_contain_text("in cents")
    expect(text.get_by_role("link", name="the contract")).to_have_attribute(
        "href", "https://example.com/orders"
    )
    expect(text).to_contain_text("<script>window.hacked = true</script>")
    expect(text).to_contain_text("[not a link](javascript:alert(1))")
    assert text.locator("script, img, iframe").count() == 0
    assert asset.page.evaluate("window.hacked") is None


def test_the_events_are_live(visit: Visit, site: str) -> None:
    ask(site, "POST", "/upsert", {"id": "ui.live", "type": "t", "metadata": {"n": 1}})
    asset = visit().asset("ui.live", tab="events")
    events = asset.section("Events")
    expect(events.get_by_role("row")).to_have_count(2)
    ask(site, "PUT", "/assets/ui.live", {"metadata": {"n": 2}})
    expect(events.get_by_role("row")).to_have_count(3)  # without a reload
    expect(events.get_by_role("row").nth(1)).to_contain_text("metadata.n")
    asset.page.get_by_role("button", name="CREATED").click()
    expect(events.get_by_role("row")).to_have_count(2)
    assert "event=CREATED" in asset.page.url


def test_an_event_is_replayed_and_the_answer_is_shown(visit: Visit) -> None:
    asset = visit("op").asset("sales.customers", tab="events")
    asset.section("Events").get_by_role("button", name="Replay").first.click()
    dialog = asset.page.get_by_role("dialog", name="Replay this event?")
    dialog.get_by_role("button", name="Replay").click()
    expect(dialog.get_by_role("status")).to_contain_text("No Dag is scheduled on such an event")
    expect(dialog.get_by_role("button", name="Replay")).to_be_disabled()


def test_the_history_shows_from_what_to_what(visit: Visit) -> None:
    asset = visit().asset("sales.orders", tab="history")
    row = asset.page.get_by_role("row").filter(has_text="analytics")
    expect(row.get_by_role("cell")).to_have_text(["metadata.owner", "data", "analytics"])
    expect(asset.page.get_by_role("row").filter(has_text="1312")).to_contain_text("1250")


def test_the_runs_say_who_read_and_who_wrote(visit: Visit) -> None:
    asset = visit().asset("sales.orders", tab="runs")
    runs = asset.section("Runs")
    expect(runs.get_by_role("row").filter(has_text="wrote")).to_have_count(3)
    expect(runs.get_by_role("row").filter(has_text="failed")).to_have_count(1)
    asset.page.get_by_label("What they did").select_option("Read")
    expect(runs.get_by_role("row").filter(has_text="wrote")).to_have_count(0)
    expect(runs.get_by_role("link", name="report · build")).to_have_attribute(
        "href", "/dags/report/runs/r1/tasks/build"
    )


def test_a_person_locks_and_gives_up_the_lock(visit: Visit, site: str) -> None:
    ask(site, "POST", "/upsert", {"id": "ui.lock", "type": "t"})
    asset = visit("op").asset("ui.lock")
    asset.page.get_by_role("button", name="Lock").click()
    asset.page.get_by_label("For", exact=True).select_option("1 hour")
    asset.page.get_by_role("dialog").get_by_role("button", name="Lock").click()
    banner = asset.section("Lock")
    expect(banner).to_contain_text("Locked by you")
    expect(banner).to_contain_text("for another 59 min")
    banner.get_by_role("button", name="Unlock").click()
    asset.page.get_by_role("dialog").get_by_role("button", name="Unlock").click()
    expect(banner).to_have_count(0)
    assert ask(site, "GET", "/locks?assetId=ui.lock")["items"] == []


def test_a_lock_is_taken_only_with_a_reason_and_that_is_recorded(visit: Visit, site: str) -> None:
    ask(site, "POST", "/upsert", {"id": "ui.forced", "type": "t"})
    ask(site, "POST", "/locks/acquire", {"assetIds": ["ui.forced"]})
    asset = visit("op").asset("ui.forced")
    banner = asset.section("Lock")
    expect(banner).to_contain_text("Locked by admin")
    banner.get_by_role("button", name="Unlock by force").click()
    dialog = asset.page.get_by_role("alertdialog", name="Unlock by force?")
    expect(dialog.get_by_role("button", name="Unlock by force")).to_be_disabled()
    dialog.get_by_label("Reason").fill("The holder is on holiday.")
    dialog.get_by_role("button", name="Unlock by force").click()
    expect(banner).to_have_count(0)
    asset.visitor.open("plugin/asset-catalogue/locks")
    forced = asset.page.get_by_role("region", name="Forced unlocks")
    row = forced.get_by_role("row").filter(has_text="ui.forced")
    for words in ("admin", "op (ui)", "The holder is on holiday."):
        expect(row).to_contain_text(words)


def test_a_locked_asset_tells_a_viewer_and_offers_nothing(visit: Visit) -> None:
    asset = visit("viewer").asset("mart.revenue")
    expect(asset.section("Lock")).to_contain_text("Locked by tester")
    assert asset.page.get_by_role("button", name="Unlock").count() == 0
    asset.visitor.open("plugin/asset-catalogue/locks")
    expect(asset.section("Locks")).to_contain_text("tester")


def test_an_unknown_asset_is_said_so(visit: Visit) -> None:
    visitor = visit()
    visitor.expects = {404}
    asset = visitor.asset("no.such.asset")
    expect(asset.page.get_by_role("alert")).to_contain_text("no.such.asset")


def test_the_tabs_of_airflows_pages_show_what_was_touched_there(visit: Visit) -> None:
    visitor = visit("viewer")
    runs = visitor.page.get_by_role("region", name="Runs")
    tab = "plugin/asset-catalogue"
    visitor.open(f"dags/report/{tab}-dag")
    expect(runs.get_by_role("row")).to_have_count(1 + 5)
    expect(runs).to_contain_text("mail.weekly-report")
    visitor.open(f"dags/load/runs/2026-11-29/{tab}-dag_run")
    expect(runs.get_by_role("row")).to_have_count(1 + 4)
    visitor.open(f"dags/load/runs/2026-11-29/tasks/extract/{tab}-task_instance")
    expect(runs.get_by_role("row")).to_have_count(1 + 1)
    runs.get_by_role("link", name="raw.orders").click()
    expect(visitor.page.get_by_role("heading", name="raw.orders", level=1)).to_be_visible()
    visitor.open(f"dags/nothing/{tab}-dag")
    expect(visitor.page.get_by_text("No assets yet")).to_be_visible()
