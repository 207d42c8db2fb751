"""Write docs/configuration.md anew: ``python -m scripts.write_configuration``, when a test says so."""

from __future__ import annotations

import textwrap
from pathlib import Path

from airflow_assets.config import OPTIONS, SECTION, Option

TARGET = Path(__file__).parents[1] / "docs" / "configuration.md"
HEAD = f"""\
# Configuration

All options of the section `[{SECTION}]` of `airflow.cfg`. Each can be given by an environment variable
instead (`enabled`: `AIRFLOW__{SECTION.upper()}__ENABLED`). `airflow config list --section {SECTION}` shows
what holds on a host, `airflow assets-catalog doctor` names an option that cannot be read. Give all components
of one Airflow the same values.

"""


def text() -> str:
    """Return the page."""
    return HEAD + "\n".join(_section(option) for option in OPTIONS.values())


def _section(option: Option) -> str:
    default = f"`{option.default}`" if option.default else "empty"
    article = "An" if option.type[0] in "aeiou" else "A"
    lines = [
        f"## `{option.name}`",
        "",
        textwrap.fill(option.description, 120),
        "",
        f"{article} {option.type}; default {default}.",
    ]
    if option.example:
        lines += ["", "```ini", f"[{SECTION}]", f"{option.name} = {option.example}", "```"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
