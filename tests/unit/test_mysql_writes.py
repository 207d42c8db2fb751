"""What MySQL 8 would be sent by writes and migrations; no MySQL server can run here, MariaDB runs the same for real.

The stand-in for a connection only takes statements down.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy.dialects import mysql

from airflow_assets import catalog
from airflow_assets.catalog import tables, write_set

TABLES = tables.metadata.sorted_tables

if TYPE_CHECKING:
    from sqlalchemy import Table


class Recorder:
    def __init__(self) -> None:
        self.dialect = mysql.dialect()
        self.dialect.server_version_info = (8, 0, 36)
        self.dialect.is_mariadb = False
        self.statements: list[str] = []

    def execute(self, statement: Any, rows: list[dict[str, Any]]) -> None:
        self.statements.append(str(statement.compile(dialect=self.dialect, column_keys=list(rows[0]))))


@pytest.mark.parametrize("table", [tables.asset, tables.metadata_value], ids=lambda table: table.name)
def test_rows_are_replaced_by_their_primary_key(table: Table) -> None:
    seen: Any = Recorder()
    write_set.replace_rows(seen, table, [{column.name: None for column in table.columns}])
    [statement] = seen.statements
    assert statement.startswith(f"INSERT INTO {table.name} ")
    updated = statement.partition("ON DUPLICATE KEY UPDATE ")[2]
    assert len(updated.split(", ")) == len(table.columns) - len(table.primary_key.columns)
    assert "RETURNING" not in statement


def test_migrations_as_sql(capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(str(Path(catalog.__file__).parent / "alembic.ini"))
    config.set_main_option("sqlalchemy.url", "mysql+mysqldb://nobody@localhost/nothing")
    command.upgrade(config, "heads", sql=True)
    printed = capsys.readouterr().out
    assert all(f"CREATE TABLE {table.name}" in printed for table in TABLES)
    assert printed.count("ROW_FORMAT=DYNAMIC") == len(TABLES)
    indexes = sum(len(table.indexes) for table in TABLES)
    assert printed.count("CREATE INDEX") + printed.count("CREATE UNIQUE INDEX") == indexes
