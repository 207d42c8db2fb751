"""Both sides of `query`, over HTTP on one API server with one keep-alive client.

usage: query_load.py airflow|ours PORT TOKEN. `{"do": "find", "count": n}` answers with the milliseconds of n
searches, each until 50 matching assets are there, sorted by name; `{"do": "walk", "pages": n, "edge": k}`
with the milliseconds of each of the first k and the last k pages of 100.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from typing import Any

from loop import Request, serve

side, port, token = sys.argv[1], int(sys.argv[2]), sys.argv[3]
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
PAGE = 100


def call(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{method} {path}: {answer.status} {content[:2000]!r}")
    found: dict[str, Any] = json.loads(content)
    return found


def airflow_page(offset: int) -> list[dict[str, Any]]:
    page = call("GET", f"/api/v2/assets?order_by=name&limit={PAGE}&offset={offset}")
    assets: list[dict[str, Any]] = page["assets"]
    return assets


def airflow_find(team: str) -> int:
    """Airflow filters by no metadata: read pages in order and filter here, until 50 are found."""
    found, offset = 0, 0
    while found < 50:
        page = airflow_page(offset)
        offset += PAGE
        found += sum(asset["extra"]["owner"] == team and asset["extra"]["tier"] >= 2 for asset in page)
        if not page:
            break
    return min(found, 50)


def our_find(team: str) -> int:
    conditions = [
        {"field": "owner", "type": "EQUAL_TO", "value": team},
        {"field": "tier", "type": "GREATER_THAN_OR_EQUAL_TO", "value": 2},
    ]
    page = call(
        "POST", "/airflow_assets/api/v1/search", {"metadataQuery": conditions, "sort": "id", "limit": 50}
    )
    return len(page["items"])


def airflow_walk(pages: int, edge: int) -> list[float]:
    wanted = [*range(edge), *range(pages - edge, pages)]
    return [timed(lambda number=number: airflow_page(number * PAGE)) for number in wanted]  # type: ignore[misc]


def our_walk(pages: int, edge: int) -> list[float]:
    """Every page is read, since a cursor comes only from the page before; the first and last are timed."""
    times: list[float] = []
    cursor = None
    for _ in range(pages):
        started = time.perf_counter()
        query = {"sort": "id", "limit": PAGE, **({"cursor": cursor} if cursor else {})}
        page = call("POST", "/airflow_assets/api/v1/search", query)
        times.append((time.perf_counter() - started) * 1e3)
        cursor = page["nextCursor"]
    return times[:edge] + times[-edge:]


def timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


FIND = {"airflow": airflow_find, "ours": our_find}[side]
WALK = {"airflow": airflow_walk, "ours": our_walk}[side]


def work(request: Request) -> Request:
    if request["do"] == "walk":
        return {"times": WALK(request["pages"], request["edge"])}
    times = []
    for number in range(request["count"]):
        started = time.perf_counter()
        found = FIND(f"team{number % 10}")
        times.append((time.perf_counter() - started) * 1e3)
        if found != 50:
            raise SystemExit(f"{side}: {found} assets found instead of 50")
    return {"times": times}


serve(work)
