"""The page in a real browser, on the real API, in a stand-in for Airflow's own page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from airflow_assets.ui.bundle import FOLDER
from tests.support.chromium import FLAGS, ChromiumMissingError, find_chromium
from tests.support.databases import allowed_missing
from tests.support.ui_site import STUB, Server, make_site
from tests.ui.pages import PATIENCE, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

ROLES = ("viewer", "user", "op", "admin")
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the run; a missing one is an error unless `ALLOW_MISSING` names it."""
    from playwright.sync_api import sync_playwright

    try:
        path = find_chromium()
    except ChromiumMissingError as missing:
        if "chromium" in allowed_missing():
            pytest.skip(f"ALLOW_MISSING=chromium: {missing}")
        raise
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="session")
def catalogue(airflow_db: str) -> None:
    """Airflow's tables and ours, with something to look at."""
    os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"] = ",".join(f"{role}:{role}" for role in ROLES)
    assert (FOLDER / "build.json").exists(), "the page is not built: run `make ui`"
    assert (STUB / "host.js").exists(), "the stand-in for Airflow's page is not built: run `make ui-tests`"
    from airflow import settings

    settings.initialize()
    from airflow_assets.airflow_bridge import context
    from tests.support.ui_data import fill

    fill(context.get_service())


@pytest.fixture(scope="session")
def site(catalogue: None) -> Iterator[str]:
    """The address of the site."""
    with Server(make_site()) as server:
        yield server.address


@pytest.fixture
def visit(browser: Browser, site: str) -> Iterator[Callable[..., Visitor]]:
    """Opens the page as the user of a role: `visit("viewer", mode="dark")`; errors in the console fail the test."""
    visitors: list[Visitor] = []

    def come(role: str = "admin", *, address: str = site, mode: str = "light", width: int = 1280) -> Visitor:
        visitors.append(Visitor(browser, address, token_of(role), mode, width))
        return visitors[-1]

    yield come
    problems = [problem for visitor in visitors for problem in visitor.leave()]
    assert problems == []


def token_of(role: str) -> str:
    """A session of the user of a role, as Airflow's log-in makes it."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    token: str = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=role, role=role))
    return token
