"""The Airflow plugin of this provider."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


class AssetsPlugin(AirflowPlugin):
    """What this provider plugs into Airflow's processes."""

    name = "airflow_assets"
