"""The settings of an Airflow under test: everything by environment, quick intervals, loopback only."""

from __future__ import annotations

import base64
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Name, role and password of each user of SimpleAuthManager are the same word.
USERS = ("admin", "op", "user", "viewer")
# What the processes may keep of the developer's environment. No AIRFLOW__* of theirs gets in.
INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def secrets_and_users(home: Path) -> dict[str, str]:
    """Fresh keys, and the users of SimpleAuthManager with their password file in `home`."""
    passwords = home / "passwords.json"
    passwords.write_text(json.dumps({user: user for user in USERS}))
    return {
        "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{user}" for user in USERS),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(16),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
    }


_DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
_PATIENCE = "?timeout=30"


@dataclass(frozen=True)
class AirflowSettings:
    """Where one Airflow lives and how it differs from the defaults of the tests.

    Attributes:
        home: `AIRFLOW_HOME`, made if it is not there.
        port: of the API server, on 127.0.0.1.
        database_url: SQLAlchemy URL with its driver; empty means a SQLite file in `home`.
        dags: the Dags folder; `home/dags` if not given.
        executor: class name or path.
        env: further variables; they win.
    """

    home: Path
    port: int
    database_url: str = ""
    dags: Path | None = None
    executor: str = "LocalExecutor"
    env: dict[str, str] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        """Address of the API server, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def dags_folder(self) -> Path:
        """Where the Dag files are."""
        return self.dags or self.home / "dags"

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the metadata database."""
        return self.database_url or f"sqlite:///{self.home}/airflow.db{_PATIENCE}"

    def of_component(self, component: str, environment: dict[str, str]) -> dict[str, str]:
        """Return the environment of one component.

        On a busy machine SQLite is locked for longer than Airflow's five seconds. But the API server commits
        the entry of its audit log on the event loop, which others need to commit and let go of the lock: it
        would only stand still for longer.
        """
        if component != "api-server":
            return environment
        return {**environment, _DATABASE: environment[_DATABASE].removesuffix(_PATIENCE)}

    def environment(self) -> dict[str, str]:
        """Make the folders and the password file, and return the whole environment of Airflow's processes."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.dags_folder.mkdir(parents=True, exist_ok=True)
        settings = {
            **secrets_and_users(self.home),
            "AIRFLOW__CORE__EXECUTOR": self.executor,
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags_folder),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.base_url}/execution/",
            _DATABASE: self.url,
            "AIRFLOW__API__BASE_URL": self.base_url,
            "AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC": "2",
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
            "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "2",
            # How long the triggers of a killed triggerer wait before another one takes them over.
            "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "2",
            "AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "1",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.home / "logs"),
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        }
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        own = {
            "HOME": str(self.home),
            "AIRFLOW_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),  # the scheduler imports executors of tests.support
            "PYTHONUNBUFFERED": "1",
        }
        return {**inherited, **own, **settings, **self.env}
