"""Airflow's own commands make and upgrade the catalogue's tables through this manager."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.utils.db_manager import BaseDBManager
from sqlalchemy import insert, select

from airflow_assets import catalog
from airflow_assets.airflow_bridge.context import make_airflow_engine
from airflow_assets.airflow_bridge.managed_connection import ensure_connection
from airflow_assets.catalog import tables
from airflow_assets.catalog.engine import retrying, write
from airflow_assets.catalog.write_set import LOG

if TYPE_CHECKING:
    from sqlalchemy import Engine

log = logging.getLogger(__name__)
_HEADS = {"0.1.0": "0001"}
_CATALOG = Path(catalog.__file__).parent


class AssetsDBManager(BaseDBManager):
    """``airflow db migrate``, ``reset`` and ``check-migrations`` use it without any configuration.

    ``airflow db-manager migrate|downgrade|reset`` looks only at ``[database] external_db_managers``.
    """

    metadata = tables.metadata
    version_table_name = tables.VERSION_TABLE
    migration_dir = (_CATALOG / "migrations").as_posix()
    alembic_file = (_CATALOG / "alembic.ini").as_posix()
    supports_table_dropping = True
    revision_heads_map = _HEADS

    def create_db_from_orm(self) -> None:
        """Make the tables as the models say, and what must be in them."""
        super().create_db_from_orm()  # type: ignore[no-untyped-call]
        self._fill()

    def upgradedb(
        self,
        to_revision: str | None = None,
        from_revision: str | None = None,
        show_sql_only: bool = False,
        use_migration_files: bool = False,
    ) -> None:
        """Bring the tables to ``to_revision`` (default: the newest), or only print the SQL."""
        super().upgradedb(  # type: ignore[no-untyped-call]
            to_revision, from_revision, show_sql_only, use_migration_files
        )
        if not show_sql_only:
            self._fill()

    def downgrade(
        self, to_revision: str, from_revision: str | None = None, show_sql_only: bool = False
    ) -> None:
        """Bring the tables back to ``to_revision``, or only print the SQL."""
        from alembic import command

        self._release_metadata_locks_if_needed()
        config = self.get_alembic_config()  # type: ignore[no-untyped-call]
        revision = to_revision
        if show_sql_only:
            present = self.get_current_revision()  # type: ignore[no-untyped-call]
            revision = f"{from_revision or present}:{to_revision}"
        command.downgrade(config, revision, sql=show_sql_only)

    def _fill(self) -> None:
        from airflow import settings

        self._release_metadata_locks_if_needed()
        engine = make_airflow_engine(str(settings.SQL_ALCHEMY_CONN), pool_size=1)
        try:
            _begin_sequence(engine)
            ensure_connection(engine)
        finally:
            engine.dispose()


def _begin_sequence(engine: Engine) -> None:
    """Make the one row of the sequence; the log goes on where it is."""

    def work() -> None:
        with write(engine) as conn:
            log_row = select(tables.sequence.c.name).where(tables.sequence.c.name == LOG)
            if conn.execute(log_row).first() is None:
                conn.execute(insert(tables.sequence).values(name=LOG, value=0))

    retrying(work)
