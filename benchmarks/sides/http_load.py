"""Both sides of `http`: keep-alive clients on one API server, with as little client work as can be.

usage: http_load.py airflow|ours PORT SETTINGS, where SETTINGS is a JSON file: `token` (Airflow's user) and
`secret` (of the managed connection). A task signs a token for each request, as the provider's client does.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import jwt
from loop import serve_records

side, port, settings = sys.argv[1], int(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())
local = threading.local()


def post(path: str, token: str, body: dict[str, Any]) -> None:
    """Send one request on this thread's connection; anything but a 2xx ends the benchmark."""
    connection = getattr(local, "connection", None)
    if connection is None:
        connection = local.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.connect()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status >= 300:
        raise SystemExit(f"POST {path}: {answer.status} {content[:2000]!r}")


def metadata(number: int) -> dict[str, Any]:
    return {"rows": number, "owner": f"team{number % 10}", "tier": number % 5}


def airflow(number: int) -> None:
    asset = settings["assets"][number % 200]
    post("/api/v2/assets/events", settings["token"], {"asset_id": asset, "extra": metadata(number)})


def ours(number: int) -> None:
    task = {"dagId": "bench", "runId": "bench", "taskId": "bench", "mapIndex": number, "tryNumber": 1}
    ti_id = str(uuid.UUID(int=number))
    now = int(time.time())
    claims = {**task, "sub": f"ti:{ti_id}", "aud": settings["audience"], "iat": now, "exp": now + 60}
    output = {"id": f"a{number % 200}", "type": "airflow_assets.types.Table", "metadata": metadata(number)}
    record = {
        "task": {**task, "tiId": ti_id},
        "state": "success",
        "bundles": [{"inputs": [], "outputs": [output]}],
    }
    post("/airflow_assets/api/v1/record", jwt.encode(claims, settings["secret"], "HS256"), record)


serve_records({"airflow": airflow, "ours": ours}[side])
