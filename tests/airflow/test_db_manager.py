"""Airflow's own commands make, check, upgrade, reset and downgrade our tables, on every database."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, inspect, text

from airflow_assets.airflow_bridge.db_manager import AssetsDBManager
from airflow_assets.catalog import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

OURS = set(tables.metadata.tables) | {tables.VERSION_TABLE}
MANAGER = "airflow_assets.airflow_bridge.db_manager.AssetsDBManager"


@pytest.fixture
def airflow_cli(fresh_database_url: str, tmp_path: Path) -> Callable[..., str]:
    """Run `airflow <arguments>` on the empty database, and return what it printed."""
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
        "HOME": str(tmp_path),
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": fresh_database_url,
    }

    def call(*arguments: str, **more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "airflow", *arguments],
            env={**environment, **more}, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return call


@pytest.fixture
def engine(fresh_database_url: str) -> Iterator[Engine]:
    found = create_engine(fresh_database_url)
    yield found
    found.dispose()


def ours(engine: Engine) -> set[str]:
    names = inspect(engine).get_table_names()
    return {name for name in names if name.startswith("airflow_assets_") or name == tables.VERSION_TABLE}


def rows(engine: Engine, statement: str) -> list[Any]:
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(text(statement))]


def secret_of(engine: Engine) -> list[Any]:
    return rows(engine, "SELECT extra FROM connection WHERE conn_id = 'airflow_assets_default'")


def test_migrate_check_and_migrate_again(airflow_cli: Callable[..., str], engine: Engine) -> None:
    airflow_cli("db", "migrate")
    assert ours(engine) == OURS
    assert rows(engine, f"SELECT version_num FROM {tables.VERSION_TABLE}") == [
        (list(AssetsDBManager.revision_heads_map.values())[-1],)
    ]
    assert rows(engine, "SELECT name, value FROM airflow_assets_sequence") == [("log", 0)]
    made = secret_of(engine)
    assert len(made) == 1
    airflow_cli("db", "check-migrations", "--migration-wait-timeout", "0")
    with engine.begin() as conn:
        conn.execute(text("UPDATE airflow_assets_sequence SET value = 42"))
    airflow_cli("db", "migrate")
    assert rows(engine, "SELECT name, value FROM airflow_assets_sequence") == [("log", 42)]
    assert secret_of(engine) == made


def test_downgrade_and_upgrade_by_the_managers_own_command(
    airflow_cli: Callable[..., str], engine: Engine
) -> None:
    named = {"AIRFLOW__DATABASE__EXTERNAL_DB_MANAGERS": MANAGER}
    # Airflow's own migration files do not run on MariaDB.
    airflow_cli("db", "migrate", *(() if engine.dialect.name == "mysql" else ("--use-migration-files",)))
    assert ours(engine) == OURS
    airflow_cli("db-manager", "downgrade", MANAGER, "--to-revision", "base", "--yes", **named)
    assert ours(engine) == {tables.VERSION_TABLE}
    airflow_cli("db-manager", "migrate", MANAGER, **named)
    assert ours(engine) == OURS
    assert rows(engine, "SELECT name, value FROM airflow_assets_sequence") == [("log", 0)]


def test_reset_drops_and_makes_anew(airflow_cli: Callable[..., str], engine: Engine) -> None:
    airflow_cli("db", "migrate")
    before = secret_of(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE airflow_assets_sequence SET value = 42"))
    airflow_cli("db", "reset", "--yes")
    assert ours(engine) == OURS
    assert rows(engine, "SELECT name, value FROM airflow_assets_sequence") == [("log", 0)]
    assert secret_of(engine) != before
