"""What a person sees and does on the pages, so that tests say what and not how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Request, Response

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
PAGE = "plugin/asset-catalogue"
PATIENCE = 90_000
"""Milliseconds that a page may take on a busy machine."""


class Visitor:
    """One person's browser window. `expects` names the refusals a test provokes: the browser reports them too."""

    def __init__(self, browser: Browser, address: str, token: str, mode: str, width: int) -> None:
        self.address = address.rstrip("/")
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if mode == "dark" else "light",
            locale="en-GB",
            timezone_id="UTC",
        )
        origin = f"{urlsplit(address).scheme}://{urlsplit(address).netloc}"
        self.context.add_cookies(
            [
                {"name": "_token", "value": token, "url": origin},
                {"name": "mode", "value": mode, "url": origin},
            ]
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.expects: set[int] = set()
        self.requests: list[str] = []
        self._problems: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self._problems.append(str(error)))
        self.page.on("request", self._request)
        self.page.on("response", self._response)

    def _console(self, message: Any) -> None:
        refused = message.text.startswith("Failed to load resource: the server responded with a status of ")
        if message.type in {"error", "warning"} and not refused:
            self._problems.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expects:
            self._problems.append(f"{response.request.method} {response.url}: {response.status}")

    def leave(self) -> list[str]:
        """Close the window; returns what went wrong in it."""
        foreign = [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]
        self.context.close()
        return [*self._problems, *(f"asked a foreign server: {url}" for url in foreign)]

    def open(self, path: str = PAGE, **parameters: str) -> Visitor:
        """Open one of the pages, or an address of Airflow."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        self.page.goto(f"{self.address}/{path}{query}")
        return self

    def catalogue(self, **parameters: str) -> Catalogue:
        """The table of all assets."""
        self.open(**parameters)
        self.page.get_by_role("heading", name="Catalogue", level=1).wait_for()
        return Catalogue(self)

    def asset(self, asset_id: str, tab: str = "") -> AssetView:
        """An asset's page."""
        self.open(f"{PAGE}/asset", id=asset_id, **({"tab": tab} if tab else {}))
        return AssetView(self)

    def violations(self, inside: str = "html") -> list[str]:
        """What axe finds of level serious or above inside an element, with the element it finds it in."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("inside => axe.run(inside, {resultTypes: ['violations']})", inside)
        return [
            f"{rule['id']}: {node['html'][:300]} ({node['failureSummary'][:400]})"
            for rule in found["violations"]
            if rule["impact"] in {"serious", "critical"}
            for node in rule["nodes"]
        ]


class Catalogue:
    """The table of all assets, with its filters."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page = visitor.page
        self.table = self.page.get_by_role("region", name="Assets")
        self.filters = self.page.get_by_role("complementary", name="Filters")

    def row(self, name: str) -> Locator:
        """The row of an asset, by the words of its link."""
        return self.table.get_by_role("row").filter(has=self.page.get_by_role("link", name=name, exact=True))

    def shows(self, names: list[str]) -> None:
        """Wait until the rows are called so, top to bottom."""
        expect(self.table.locator("tbody a")).to_have_text(names, timeout=PATIENCE)

    def search(self, text: str = "", where: str = "") -> None:
        """Fill the search bar and press Enter."""
        self.page.get_by_label("Text").fill(text)
        self.page.get_by_label("Metadata", exact=True).fill(where)
        self.page.get_by_label("Metadata", exact=True).press("Enter")

    def facet(self, title: str, value: str) -> Locator:
        """The button of a facet's value."""
        section = self.filters.get_by_role("region", name=title, exact=True)
        return section.get_by_role("button", name=value)

    def choose(self, asset_id: str) -> None:
        """Tick an asset's box."""
        self.page.get_by_role("checkbox", name=f"Choose {asset_id}", exact=True).check(force=True)


class AssetView:
    """An asset's page."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page = visitor.page

    def heading(self, name: str) -> Locator:
        """Its title."""
        return self.page.get_by_role("heading", name=name, level=1, exact=True)

    def section(self, name: str) -> Locator:
        """A part of the overview."""
        return self.page.get_by_role("region", name=name, exact=True)

    def tab(self, name: str) -> None:
        """Go to a tab."""
        self.page.get_by_role("tab", name=name).click()
        self.page.get_by_role("tabpanel", name=name).wait_for()
