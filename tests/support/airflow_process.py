"""A real Airflow for tests and the demo: each component a process of its own, started and stopped by its id."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.airflow_api import AirflowApi
from tests.support.airflow_config import AirflowSettings
from tests.support.processes import die_with_parent, end_all, free_port, tail, tree_of, wait_until

COMPONENTS = ("api-server", "scheduler", "triggerer", "dag-processor")
# Names in Airflow's health report.
HEALTH_KEYS = {"scheduler": "scheduler", "triggerer": "triggerer", "dag-processor": "dag_processor"}
GRACE = 15.0


class AirflowProcess(AirflowApi):
    """API server, scheduler, triggerer and Dag processor of one Airflow, on free loopback ports.

    Everything it needs it takes from `AirflowSettings`: nothing of the developer's own Airflow is seen or touched.
    Needs no pytest. Start it in the main thread (on Linux its processes end with the thread that started them).

    Args:
        home: `AIRFLOW_HOME`; a temporary folder, removed at the end, if not given.
        database_url: SQLAlchemy URL with its driver; a SQLite file in `home` if not given.
        dags: the Dags folder; `home/dags` if not given.
        executor: class name or path of Airflow's executor.
        env: further environment variables of all components; they win.
        components: which of `COMPONENTS` to start.
        port: of the API server; a free one if not given.

    Example:
        >>> with AirflowProcess(dags=Path("dags_examples")) as airflow:
        ...     airflow.unpause("hello")
        ...     run = airflow.trigger_dag("hello")
        ...     airflow.wait_for_run("hello", run["dag_run_id"], "success")
    """

    def __init__(
        self,
        home: Path | None = None,
        *,
        database_url: str = "",
        dags: Path | None = None,
        executor: str = "LocalExecutor",
        env: dict[str, str] | None = None,
        components: tuple[str, ...] = COMPONENTS,
        port: int | None = None,
    ) -> None:
        self._own_home = home is None
        self.settings = AirflowSettings(
            home=home or Path(tempfile.mkdtemp(prefix="aa-airflow-")),
            port=port or free_port(),
            database_url=database_url,
            dags=dags,
            executor=executor,
            env=env or {},
        )
        super().__init__(self.settings.base_url)
        self.components = components
        self.environment = self.settings.environment()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._leaders: set[int] = set()

    @property
    def home(self) -> Path:
        """`AIRFLOW_HOME`."""
        return self.settings.home

    @property
    def dags_folder(self) -> Path:
        """Where the Dag files are; a file written here is parsed within a few seconds."""
        return self.settings.dags_folder

    @property
    def database_url(self) -> str:
        """SQLAlchemy URL of the metadata database."""
        return self.settings.url

    @property
    def pids(self) -> list[int]:
        """Ids of all live processes of this Airflow, workers and tasks included."""
        return [process.pid for process in tree_of(self._leaders)]

    def pid(self, component: str) -> int:
        """Id of a component's main process."""
        return self._running[component].pid

    def missing(self) -> list[str]:
        """The components that were killed and not started again."""
        return [component for component in self.components if component not in self._running]

    def cli(
        self, *arguments: str, timeout: float = 180, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run `airflow ARGUMENTS` in this Airflow's environment."""
        done = subprocess.run(
            [sys.executable, "-m", "airflow", *arguments],
            env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        if check and done.returncode:
            command = " ".join(arguments)
            raise RuntimeError(
                f"airflow {command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        return done

    def start(self, timeout: float = 240) -> AirflowProcess:
        """Make or upgrade the tables, start the components, and return when all are healthy."""
        self.cli("db", "migrate")
        for component in self.components:
            self._launch(component, component)
        self.wait_healthy(timeout)
        return self

    def _launch(self, name: str, component: str) -> None:
        arguments = {
            "api-server": ["--host", "127.0.0.1", "--port", str(self.settings.port), "--workers", "1"],
            "scheduler": ["--skip-serve-logs"],
            "triggerer": ["--skip-serve-logs"],
            "dag-processor": [],
        }[component]
        environment = self.settings.of_component(component, self.environment)
        with self._log_file(name).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "airflow", component, *arguments],
                env=environment, cwd=self.home, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True, preexec_fn=die_with_parent,
            )  # fmt: skip
        self._running[name] = process
        self._leaders.add(process.pid)

    def wait_healthy(self, timeout: float = 240) -> None:
        """Wait until every started component says it is healthy.

        Raises:
            RuntimeError: with the end of its log, if a component has ended or the time is over.
        """
        try:
            wait_until(self._healthy, timeout, "Airflow to be healthy", interval=0.25)
        except TimeoutError as late:
            raise RuntimeError(f"{late}: {self.health()}\n{self.log_tails()}") from late
        # The server builds the Execution API on its first request: better here than in the first task of a test.
        self.client.get("/execution/health/ping").raise_for_status()

    def _healthy(self) -> bool:
        for name, process in self._running.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with exit code {process.returncode}\n{self.logs(name)}")
        report = self.health()
        wanted = [HEALTH_KEYS[name] for name in self._running if name in HEALTH_KEYS]
        return bool(report) and all(
            (report.get(key) or {}).get("status") == "healthy" for key in ("metadatabase", *wanted)
        )

    def kill(self, component: str, signal_number: int = signal.SIGKILL) -> None:
        """Send a signal to a component; KILL takes its whole session with it, as a lost machine would."""
        process = self._running.pop(component)
        if signal_number == signal.SIGKILL:
            end_all([process.pid], grace=0)
        else:
            process.send_signal(signal_number)
            process.wait(GRACE)
        process.wait()

    def suspend(self, component: str) -> None:
        """Stop a component in its tracks (SIGSTOP), as a long pause of its machine would; `resume` undoes it."""
        os.killpg(self._running[component].pid, signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """Continue a suspended component."""
        os.killpg(self._running[component].pid, signal.SIGCONT)

    def restart(self, component: str, timeout: float = 240) -> None:
        """Stop a component if it runs, start it again and wait until all are healthy."""
        if component in self._running:
            self._end(component)
        self._launch(component, component)
        self.wait_healthy(timeout)

    def start_extra(self, component: str) -> str:
        """Start one more scheduler, triggerer or Dag processor and return its name (`scheduler-2`)."""
        number = 2 + sum(name.startswith(f"{component}-") for name in self._running)
        name = f"{component}-{number}"
        before = self._jobs(component)
        self._launch(name, component)
        wait_until(lambda: self._jobs(component) > before, 240, f"{name} to report itself", interval=0.25)
        return name

    def _jobs(self, component: str) -> int:
        job_type = {
            "scheduler": "SchedulerJob",
            "triggerer": "TriggererJob",
            "dag-processor": "DagProcessorJob",
        }
        query = {"job_type": job_type[component], "job_state": "running"}
        return int(self.api("GET", "/api/v2/jobs", params=query)["total_entries"])

    def _end(self, name: str) -> None:
        process = self._running.pop(name)
        end_all([process.pid], GRACE)
        process.wait()

    def stop(self, grace: float = GRACE) -> list[int]:
        """End every process that was started (TERM, then KILL) and return the ids of all that were seen."""
        self.close()
        for name in self._running:
            if self._running[name].poll() is None:
                self.resume(name)
        ended = end_all(self._leaders, grace)
        for process in self._running.values():
            process.wait()
        self._running.clear()
        if self._own_home:
            shutil.rmtree(self.home, ignore_errors=True)
        return ended

    def write_dag(self, name: str, source: str) -> Path:
        """Write a Dag file whole (the Dag processor never sees half of it)."""
        target = self.dags_folder / name
        part = target.with_suffix(".part")
        part.write_text(source)
        part.replace(target)
        return target

    def wait_let_go(self, dag_id: str, run_id: str, task_id: str, timeout: float = 240) -> None:
        """Wait until the scheduler knows that the worker of a task that now waits elsewhere has ended.

        Airflow 3.3 fails a task that is deferred or rescheduled and is queued again before that: LocalExecutor
        forgets a task when it begins, so the late end of the first worker looks like a kill of the second.
        """
        end = (
            "executor event with state success for task instance "
            f"TaskInstanceKey(dag_id={dag_id!r}, task_id={task_id!r}, run_id={run_id!r}"
        )
        self.wait_until(lambda: end in self.logs("scheduler"), timeout, f"the worker of {task_id} to end")

    def _log_file(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def logs(self, component: str) -> str:
        """All that a component has written."""
        path = self._log_file(component)
        return path.read_text(errors="replace") if path.exists() else ""

    def log_tails(self, lines: int = 25) -> str:
        """The end of every component's log, for a failure's report."""
        return "\n".join(f"--- {name}\n{tail(self._log_file(name), lines)}" for name in self._running)

    def __enter__(self) -> AirflowProcess:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            print(self.log_tails(), file=sys.stderr)
        # A triggerer takes ten seconds to end; nobody will look at what this Airflow leaves.
        self.stop(grace=3.0 if self._own_home else GRACE)
