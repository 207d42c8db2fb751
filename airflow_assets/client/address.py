"""Where the API server is. One order, for every process; the first that is set wins.

1. the argument ``api_url``
2. the host of the Airflow connection
3. ``[airflow_assets] api_url``
4. ``[core] execution_api_server_url`` without its ``/execution``: what every worker has
5. ``[api] base_url``; a path alone is completed with ``http://localhost`` and ``[api] port``
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from airflow_assets import config
from airflow_assets.client import settings
from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.operations import API_PREFIX


@dataclass(frozen=True)
class Address:
    """An address of the API server (Airflow's base path included, no slash at the end) and its origin."""

    url: str
    origin: str

    @property
    def api(self) -> str:
        """Address of the catalogue's API."""
        return self.url + API_PREFIX

    @property
    def tokens(self) -> str:
        """Address at which Airflow exchanges a login for a token."""
        return self.url + "/auth/token"


def find_address(argument: str | None, connection_url: str | None, conn_id: str) -> Address:
    """Return the address, in the order of this module.

    >>> find_address("https://airflow.example.com/af/", None, "airflow_assets_default").api
    'https://airflow.example.com/af/airflow_assets/api/v1'
    """
    if argument:
        return Address(_checked(argument, "the argument api_url"), "the argument api_url")
    if connection_url:
        origin = f"the Airflow connection {conn_id!r}"
        return Address(_checked(connection_url, origin), origin)
    return _configured()


def _configured() -> Address:
    own = config.api_url()
    if own:
        return Address(_checked(own, "[airflow_assets] api_url"), "[airflow_assets] api_url")
    execution = (settings.execution_api_url() or "").rstrip("/")
    if execution.endswith("/execution"):
        origin = "[core] execution_api_server_url"
        return Address(_checked(execution.removesuffix("/execution"), origin), origin)
    base = (settings.base_url() or "").rstrip("/")
    if base.startswith("/") or not base:
        return Address(f"http://localhost:{settings.api_port()}{base}", "[api] base_url and port")
    return Address(_checked(base, "[api] base_url"), "[api] base_url")


def _checked(url: str, origin: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidRequest(
            f"The address {url!r} of {origin} is not an http or https URL.",
            hint="Write it like https://airflow.example.com/base-path.",
            field="api_url",
            value=url,
        )
    return url.strip().rstrip("/").removesuffix(API_PREFIX).rstrip("/")
