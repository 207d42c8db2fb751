"""No MySQL server can run here (the rings run MariaDB): what MySQL 8 would be sent is compiled and compared.

A changed file is right when MySQL 8 takes it: no collation, type or function of MariaDB alone, no index longer than
3,072 bytes. Write the file anew with `GOLDEN=write`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import CreateIndex, CreateTable

from airflow_assets.catalog import tables
from airflow_assets.catalog.metadata_sql import row_fits, value_row
from airflow_assets.catalog.write_set import insert_rows
from airflow_assets.schemas.metadata_query import MetadataCondition, Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.sql.elements import CompilerElement

GOLDEN = Path(__file__).parent / "golden"
VALUES: dict[Operator, list[Any]] = {
    Operator.IN: [["a", 1, None]],
    Operator.NOT_IN: [["a"]],
    Operator.EXISTS: [None],
    Operator.NOT_EXISTS: [None],
    Operator.CONTAINS: ["50%_", 7],
}
BYTES_OF_INDEX = 3_072


def sql(statement: CompilerElement) -> str:
    text = str(statement.compile(dialect=mysql.dialect()))
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def ddl() -> Iterator[str]:
    for table in tables.metadata.sorted_tables:
        yield sql(CreateTable(table))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield sql(CreateIndex(index))


def queries() -> Iterator[str]:
    row = value_row("value_0")
    for operator in Operator:
        for value in VALUES.get(operator, ["a"]):
            condition = MetadataCondition(field="f", type=operator, value=value)
            yield f"-- {operator.value} {value!r}"
            yield sql(select(row.c.asset_pk).where(row_fits("mysql", condition, row)))


def compare(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_tables() -> None:
    compare("mysql_tables.sql", ";\n\n".join(ddl()) + ";\n")


def test_metadata_conditions() -> None:
    compare("mysql_conditions.sql", "\n\n".join(queries()) + "\n")


def test_only_collations_that_mysql_and_mariadb_share() -> None:
    found = set(re.findall(r"COLLATE[ =](\w+)", "\n".join(ddl())))
    assert found == {"utf8mb4_bin"}


def test_no_index_is_longer_than_innodb_takes() -> None:
    def size(column: Any) -> int:
        declared = re.match(r"(\w+)(?:\((\d+)\))?", column.type.compile(mysql.dialect()))
        assert declared
        kind, length = declared.groups()
        return {"VARCHAR": 4, "VARBINARY": 1}.get(kind, 0) * int(length or 0) or 8

    for table in tables.metadata.sorted_tables:
        keys = [index.columns for index in table.indexes] + [table.primary_key.columns]
        for columns in keys:
            assert sum(size(column) for column in columns) <= BYTES_OF_INDEX, (table.name, list(columns))


class Recorder:
    """Stands in for a connection to MySQL: keeps what would be executed."""

    def __init__(self) -> None:
        self.dialect = mysql.dialect()
        self.statements: list[str] = []

    def execute(self, statement: CompilerElement, _: Any = None) -> None:
        self.statements.append(sql(statement))


def test_insert_that_ignores_what_is_there() -> None:
    connection: Any = Recorder()
    insert_rows(connection, tables.followed, [{"airflow_event_id": 1}], ignore=True)
    assert connection.statements == [
        "INSERT IGNORE INTO airflow_assets_followed (airflow_event_id, created) VALUES (%s, %s)"
    ]
