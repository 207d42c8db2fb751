"""A storage over the catalogue's client: what Airflow tasks record through."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.storage.pools import PoolsAndLocks
from airflow_assets.authoring.storage.questions import Questions
from airflow_assets.authoring.storage.recording import Recording

if TYPE_CHECKING:
    from airflow_assets.client.base import CatalogClient

_ASYNC = "async_"


class ClientStorage(Recording, Questions, PoolsAndLocks):
    """The catalogue of an Airflow, or whichever the client leads to.

    Every method also has a twin for coroutines, ``async_get_run`` of ``get_run``, which works in a thread.

    :param client: default ``airflow_assets.client.get_client()``, made with the first use.

    >>> storage = ClientStorage(get_client(api_url="https://airflow.example.com", token=token))
    >>> storage.get_runs(limit=1)
    """

    def __init__(self, client: CatalogClient | None = None) -> None:
        self._given = client

    @property
    def _client(self) -> CatalogClient:  # type: ignore[override]
        if self._given is None:
            from airflow_assets.client import get_client

            self._given = get_client()
        return self._given

    def __getattr__(self, name: str) -> Any:
        method = name.removeprefix(_ASYNC)
        if name.startswith(_ASYNC) and not method.startswith("_") and hasattr(type(self), method):
            return partial(asyncio.to_thread, getattr(self, method))
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
