"""Print which Python and Airflow the tests that follow run on."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

if __name__ == "__main__":
    label = sys.argv[1] if len(sys.argv) > 1 else "this run"
    print(
        f"{label}: Python {platform.python_version()}, Airflow {version('apache-airflow-core')}, "
        f"Task SDK {version('apache-airflow-task-sdk')}, SQLAlchemy {version('sqlalchemy')}",
        flush=True,
    )
