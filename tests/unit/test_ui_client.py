"""The page's client is what the API's document says, and the page takes from Airflow only what it checks for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from airflow_assets.exceptions import InvalidQuery
from airflow_assets.schemas import query_text
from airflow_assets.ui.bundle import NAME, ROUTE
from scripts import write_ui_client

UI = Path(__file__).parents[2] / "ui"
SOURCES = [path for path in (UI / "src").rglob("*.ts*") if path.name != "generated.ts"]


def test_the_client_has_not_drifted_from_the_document() -> None:
    written = write_ui_client.TARGET.read_text(encoding="utf-8")
    assert written == write_ui_client.text(), "python -m scripts.write_openapi"


def imported_from(module: str) -> set[str]:
    names: set[str] = set()
    for path in SOURCES:
        for found in re.finditer(
            rf'import \{{([^}}]*)\}} from "{re.escape(module)}"', path.read_text(encoding="utf-8")
        ):
            parts = (part.strip() for part in found.group(1).split(","))
            names |= {part.split(" as ")[0] for part in parts if part and not part.startswith("type ")}
    return names


def test_the_page_checks_for_all_that_it_takes_from_the_host() -> None:
    text = (UI / "src" / "host" / "needs.ts").read_text(encoding="utf-8")
    for module, constant in (("@chakra-ui/react", "CHAKRA_PARTS"), ("react-router-dom", "ROUTER_PARTS")):
        listed = re.search(rf"{constant} = \[(.*?)\]", text, re.DOTALL)
        assert listed is not None
        assert imported_from(module) == set(re.findall(r'"(\w+)"', listed.group(1)))


def test_page_and_plugin_call_it_the_same() -> None:
    assert f'const NAME = "{NAME}";' in (UI / "src" / "main.tsx").read_text(encoding="utf-8")
    assert f'const ROOT = "/plugin/{ROUTE}";' in (UI / "src" / "state" / "address.ts").read_text(
        encoding="utf-8"
    )


def test_no_source_puts_text_into_the_page_as_html() -> None:
    guilty = [
        path.name
        for path in SOURCES
        if re.search(
            r"dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML", path.read_text(encoding="utf-8")
        )
    ]
    assert SOURCES
    assert guilty == []


def test_the_lock_file_names_versions_and_no_addresses() -> None:
    text = (UI / "package-lock.json").read_text(encoding="utf-8")
    assert '"integrity"' in text
    assert '"resolved"' not in text
    assert "omit-lockfile-registry-resolved=true" in (UI / ".npmrc").read_text(encoding="utf-8")


LINES = json.loads((UI / "tests" / "queryLines.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("line", "wanted"), LINES["read"])
def test_both_parsers_read_the_same(line: str, wanted: list[list[Any]]) -> None:
    # ui/tests/query.test.ts reads the same lines.
    found = [[one.field, one.type.value, one.value] for one in query_text.parse(line)]
    assert found == wanted


@pytest.mark.parametrize(("line", "position"), LINES["refused"])
def test_both_parsers_refuse_the_same(line: str, position: int) -> None:
    with pytest.raises(InvalidQuery, match=f"at position {position}, "):
        query_text.parse(line)
