"""What Airflow is told about this provider."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return the provider info that Airflow's provider manager reads."""
    return {
        "package-name": "airflow-provider-assets",
        "name": "Assets",
        "description": "An asset catalogue inside Apache Airflow.",
        "versions": ["0.1.0"],
    }
