"""Whether the API answers at the addresses that the parts of Airflow use, and accepts the secret."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx  # noqa: TID253 - only the doctor's checks import this module

from airflow_assets.cli.checks import Finding, skew_finding
from airflow_assets.client.address import Address, find_address
from airflow_assets.client.credentials import Managed
from airflow_assets.client.identity import speaking_as
from airflow_assets.client.options import DEFAULT_CONN_ID
from airflow_assets.schemas.credentials import Claims
from airflow_assets.schemas.queries import AssetQuery

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from airflow_assets.client.base import CatalogClient

TIMEOUT = 10.0
_WAY_OUT = (
    "Start the API server, or correct the option the address comes from: [airflow_assets] api_url for the "
    "catalogue, [core] execution_api_server_url or [api] base_url for Airflow's own."
)


def addresses() -> Iterator[Finding]:
    """Check the address of each part as this host's configuration gives it.

    The parts may run on other hosts with another configuration: run `doctor --api_url ...` there, too.
    """
    parts: dict[str, list[str]] = {}
    origins: dict[str, Address] = {}
    for part, address in _addresses_of_parts():
        parts.setdefault(address.url, []).append(f"{part} (from {address.origin})")
        origins[address.url] = address
    skew = None
    for url, named in parts.items():
        finding, skew = _ask(origins[url], skew)
        found = f"{url}, used by {', '.join(named)}: it {finding.found}"
        yield Finding("address", finding.status, found, finding.way_out)
    if skew is not None:
        yield skew_finding("the API server's", skew)


def _addresses_of_parts() -> list[tuple[str, Address]]:
    from airflow.executors.base_executor import get_execution_api_server_url

    from airflow_assets.client import settings

    here = find_address(None, None, DEFAULT_CONN_ID)
    told = get_execution_api_server_url().rstrip("/").removesuffix("/execution")
    base = (settings.base_url() or "").rstrip("/")
    server = base if base.startswith("http") else f"http://localhost:{settings.api_port()}{base}"
    return [
        ("API server", Address(server, "[api] base_url")),
        ("Execution API of workers", Address(told, "what executors tell them")),
        ("worker", here),
        ("triggerer", here),
    ]


def _ask(address: Address, skew: float | None) -> tuple[Finding, float | None]:
    from airflow_assets.airflow_bridge.managed_connection import resolve_secret

    secret = resolve_secret()
    headers = {}
    if secret is not None:
        with speaking_as(Claims(sub="parse:doctor")):
            headers["Authorization"] = f"Bearer {Managed(secret.current, DEFAULT_CONN_ID).sign()}"
    try:
        answer = httpx.get(f"{address.api}/health", headers=headers, timeout=TIMEOUT)
    except httpx.HTTPError as error:
        found = f"does not answer: {type(error).__name__}: {error}"
        return Finding("address", "problem", found, _WAY_OUT), skew
    return _judged(answer), _skew_of(answer, skew)


def _judged(answer: httpx.Response) -> Finding:
    document = _object(answer)
    status = document.get("status")
    if answer.is_success and status in {"healthy", "degraded"}:
        return Finding("address", "ok", f"answers, and accepts the secret ({status})")
    detail = document.get("detail", answer.text[:100])
    if answer.status_code in {401, 403} and document:
        return Finding(
            "address", "problem", f"answers, but refuses the secret: {detail}", document.get("hint")
            or "Server and this host must read the same connection airflow_assets_default.",
        )  # fmt: skip
    found = f"answers {answer.status_code}, which is not the catalogue: {detail}"
    return Finding("address", "problem", found, "Install the provider there, and check the base path.")


def from_here(client: CatalogClient, args: argparse.Namespace) -> Iterator[Finding]:
    """Check the way from this host: address and credentials, with the command's own login."""
    from airflow_assets.client.connection import store

    connection = None
    if not args.api_url:
        connection = store.get(args.conn_id or DEFAULT_CONN_ID)
    url = connection.url if connection else None
    address = find_address(args.api_url, url, args.conn_id or DEFAULT_CONN_ID)
    some = "some assets" if client.query_assets(AssetQuery(limit=1)).items else "no asset yet"
    yield Finding("address", "ok", f"{address.url} (from {address.origin}) answers, and shows {some}")
    skew = _skew_of(httpx.get(f"{address.api}/health", timeout=TIMEOUT), None)
    if skew is not None:
        yield skew_finding("the API server's", skew)
    yield Finding(
        "server", "note", "tables, secret, jobs and runs can only be seen on a host of the server",
        "Run `airflow assets-catalog doctor` there, without --api_url.",
    )  # fmt: skip


def _skew_of(answer: httpx.Response, known: float | None) -> float | None:
    try:
        server = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return known
    return (server - datetime.now(timezone.utc)).total_seconds()


def _object(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
