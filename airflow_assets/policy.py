"""The Airflow policy of this provider: every Dag's templates get ``assets``, ``trigger_asset`` and its kin.

Airflow loads it in every process that parses Dags; it imports nothing heavy.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow.policies import hookimpl

if TYPE_CHECKING:
    from airflow.sdk import DAG

log = logging.getLogger(__name__)


@hookimpl
def dag_policy(dag: DAG) -> None:
    """Add the template functions; a Dag's own macros of these names win. On failure nothing changes."""
    before = dag.user_defined_macros
    try:
        from airflow_assets.macros import add_to

        add_to(dag)
    except Exception:  # a broken catalogue must not stop foreign Dags from being parsed
        dag.user_defined_macros = before
        log.warning("airflow_assets: the templates of Dag %s get no assets().", dag.dag_id, exc_info=True)
    try:
        from airflow_assets.uris import settle

        settle(dag)
    except Exception:  # likewise
        log.warning("airflow_assets: the URIs of the assets of Dag %s stay.", dag.dag_id, exc_info=True)
