"""What a failed test on a real Airflow shows besides its own traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.support.airflow_process import AirflowProcess


def attach_logs(report: pytest.TestReport, running: list[AirflowProcess]) -> pytest.TestReport:
    """Add the end of each component's log to the report of a failed test."""
    if report.failed:
        report.sections += [
            (f"logs of Airflow at {airflow.base_url}", airflow.log_tails()) for airflow in running
        ]
    return report
