"""The page in Airflow's own page: once through, on a real API server with what the plugin told it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.support.airflow_process import AirflowProcess
from tests.ui.pages import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real_airflow


@pytest.fixture(scope="module")
def airflow() -> Iterator[AirflowProcess]:
    with AirflowProcess(components=("api-server",)) as running:
        yield running


def test_airflow_shows_the_page(browser: Browser, airflow: AirflowProcess) -> None:
    metadata = {"owner": "data", "freshness": "PT1H"}
    body = {"id": "sales.orders", "type": "airflow_assets.types.Table", "description": "**All** orders"}
    airflow.api("POST", "/airflow_assets/api/v1/assets", json={**body, "metadata": metadata})
    login = airflow.client.post("/auth/token", json={"username": "admin", "password": "admin"})
    visitor = Visitor(browser, airflow.base_url, login.json()["access_token"], "light", 1280)
    page = visitor.page
    visitor.open("")
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("menuitem", name="Asset catalogue").click()
    expect(page.get_by_role("heading", name="Catalogue", level=1)).to_be_visible()
    page.get_by_role("link", name="sales.orders").click()
    expect(page.get_by_role("heading", name="sales.orders", level=1)).to_be_visible()
    expect(page.locator("strong", has_text="All")).to_be_visible()
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_text("CREATED").last).to_be_visible()
    if shots := os.environ.get("SHOTS"):  # to look at
        page.screenshot(path=f"{shots}/airflow.png")
    assert visitor.violations(inside="[role=tabpanel]") == []
    ours = [
        problem for problem in visitor.leave() if "airflow_assets" in problem or "asset-catalogue" in problem
    ]
    assert ours == []
