"""Take pictures of the page into docs/images/ui: ``make screenshots``; names after the module choose some.

They show the stand-in for Airflow's page that the tests use, filled with the tests' catalogue: ours alone,
and the same every time but for times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "images" / "ui"
PAGE = "plugin/asset-catalogue"
SHOTS = {
    "catalogue": (f"{PAGE}?facet=owner", "lake.part-000"),
    "asset": (f"{PAGE}/asset?id=sales.orders", "raw.customers"),
    "events": (f"{PAGE}/asset?id=sales.orders&tab=events", "metadata.rows"),
    "lineage": (f"{PAGE}/asset?id=sales.orders&tab=lineage&tasks=yes&depth=3", "load · clean"),
    "history": (f"{PAGE}/asset?id=sales.orders&tab=history", "metadata.owner"),
    "locks": (f"{PAGE}/locks", "mart.revenue"),
}
"""Picture: address, and words that are there once all is."""
WIDTHS = {"": 1280, "-narrow": 390}


def main(wanted: list[str]) -> None:
    """Take the pictures whose names are given; all, if none are."""
    with tempfile.TemporaryDirectory(prefix="aa-shots-") as home:
        os.environ |= _environment(Path(home))
        subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
        from airflow import settings

        settings.initialize()  # type: ignore[no-untyped-call]
        from airflow_assets.airflow_bridge import context
        from tests.support.ui_data import fill
        from tests.support.ui_site import Server, make_site

        site = make_site()
        fill(context.get_service())
        with Server(site) as server:
            _take(server.address, wanted or list(SHOTS))


def _environment(home: Path) -> dict[str, str]:
    from tests.support.airflow_config import secrets_and_users

    return {
        **secrets_and_users(home),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }


def _take(address: str, names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    from tests.support.chromium import FLAGS, find_chromium

    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        for mode in ("light", "dark"):
            for suffix, width in WIDTHS.items():
                _one_window(browser, address, names, (mode, suffix, width))
        browser.close()


def _one_window(browser: Any, address: str, names: list[str], look: tuple[str, str, int]) -> None:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    mode, suffix, width = look
    token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="admin", role="admin"))
    size = {"width": width, "height": 800}
    window = browser.new_context(viewport=size, locale="en-GB", timezone_id="UTC", color_scheme=mode)
    window.add_cookies(
        [
            {"name": name, "value": value, "url": address}
            for name, value in (("_token", token), ("mode", mode))
        ]
    )
    page = window.new_page()
    page.set_default_timeout(120_000)
    for name in names:
        path, words = SHOTS[name]
        page.goto(f"{address}/{path}")
        page.get_by_text(words).first.wait_for(state="attached")
        page.wait_for_load_state("networkidle")
        target = TARGET / f"{name}-{mode}{suffix}.png"
        page.screenshot(path=target)
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1024} kB")
    window.close()


if __name__ == "__main__":
    main(sys.argv[1:])
