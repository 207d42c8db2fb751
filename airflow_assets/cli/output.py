"""Results on standard output: a table for people; json, yaml and plain for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airflow_assets.schemas.base import Schema

Columns = dict[str, "Callable[[Any], Any]"]
"""Column name -> what of a row it shows."""
_WIDE = 200


def show_rows(rows: Iterable[Schema], columns: Columns, output: str) -> None:
    """Write rows: all members in json and yaml (camelCase), the columns in table and plain.

    Plain rows are written as they come, so that any number of them can be read.
    """
    if output in {"json", "yaml"}:
        _write_document([row.to_json() for row in rows], output)
        return
    cells = ([_cell(value(row)) for value in columns.values()] for row in rows)
    _write_cells(cells, list(columns), output)


def show_one(row: Schema, output: str) -> None:
    """Write one object: as a document, or member by member."""
    document = row.to_json()
    if output in {"json", "yaml"}:
        _write_document(document, output)
        return
    from airflow_assets.schemas.case import snake

    _write_cells(
        [[snake(name), _cell(value)] for name, value in document.items()], ["member", "value"], output
    )


def show_document(document: Any, cells: list[list[str]], head: list[str], output: str) -> None:
    """Write something that is no catalogue object: the document, or its cells."""
    if output in {"json", "yaml"}:
        _write_document(document, output)
    else:
        _write_cells(cells, head, output)


def _write_document(document: Any, output: str) -> None:
    if output == "json":
        print(json.dumps(document, ensure_ascii=False, indent=2))
        return
    import yaml

    yaml.safe_dump(document, sys.stdout, allow_unicode=True, sort_keys=False)


def _write_cells(cells: Iterable[list[str]], head: list[str], output: str) -> None:
    if output == "plain":
        for row in cells:
            print("\t".join(_one_line(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in head:
        table.add_column(name, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    console.print(table if table.row_count else "Nothing found.")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
