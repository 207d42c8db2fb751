"""The API in this process: a migrated scratch database, Airflow's auth manager, our application where it is mounted."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.asgi import AsgiClient

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = ("viewer", "user", "op", "admin")


@pytest.fixture(scope="session")
def airflow_database() -> None:
    """Airflow's tables and ours in this process's own database."""
    os.environ |= {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{role}:{role}" for role in ROLES),
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of these tests only, which is long enough for HS512 .........",
    }
    done = subprocess.run(
        [sys.executable, "-m", "airflow", "db", "migrate"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture(scope="session")
def client(airflow_database: None) -> Iterator[AsgiClient]:
    """Our application, mounted as Airflow mounts it; background jobs do not run."""
    from airflow.api_fastapi.app import init_auth_manager
    from fastapi import FastAPI

    from airflow_assets.api.app import create_app
    from airflow_assets.schemas.operations import MOUNT

    root = FastAPI()
    init_auth_manager(root)
    root.mount(MOUNT, create_app())
    with AsgiClient(root) as running:
        yield running


def user_headers(role: str) -> dict[str, str]:
    """Log in as the user of a role."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=role, role=role))
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="session")
def admin(client: AsgiClient) -> Any:
    """Call an operation's address as the user admin: `admin("GET", "/assets", params=...)`."""
    return caller(client, user_headers("admin"))


def caller(client: AsgiClient, headers: dict[str, str]) -> Any:
    """Return a function that sends requests below the API's prefix with these headers."""
    from airflow_assets.schemas.operations import API_PREFIX

    def call(method: str, path: str, **arguments: Any) -> Any:
        sent = {**headers, **arguments.pop("headers", {})}
        return client.request(method, API_PREFIX + path, headers=sent, **arguments)

    return call
