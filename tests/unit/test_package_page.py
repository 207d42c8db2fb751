"""What a package index shows of the README leads somewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from scripts.docs_check import LINK

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
assert _spec is not None
assert _spec.loader is not None
hatch_build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hatch_build)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def targets(text: str) -> list[str]:
    return [match.group(1) or match.group(2) for match in LINK.finditer(text)]


def test_no_link_leads_into_the_repository() -> None:
    assert any(target.startswith("docs/") for target in targets(README))
    shown = hatch_build.for_index(README)
    assert [target for target in targets(shown) if not target.startswith(("https:", "#"))] == []
    assert "docs/events.md" in shown  # its words


def test_with_an_address_the_links_lead_there() -> None:
    shown = hatch_build.for_index(README, "https://forge.example/project")
    assert len(targets(shown)) == len(targets(README))
    assert "https://forge.example/project/blob/main/docs/events.md" in targets(shown)
    assert "https://forge.example/project/raw/main/docs/images/overview.svg" in targets(shown)


def test_the_package_is_built_with_it() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '\ndynamic = ["readme"]' in project
    assert '[tool.hatch.metadata.hooks.custom]\npath = "hatch_build.py"\n' in project
