"""An executor whose workers know next to nothing, as on a hardened deployment.

Each task runs in a process that is told where the Execution API and the Dag files are, and no more: no database
address, no `airflow.cfg`, no JWT secret, no Fernet key, another home.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from airflow.configuration import conf
from airflow.executors.base_executor import BaseExecutor


class HardenedExecutor(BaseExecutor):
    """Starts `python -m airflow.sdk.execution_time.execute_workload` with an almost empty environment.

    A worker's output is in `$AIRFLOW_HOME/hardened/<task instance id>.log`.
    """

    def start(self) -> None:
        """Make the workers' folder."""
        self._workers: dict[Any, subprocess.Popen[bytes]] = {}
        self._folder = Path(os.environ["AIRFLOW_HOME"]) / "hardened"
        (self._folder / "home").mkdir(parents=True, exist_ok=True)

    def environment(self) -> dict[str, str]:
        """All that a worker is told."""
        home = str(self._folder / "home")
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": conf.get("core", "execution_api_server_url"),
            "AIRFLOW__CORE__DAGS_FOLDER": conf.get("core", "dags_folder"),
        }

    def _process_workloads(self, workload_items: Any) -> None:
        for workload in workload_items:
            key = workload.ti.key
            if self.queued_tasks.pop(key, None) is None:
                del self.queued_tasks[workload.key]
                key = workload.key
            self.running.add(key)
            with (self._folder / f"{workload.ti.id}.log").open("ab") as log:
                self._workers[key] = subprocess.Popen(
                    [
                        sys.executable, "-m", "airflow.sdk.execution_time.execute_workload",
                        "--json-string", workload.model_dump_json(),
                    ],
                    env=self.environment(), cwd=self._folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                )  # fmt: skip

    def sync(self) -> None:
        """Report the workers that have ended."""
        for key, worker in list(self._workers.items()):
            if (code := worker.poll()) is not None:
                del self._workers[key]
                if code == 0:
                    self.success(key)
                else:
                    self.fail(key, info=f"worker ended with exit code {code}")

    def end(self) -> None:
        """Wait for the workers that still run."""
        for worker in self._workers.values():
            worker.wait()
        self.sync()

    def terminate(self) -> None:
        """End the workers now."""
        for worker in self._workers.values():
            worker.kill()
