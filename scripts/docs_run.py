"""Run the documentation's Python blocks against the Airflow of this environment, page by page.

The blocks of one page share their names, as a reader who copies them would have it. A block that cannot run
by itself is preceded by a line `<!-- not run: why -->`; it is still compiled.
"""

from __future__ import annotations

import re
import sys
import traceback
from typing import TYPE_CHECKING

from scripts.docs_check import FENCE, ROOT, pages

if TYPE_CHECKING:
    from pathlib import Path

NOT_RUN = re.compile(r"<!-- not run: (.+) -->\s*\Z")


def run_page(page: Path) -> tuple[int, list[str]]:
    """Return how many blocks of the page ran, and what went wrong."""
    text = page.read_text()
    names: dict[str, object] = {"__name__": "__docs__", "__file__": str(page)}
    ran, faults = 0, []
    for match in FENCE.finditer(text):
        if match.group(1) not in ("python", "py") or NOT_RUN.search(text, 0, match.start()):
            continue
        line = text.count("\n", 0, match.start(2))
        code = compile("\n" * line + match.group(2), str(page), "exec", dont_inherit=True)
        ran += 1
        try:
            exec(code, names)  # noqa: S102 - our own documentation
        except Exception:  # noqa: BLE001 - whatever goes wrong is the block's fault, and is reported
            faults.append(f"{page.relative_to(ROOT)}:{line}: {traceback.format_exc()}")
    return ran, faults


def main() -> int:
    """Print every fault and how much ran; return the exit code."""
    results = [run_page(page) for page in pages()]
    faults = [fault for _, found in results for fault in found]
    print("\n".join([*faults, f"{sum(ran for ran, _ in results)} blocks ran, {len(faults)} failed"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
