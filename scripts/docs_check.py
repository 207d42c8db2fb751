"""Check the documentation: relative links resolve, Python blocks compile."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every page that is a part of the documentation."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def anchors(page: Path) -> set[str]:
    """The anchors that a forge makes of a page's headings."""
    headings = re.findall(r"^#+ +(.+?)\s*$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """What is wrong with the page's links into this repository."""
    found = []
    for match in LINK.finditer(FENCE.sub("", page.read_text())):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            found.append(f"link to {target}: there is no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            found.append(f"link to {target}: there is no such heading")
    return found


def broken_blocks(page: Path) -> list[str]:
    """The page's Python blocks that do not compile."""
    found = []
    for match in FENCE.finditer(page.read_text()):
        if match.group(1) not in ("python", "py"):
            continue
        try:
            compile(match.group(2), str(page), "exec")
        except SyntaxError as error:
            found.append(f"Python block, line {error.lineno}: {error.msg}")
    return found


def main() -> int:
    """Print every fault and return the exit code."""
    checked = pages()
    faults = [
        f"{page.relative_to(ROOT)}: {fault}"
        for page in checked
        for fault in broken_links(page) + broken_blocks(page)
    ]
    print(
        "\n".join(faults)
        if faults
        else f"{len(checked)} pages: every link resolves, every Python block compiles"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
