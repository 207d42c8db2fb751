"""Teams of Airflow (``[core] multi_team``)."""

from __future__ import annotations


def team_of_dag(dag_id: str) -> str | None:
    """Return the team that owns the Dag's bundle; None without one, or for an unknown Dag."""
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    with create_session(scoped=False) as session:
        return DagModel.get_team_name(dag_id, session=session)
