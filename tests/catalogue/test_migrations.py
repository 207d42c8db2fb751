"""The migrations make the tables of the models, keep data, and go back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, select

from airflow_assets import catalog
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import make_engine
from airflow_assets.catalog.service import CatalogService
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput
from tests.support.ageless import ageless

if TYPE_CHECKING:
    from collections.abc import Iterator

INI = Path(catalog.__file__).parent / "alembic.ini"
CALLER = Caller(source=Source(kind=SourceKind.CLI))


@pytest.fixture
def empty(fresh_database_url: str) -> Iterator[Engine]:
    engine = make_engine(fresh_database_url)
    yield engine
    engine.dispose()


def config(engine: Engine) -> Config:
    """As Airflow's database manager makes it."""
    made = Config(str(INI))
    url = engine.url.render_as_string(hide_password=False)
    made.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return made


def schema(engine: Engine) -> dict[str, Any]:
    """All the database tells about our tables; the version table aside."""
    inspector = inspect(engine)
    names = [name for name in inspector.get_table_names() if name.startswith(tables.PREFIX)]
    return {name: _described(inspector, name) for name in sorted(names)}


def _described(inspector: Any, name: str) -> dict[str, Any]:
    return {
        "columns": [
            {**column, "type": repr(column["type"]), "default": str(column["default"])}
            for column in inspector.get_columns(name)
        ],
        "pk": inspector.get_pk_constraint(name),
        "indexes": sorted(map(repr, inspector.get_indexes(name))),
        "unique": sorted(map(repr, inspector.get_unique_constraints(name))),
        "fks": sorted(map(repr, inspector.get_foreign_keys(name))),
        "checks": sorted(map(repr, inspector.get_check_constraints(name))),
        "options": _options(inspector, name),
    }


def _options(inspector: Any, name: str) -> dict[str, Any]:
    """Character set, collation and row format; only the MySQL family has them (SQLAlchemy 1.4 raises
    elsewhere, SQLAlchemy 2 answers with nothing)."""
    if inspector.dialect.name not in ("mysql", "mariadb"):
        return {}
    return {key: value for key, value in inspector.get_table_options(name).items() if "auto_incr" not in key}


def test_migrations_make_what_the_models_say(empty: Engine) -> None:
    command.upgrade(config(empty), "heads")
    migrated = schema(empty)
    with empty.connect() as conn:
        options = {"version_table": tables.VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(
            conn,
            opts={
                **options,
                "include_name": lambda name, kind, _: kind != "table" or name in tables.metadata.tables,
            },
        )
        assert compare_metadata(context, tables.metadata) == []
    command.downgrade(config(empty), "base")
    assert schema(empty) == {}
    tables.metadata.create_all(empty)
    assert migrated == schema(empty)
    assert set(migrated) == set(tables.metadata.tables)


def test_data_written_before_an_upgrade_is_read_after_it(empty: Engine) -> None:
    """Tables made from the models, without a version: Airflow's manager stamps the first revision and upgrades."""
    tables.metadata.create_all(empty)
    service = CatalogService(empty)
    made = service.create_asset(CALLER, AssetInput(id="a", type="T", metadata={"k": 2**70}))
    command.upgrade(config(empty), "heads")
    assert ageless(service.get_asset(CALLER, "a")) == made
    service.upsert_asset(CALLER, AssetInput(id="b", type="T"))
    with empty.connect() as conn:
        assert conn.execute(select(tables.event.c.seq).order_by(tables.event.c.seq)).scalars().all() == [1, 2]


def test_upgrade_goes_on_where_it_stopped(empty: Engine) -> None:
    tables.asset.create(empty)
    command.upgrade(config(empty), "heads")
    assert set(schema(empty)) == set(tables.metadata.tables)
    CatalogService(empty).create_asset(CALLER, AssetInput(id="a", type="T"))
    command.upgrade(config(empty), "heads")
    command.downgrade(config(empty), "base")
    command.upgrade(config(empty), "heads")
    with empty.connect() as conn:
        assert conn.execute(select(tables.asset.c.pk)).all() == []


def test_sql_can_be_printed(empty: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    command.upgrade(config(empty), "heads", sql=True)
    printed = capsys.readouterr().out
    assert all(f"CREATE TABLE {name}" in printed for name in tables.metadata.tables)
    assert schema(empty) == {}
