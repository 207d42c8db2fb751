"""Airflow's REST API as the tests and the demo use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import httpx

from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

FINAL = ("success", "failed")
UNREACHABLE = (httpx.TransportError,)


class AirflowApi:
    """Calls on one API server, as one of its users.

    Example:
        >>> api = AirflowApi("http://127.0.0.1:8080")
        >>> run = api.trigger_dag("producer", conf={"rows": 3})
        >>> api.wait_for_run("producer", run["dag_run_id"])["state"]
        'success'
    """

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._tokens: dict[str, str] = {}
        self._client: httpx.Client | None = None

    @property
    def client(self) -> httpx.Client:
        """The HTTP client, without credentials."""
        if self._client is None:
            self._client = httpx.Client(base_url=self.base_url, timeout=60, trust_env=False)
        return self._client

    def close(self) -> None:
        """Close the HTTP client; the next call opens another."""
        if self._client is not None:
            self._client.close()
        self._client = None

    def token(self, user: str = "admin") -> str:
        """A bearer token of `admin`, `op`, `user` or `viewer` (SimpleAuthManager; the password is the name)."""
        if user not in self._tokens:
            answer = self.client.post("/auth/token", json={"username": user, "password": user})
            answer.raise_for_status()
            self._tokens[user] = answer.json()["access_token"]
        return self._tokens[user]

    def request(
        self, method: str, path: str, *, user: str | None = "admin", **arguments: Any
    ) -> httpx.Response:
        """Send a request as `user` (None: anonymously); `path` is absolute (`/api/v2/...`, `/airflow_assets/...`)."""
        headers = dict(arguments.pop("headers", None) or {})
        if user is not None:
            headers.setdefault("Authorization", f"Bearer {self.token(user)}")
        return self.client.request(method, path, headers=headers, **arguments)

    def api(self, method: str, path: str, *, user: str | None = "admin", **arguments: Any) -> Any:
        """Like `request`, and return the JSON body (None for 204).

        Raises:
            AssertionError: for a 4xx or 5xx, with the body.
        """
        answer = self.request(method, path, user=user, **arguments)
        if answer.is_error:
            raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text[:2000]}")
        return answer.json() if answer.content else None

    def health(self) -> dict[str, Any]:
        """Airflow's health report; empty while the API server does not answer."""
        try:
            answer = self.client.get("/api/v2/monitor/health", timeout=5)
        except UNREACHABLE:
            return {}
        return cast("dict[str, Any]", answer.json()) if answer.status_code == httpx.codes.OK else {}

    def wait_until(self, condition: Callable[[], object], timeout: float, what: str = "condition") -> Any:
        """Call `condition` until it returns something true; see `tests.support.processes.wait_until`."""
        return wait_until(condition, timeout, what, interval=0.25)

    def dag(self, dag_id: str) -> dict[str, Any] | None:
        """The Dag, or None while it is not known."""
        answer = self.request("GET", f"/api/v2/dags/{dag_id}")
        return cast("dict[str, Any]", answer.json()) if answer.status_code == httpx.codes.OK else None

    def wait_for_dag(self, dag_id: str, timeout: float = 180) -> dict[str, Any]:
        """Wait until the Dag has been parsed; an import error of any file ends the wait."""

        def parsed() -> object:
            if errors := self.import_errors():
                raise AssertionError(f"Dag files do not import: {errors}")
            return self.dag(dag_id)

        return cast("dict[str, Any]", self.wait_until(parsed, timeout, f"Dag {dag_id} to be parsed"))

    def import_errors(self) -> dict[str, str]:
        """Stack trace by file of each Dag file that does not import."""
        found = self.api("GET", "/api/v2/importErrors")["import_errors"]
        return {error["filename"]: error["stack_trace"] for error in found}

    def pause(self, dag_id: str, *, paused: bool = True) -> None:
        """Pause (or with `paused=False` unpause) a Dag; again, if SQLite was locked for longer than Airflow waits."""

        def done() -> bool:
            answer = self.request("PATCH", f"/api/v2/dags/{dag_id}", json={"is_paused": paused})
            if answer.is_error and not answer.is_server_error:
                raise AssertionError(f"{dag_id} cannot be paused: {answer.status_code} {answer.text[:2000]}")
            return not answer.is_error

        self.wait_until(done, 60, f"Dag {dag_id} to be {'paused' if paused else 'unpaused'}")

    def unpause(self, dag_id: str) -> None:
        """Unpause a Dag, waiting first until it has been parsed."""
        self.wait_for_dag(dag_id)
        self.pause(dag_id, paused=False)

    def trigger_dag(
        self, dag_id: str, *, conf: dict[str, Any] | None = None, run_id: str | None = None
    ) -> dict[str, Any]:
        """Start a run now and return it."""
        body: dict[str, Any] = {"logical_date": None, "conf": conf or {}}
        if run_id:
            body["dag_run_id"] = run_id
        return cast("dict[str, Any]", self.api("POST", f"/api/v2/dags/{dag_id}/dagRuns", json=body))

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        """Every run of a Dag, oldest first."""
        found: list[dict[str, Any]] = []
        while True:
            query = {"limit": 100, "offset": len(found), "order_by": "id"}
            page = self.api("GET", f"/api/v2/dags/{dag_id}/dagRuns", params=query)
            found += page["dag_runs"]
            if len(found) >= page["total_entries"] or not page["dag_runs"]:
                return found

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """One run of a Dag."""
        return cast("dict[str, Any]", self.api("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}"))

    def wait_for_run(
        self, dag_id: str, run_id: str, state: str | None = "success", timeout: float = 240
    ) -> dict[str, Any]:
        """Wait until the run has ended and return it.

        Raises:
            AssertionError: if it ended in another state than `state` (None: any), with the logs of its failed tasks.
        """

        def ended() -> object:
            run = self.run(dag_id, run_id)
            return run if run["state"] in FINAL else None

        run = self.wait_until(ended, timeout, f"run {run_id} of {dag_id} to end")
        if state is not None and run["state"] != state:
            raise AssertionError(
                f"run {run_id} of {dag_id}: {run['state']}, not {state}\n{self._failures(dag_id, run_id)}"
            )
        return cast("dict[str, Any]", run)

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """The task instances of a run."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        return cast("list[dict[str, Any]]", self.api("GET", path)["task_instances"])

    def task_log(
        self, dag_id: str, run_id: str, task_id: str, try_number: int = 1, map_index: int = -1
    ) -> str:
        """The log of one try, one event a line."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/logs/{try_number}"
        content = self.api("GET", path, params={"map_index": map_index})["content"]
        return "\n".join(line if isinstance(line, str) else _line(line) for line in content)

    def xcom(
        self, dag_id: str, run_id: str, task_id: str, key: str = "return_value", map_index: int = -1
    ) -> Any:
        """A value that a task pushed."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/{key}"
        return self.api("GET", path, params={"map_index": map_index, "deserialize": False})["value"]

    def _failures(self, dag_id: str, run_id: str) -> str:
        parts = []
        for task in self.task_instances(dag_id, run_id):
            if task["state"] not in ("success", "skipped", "upstream_failed"):
                parts.append(f"--- {task['task_id']}[{task['map_index']}]: {task['state']}")
                if task["try_number"]:
                    parts.append(
                        self.task_log(dag_id, run_id, task["task_id"], task["try_number"], task["map_index"])
                    )
        return "\n".join(parts)


def _line(event: dict[str, Any]) -> str:
    extras = {
        key: value
        for key, value in event.items()
        if key not in ("event", "timestamp", "level", "logger", "loc")
    }
    text = f"{event.get('timestamp') or ''} {event.get('level') or ''} {event.get('event')}"
    return f"{text} {extras}" if extras else text
