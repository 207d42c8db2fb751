"""Every route, as nobody and as every role of both auth managers, is answered as docs/permissions.md says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from airflow_assets.api.permissions import AIRFLOW_METHODS
from airflow_assets.schemas.operations import API_PREFIX, OPERATIONS, Action
from tests.support.permission_walk import ROLES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "permissions.md").read_text(encoding="utf-8")
SYSTEM = ("health", "metrics", "openapi.json", "docs", "rights")
OTHERS = {f"GET {API_PREFIX}/{name}": Action.LIST for name in SYSTEM}
ROUTES = {
    f"{op.method} {API_PREFIX}{op.path}".replace("{asset_id}", "{asset_id:path}"): op.action
    for op in OPERATIONS.values()
} | OTHERS


@pytest.fixture(scope="module", params=sorted(ROLES))
def manager(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def walked(manager: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    home = tmp_path_factory.mktemp(manager)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.permission_walk", manager, str(home)],
        cwd=ROOT, env=kept, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    found: dict[str, dict[str, int]] = json.loads((home / "walk.json").read_text())
    return found


@cache
def documented() -> dict[tuple[str, str], frozenset[Action]]:
    """(manager, role) -> what it may do, as the page's table has it."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if re.match(r"\| (simple|fab) \|", line)
    ]
    actions = [Action(name.strip()) for name in re.search(r"\| manager \| role \|(.+)\|", PAGE)[1].split("|")]  # type: ignore[index]
    return {
        (row[0], row[1]): frozenset(
            action for action, cell in zip(actions, row[2:], strict=True) if cell == "yes"
        )
        for row in rows
    }


def test_the_walk_sees_every_route(walked: dict[str, dict[str, int]]) -> None:
    assert set(walked["anonymous"]) == set(ROUTES)


@pytest.mark.parametrize("nobody", ["anonymous", "impostor"])
def test_no_route_answers_somebody_unknown(walked: dict[str, dict[str, int]], nobody: str) -> None:
    assert set(walked[nobody].values()) == {401}


def test_each_role_gets_exactly_what_the_page_says(manager: str, walked: dict[str, dict[str, int]]) -> None:
    assert set(walked) == {"anonymous", "impostor", *ROLES[manager]}
    for role in ROLES[manager]:
        allowed = documented()[manager, role]
        for route, action in ROUTES.items():
            status = walked[role][route]
            assert (status not in {401, 403}) == (action in allowed), f"{role} {route}: {status}"
            assert status < 500, f"{role} {route}: {status}"


def test_the_page_has_every_operation_with_its_action() -> None:
    for operation in OPERATIONS.values():
        row = f"| `{operation.method} {operation.path}` | {operation.action.value} |"
        assert row in PAGE, row


def test_the_page_has_the_right_that_each_action_needs() -> None:
    for action in Action:
        method = AIRFLOW_METHODS.get(action)
        nobody = f"nobody: {'triggers' if action is Action.REPORT else 'tasks'} only"
        assert f"| {action.value} | {method or nobody} |" in PAGE
