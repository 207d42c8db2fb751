"""Help for tests of Dags that use the catalogue."""

from __future__ import annotations

from typing import TypeVar

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
