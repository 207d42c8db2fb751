"""Write docs/authoring-parity.md anew: ``python -m scripts.write_parity``, when a test says so."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.parity.facts import RIVERS, Row, rows
from scripts.parity.statuses import LIMITS, Status, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = Path(__file__).parents[1] / "docs" / "authoring-parity.md"
ORDER = ("same", "better", "not on Airflow", "not yet")
HEAD = f"""\
# Assets written in Python, beside {RIVERS}

Every public name, parameter, default and error type of {RIVERS}, as its installed package tells them, and of
the page about assets in its documentation; and what this package has under that name.

* **same**: name, parameters, their order, kinds and defaults are the same; a test compares them, and
  what both give for a list of expressions.
* **better**: it is there, and differs on purpose; the last column says how.
* **not on Airflow**: it is not there; the last column says what is instead.
* **not yet**: it is missing.

In a signature `...` stands for a default that is not shown there. What only the page has is marked so.
`python -m scripts.write_parity` writes this page.

"""


def text() -> str:
    """Return the page."""
    found = rows()
    counted = Counter(_status(row).name for row in found)
    lines = ["| status | names and parameters |", "|---|---|"]
    lines += [f"| {name} | {counted[name]} |" for name in ORDER]
    missing = sorted({row.top for row in found if _status(row).name == "not yet"})
    told = ", ".join(f"`{name}`" for name in missing) or "nothing"
    limits = "\n".join(f"* `{name}`: {what}" for name, what in LIMITS.items())
    parts = [
        HEAD + "\n".join(lines),
        f"Missing, in whole or in part: {told}.",
        f"There by their names, and not in all they do:\n\n{limits}",
    ]
    parts += [_section(top, list(of_top)) for top, of_top in groupby(found, key=lambda row: row.top)]
    return "\n\n".join(parts) + "\n"


def _section(top: str, of_top: list[Row]) -> str:
    lines = [f"## `{top}`", "", "| name | status | |", "|---|---|---|"]
    return "\n".join([*lines, *_table(of_top)])


def _table(of_top: list[Row]) -> Iterator[str]:
    """A line for each callable with the parameters of its status, and one for attributes of one status."""
    own = [row for row in of_top if row.parameter is None]
    parameters = [row for row in of_top if row.parameter is not None]
    for row in (row for row in own if row.what not in {"attribute", "member", "name"}):
        of_row = [one for one in parameters if one.owner == row.path]
        alike = [one for one in of_row if (_status(one), _where(one)) == (_status(row), _where(row))]
        yield _line([_shown(row, alike)], row)
        for one in of_row:
            if one not in alike:
                yield _line([one.path], one)
    plain = [row for row in own if row.what in {"attribute", "member", "name"}]
    plain.sort(key=lambda row: (row.path.rpartition(".")[0], ORDER.index(_status(row).name), _where(row)))
    for _, group in groupby(plain, key=lambda row: (row.path.rpartition(".")[0], _status(row), _where(row))):
        members = list(group)
        yield _line([row.path for row in members], members[0])


def _line(names: list[str], row: Row) -> str:
    status = _status(row)
    told = ", ".join(f"`{name}`" for name in names)
    return f"| {told}{_where(row)} | {status.name} | {status.why} |"


def _shown(row: Row, alike: list[Row]) -> str:
    """A callable with its parameters, keyword-only ones after a star."""
    given, starred = [], False
    for one in (one.parameter for one in alike if one.parameter):
        if one.kind == "keyword" and not starred:
            given.append("*")
            starred = True
        given.append(one.name if one.default is None else f"{one.name}={one.default}")
    callable_ = row.what in {"function", "method", "class method"} or row.signature is not None
    return f"{row.path}({', '.join(given)})" if callable_ else row.path


def _where(row: Row) -> str:
    return "" if RIVERS in row.sources else " (page)"


def _status(row: Row) -> Status:
    return status_of(row) or Status("?", "it is not in scripts/parity/statuses.py")


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
