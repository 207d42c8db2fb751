"""Help for tests: of Dags that use the catalogue, and of assets written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_assets.authoring.storage.direct import DirectStorage

_Dag = TypeVar("_Dag")


def prepare(dag: _Dag) -> _Dag:
    """Give a Dag ``assets`` and ``trigger_asset`` in templates, as a server does, and return it.

    ``dag.test()`` of a Dag object from a file applies no policies, so the two bare names are unknown there
    (``macros.airflow_assets.assets()`` works without help).

    >>> prepare(my_dag).test()
    """
    from airflow_assets.macros import add_to

    add_to(dag)
    return dag


def memory_storage() -> DirectStorage:
    """Return a storage of asset runs in memory, for ``CodeRepository.resolve(storage)``.

    >>> memory_storage().get_runs()
    []
    """
    from airflow_assets.authoring.storage import direct

    return direct.memory_storage()


def embedded_storage(path: str | Path) -> DirectStorage:
    """Return a storage of asset runs in a SQLite file, which is made where there is none.

    >>> repo.resolve(embedded_storage("/tmp/assets.db"))
    """
    from airflow_assets.authoring.storage import direct

    return direct.embedded_storage(path)
