"""Every page, in light and dark, on a desk and on a telephone: no finding of axe; and once through by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.ui.pages import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ui.pages import Visitor

    Visit = Callable[..., Visitor]

PAGES = {
    "catalogue": (PAGE, {"facet": "owner"}, "lake.part-000"),
    "overview": (f"{PAGE}/asset", {"id": "sales.orders"}, "raw.customers"),
    "events": (f"{PAGE}/asset", {"id": "sales.orders", "tab": "events"}, "metadata.rows"),
    "lineage": (f"{PAGE}/asset", {"id": "sales.orders", "tab": "lineage"}, "raw.orders"),
    "runs": (f"{PAGE}/asset", {"id": "sales.orders", "tab": "runs"}, "2026-11-29"),
    "history": (f"{PAGE}/asset", {"id": "sales.orders", "tab": "history"}, "metadata.owner"),
    "locked": (f"{PAGE}/asset", {"id": "mart.revenue"}, "Locked by tester"),
    "locks": (f"{PAGE}/locks", {}, "mart.revenue"),
    "a Dag's tab": (f"dags/load/{PAGE}-dag", {}, "sales.orders"),
}


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_on_any_page(visit: Visit, mode: str, width: int) -> None:
    visitor = visit("op", mode=mode, width=width)
    found: dict[str, list[str]] = {}
    for name, (path, parameters, words) in PAGES.items():
        visitor.open(path, **parameters)
        expect(
            visitor.page.get_by_text(words, exact=True).or_(visitor.page.get_by_text(words)).first
        ).to_be_attached()
        found[name] = visitor.violations()
        wide = visitor.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        if wide > 0:
            found[name].append(f"the page is {wide} px wider than the window of {width}")
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_in_a_dialog(visit: Visit, mode: str) -> None:
    catalogue = visit("op", mode=mode).catalogue()
    catalogue.page.get_by_role("button", name="Create asset").click()
    catalogue.page.get_by_role("dialog").get_by_label("Metadata").fill("{")
    catalogue.page.get_by_text("This is not a JSON object").wait_for()
    assert catalogue.visitor.violations(inside="[role=dialog]") == []  # what is behind it is dimmed


def test_all_is_reached_by_keyboard(visit: Visit) -> None:
    page = visit("op").catalogue().page
    focused = page.locator(":focus")

    def tab_to(role: str, name: str) -> None:
        wanted = page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]
        for _ in range(80):
            page.keyboard.press("Tab")
            if wanted.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"80 times Tab did not lead to the {role} {name!r}")

    page.get_by_role("link", name="lake.part-000").wait_for()
    tab_to("searchbox", "Text")
    page.keyboard.type("Orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="lake.part-000")).to_have_count(0)
    tab_to("link", "Orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Orders", level=1)).to_be_visible()
    tab_to("tab", "Overview")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("region", name="Events")).to_be_visible()
    tab_to("button", "Replay")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Replay this event?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(focused).to_have_text("Replay")  # where it was
