"""Walk every route of the API as every role of an auth manager; prints what each was answered as JSON.

``python -m tests.support.permission_walk simple|fab HOME``. A process of its own for each auth manager: Airflow
keeps one a process. The application is Airflow's own, with the plugin mounted as in production, on a scratch
database in HOME.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROLES = {
    "simple": ("viewer", "user", "op", "admin"),
    "fab": ("Viewer", "User", "Op", "Admin"),
}
MANAGERS = {
    "simple": "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager",
    "fab": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
}


def configure(manager: str, home: Path) -> None:
    """Set the environment; before anything imports Airflow."""
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__CORE__AUTH_MANAGER": MANAGERS[manager],
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{role}:{role}" for role in ROLES["simple"]),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this test only, long enough for HS512 ............ 64",
        "AIRFLOW__API__SECRET_KEY": "another secret of this test only",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }
    (home / "passwords.json").write_text(json.dumps({role: role for role in ROLES["simple"]}))


def tokens(manager: str) -> dict[str, str]:
    """Return a token of Airflow for one user of each role."""
    from airflow.api_fastapi.app import get_auth_manager

    if manager == "simple":
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

        users: dict[str, Any] = {
            role: SimpleAuthManagerUser(username=role, role=role) for role in ROLES["simple"]
        }
        return {role: get_auth_manager().generate_jwt(user) for role, user in users.items()}
    from airflow.providers.fab.auth_manager.cli_commands.utils import get_application_builder

    with get_application_builder() as builder:
        builder.sm.sync_roles()
        found = {}
        for role in ROLES["fab"]:
            user = builder.sm.add_user(
                role, role, role, f"{role}@example.com", builder.sm.find_role(role), password=role
            )
            found[role] = get_auth_manager().generate_jwt(user)
        return found


def walk(manager: str) -> dict[str, dict[str, int]]:
    """Return role -> "METHOD path" -> status; role ``anonymous`` sends nothing."""
    from airflow.api_fastapi.app import create_app
    from airflow.utils import db

    from tests.support.asgi import AsgiClient

    db.upgradedb()
    app = create_app(apps="core")
    headers: dict[str, dict[str, str]] = {"anonymous": {}, "impostor": {"Authorization": "Bearer x.y.z"}}
    headers |= {role: {"Authorization": f"Bearer {token}"} for role, token in tokens(manager).items()}
    with AsgiClient(app) as client:
        return {
            role: {f"{method} {path}": _status(client, method, path, sent) for method, path in _routes(app)}
            for role, sent in headers.items()
        }


def _routes(app: Any) -> list[tuple[str, str]]:
    from airflow_assets.schemas.operations import MOUNT

    mounted = next(route.app for route in app.routes if getattr(route, "path", "") == MOUNT)
    return [(method, MOUNT + route.path) for route in mounted.routes for method in sorted(route.methods)]


def _status(client: Any, method: str, path: str, headers: dict[str, str]) -> int:
    address = path.replace("{asset_id:path}", "no-such").replace("{event_id}", "no-such")
    body: dict[str, Any] | None = {} if method in {"POST", "PUT"} else None
    status: int = client.request(method, address, headers=headers, json=body).status_code
    return status


if __name__ == "__main__":
    home = Path(sys.argv[2])
    configure(sys.argv[1], home)
    (home / "walk.json").write_text(json.dumps(walk(sys.argv[1])))
