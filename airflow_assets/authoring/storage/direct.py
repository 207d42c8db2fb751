"""A storage on a database of its own, for runs without Airflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_assets.authoring.errors import SchemaMigrationNeededError, StorageError
from airflow_assets.authoring.storage.client import ClientStorage
from airflow_assets.exceptions import AssetCatalogError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import URL

IN_MEMORY = "sqlite://"


class DirectStorage(ClientStorage):
    """A catalogue on any SQLAlchemy URL, whose tables are made where there are none; by default in memory.

    Runs recorded there have all that a catalogue has: assets, events, locks.

    Raises:
        StorageError: the database cannot be used.
        SchemaMigrationNeededError: it has tables of another version.

    >>> storage = DirectStorage()
    >>> storage.get_runs()
    []
    """

    def __init__(self, url: str | URL = IN_MEMORY) -> None:
        from airflow_assets.client.base import CatalogClient
        from airflow_assets.client.in_process import EngineTransport

        self._transport = EngineTransport(url)
        super().__init__(CatalogClient(self._transport))
        try:
            missing = self._transport.make_tables()
        except AssetCatalogError as error:
            raise StorageError(str(error)) from error
        if missing:
            raise SchemaMigrationNeededError(
                f"The database is of another version: there is no {', '.join(sorted(missing))}. "
                "Migrate it with alembic and airflow_assets/catalog/alembic.ini."
            )

    def close(self) -> None:
        """Close the connections; what is in memory is gone."""
        self._transport.close()


def memory_storage() -> DirectStorage:
    """Return an empty storage in memory."""
    return DirectStorage()


def embedded_storage(path: str | Path) -> DirectStorage:
    """Return the storage in a SQLite file, which is made where there is none."""
    return DirectStorage(f"{IN_MEMORY}/{path}")
