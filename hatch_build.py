"""The README as a package index shows it: there, links into the repository would lead nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_INTO_REPOSITORY = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z][a-z+.-]*:|#)([^)\s]+)\)")


class Readme(MetadataHookInterface):
    """Makes `readme`, which `pyproject.toml` therefore calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme; links lead to `[project.urls] Source` where the project has one."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source", "")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, source)}


def for_index(text: str, source: str = "") -> str:
    """Return a page with its relative links below `source`; without one, with their words alone.

    >>> for_index("See [events](docs/events.md).")
    'See events.'
    """

    def link(match: re.Match[str]) -> str:
        image, words, path = match.groups()
        if source:
            kind = "raw" if image else "blob"
            return f"{image}[{words}]({source.rstrip('/')}/{kind}/main/{path})"
        return "" if image else words

    return _INTO_REPOSITORY.sub(link, text)
