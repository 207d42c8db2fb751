"""Which transport of openlineage-python an exporter uses."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import requests
from openlineage.client import OpenLineageClient

from airflow_assets.exporters.base import ExportFailed

if TYPE_CHECKING:
    from airflow.sdk import Connection

_SSL = {"ca_cert": "caCertPath", "client_cert": "clientCertPath", "client_key": "clientKeyPath"}
_PASSED = ("endpoint", "timeout", "verify", "compression")
HTTP_KINDS = frozenset({"http", "async_http"})


def client_config(exporter_id: str, uri: str | None, conn_id: str | None) -> dict[str, Any] | None:
    """Return the configuration of an ``OpenLineageClient``; None leaves it to its own files and variables.

    :raises ExportFailed: the connection says no address.
    """
    if conn_id is not None:
        from airflow.sdk import Connection

        return {"transport": _of_connection(exporter_id, Connection.get(conn_id), uri)}
    if uri is not None:
        return {"transport": {"type": "http", "url": _base(uri)}}
    return _of_provider()


def make_client(exporter_id: str, config: dict[str, Any] | None) -> OpenLineageClient:
    """Return a client that really sends.

    :raises ExportFailed: nothing is configured, or OpenLineage is switched off.
    """
    client = OpenLineageClient(config=config) if config else OpenLineageClient()
    wanted = (config or {}).get("transport", {}).get("type")
    kind = client.transport.kind
    if kind == "noop" and wanted != "noop":
        raise ExportFailed(
            f"Exporter {exporter_id!r} cannot send: OPENLINEAGE_DISABLED switches OpenLineage off. Unset it."
        )
    if kind == "console" and wanted != "console":
        raise ExportFailed(
            f"Exporter {exporter_id!r} does not know where to send: give uri= or conn_id=, or set "
            "[openlineage] transport, config_path or conn_id."
        )
    return client


def without_retries(config: dict[str, Any] | None, client: OpenLineageClient) -> dict[str, Any] | None:
    """Return the same configuration over plain HTTP with retries left to us; None if it is not over HTTP."""
    transport = dict((config or {}).get("transport") or client.config.transport or {})
    if transport.get("type") not in HTTP_KINDS:
        return None
    retry = {**(transport.get("retry") or {}), "total": 0, "read": 0, "connect": 0, "status_forcelist": []}
    return {**(config or {}), "transport": {**transport, "type": "http", "retry": retry}}


def settle_environment(transport: Any) -> None:
    """Let an HTTP transport look for proxies, a CA bundle and a netrc once, not for each of its requests.

    That look is a third of what a request costs the client.
    """
    session = transport.session
    session.proxies = requests.utils.get_environ_proxies(transport.url)
    session.auth = requests.utils.get_netrc_auth(transport.url)
    if transport.verify is True:
        bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        transport.verify = bundle or True
    session.trust_env = False


def _of_connection(exporter_id: str, conn: Connection, uri: str | None) -> dict[str, Any]:
    extra = conn.extra_dejson
    whole = extra.get("transport")
    if isinstance(whole, dict):
        return {**whole, **({"url": _base(uri)} if uri else {})}
    if not uri and not conn.host:
        raise ExportFailed(
            f"Exporter {exporter_id!r}: the connection {conn.conn_id!r} has no host and no extra 'transport' "
            "that says where to send."
        )
    transport: dict[str, Any] = {"type": extra.get("type", "http"), "url": _base(uri or _address(conn))}
    transport.update({key: extra[key] for key in _PASSED if key in extra})
    if conn.password:
        transport["auth"] = {"type": "api_key", "apiKey": conn.password}
    if isinstance(extra.get("auth"), dict):
        transport["auth"] = extra["auth"]
    if isinstance(extra.get("headers"), dict):
        transport["custom_headers"] = extra["headers"]
    ssl = {theirs: extra[ours] for ours, theirs in _SSL.items() if extra.get(ours)}
    return {**transport, **({"sslContext": ssl} if ssl else {})}


def _address(conn: Connection) -> str:
    host = str(conn.host)
    if "://" not in host:
        host = f"{conn.schema or ('https' if conn.conn_type == 'https' else 'http')}://{host}"
    return f"{host}:{conn.port}" if conn.port else host


def _base(uri: str) -> str:
    """A base without a slash at its end would lose its last part when the endpoint is joined."""
    return uri if uri.endswith("/") else f"{uri}/"


def _of_provider() -> dict[str, Any] | None:
    """What is configured for the OpenLineage provider, read by the provider itself where it is installed."""
    try:
        installed = find_spec("airflow.providers.openlineage") is not None
    except ModuleNotFoundError:
        installed = False
    if installed:
        from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter

        found: dict[str, Any] | None = OpenLineageAdapter().get_openlineage_config()
        return found
    return _of_section()


def _of_section() -> dict[str, Any] | None:
    import json

    from airflow.configuration import conf

    transport = conf.get("openlineage", "transport", fallback="")
    if transport:
        return {"transport": json.loads(transport)}
    path = conf.get("openlineage", "config_path", fallback="")
    if path:
        os.environ.setdefault("OPENLINEAGE_CONFIG", path)
    return None
