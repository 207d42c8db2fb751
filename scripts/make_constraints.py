"""Write constraints/*.txt: one resolution of pyproject.toml each, with markers for every supported Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "# Written by `make constraints`; do not edit.\n"


def resolve(output: Path, *extra: str) -> None:
    """Resolve from nothing, so that yesterday's pins do not hold back today's."""
    command = [
        os.environ.get("UV", "uv"), "pip", "compile", "--quiet", "--universal", "--python-version", "3.10",
        "--upgrade", "--all-extras", "--group", "dev", "--no-header", "--no-annotate", "--no-emit-find-links",
        "pyproject.toml", *extra,
    ]  # fmt: skip
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if "://" in text:
        sys.exit(f"{output.name}: a resolved package carries an address; constraints name versions only")
    output.write_text(HEADER + text)
    print(f"{output.relative_to(ROOT)}: {text.count('==')} pins")


if __name__ == "__main__":
    resolve(ROOT / "constraints" / "dev.txt")
    resolve(ROOT / "constraints" / "oldest.txt", "constraints/oldest.in")
