"""The options of Airflow itself from which the client finds its way, one function each."""

from __future__ import annotations

from typing import Any, cast


def _get(section: str, key: str) -> str | None:
    # Here and not above: a Dag file imports what imports this.
    from airflow.configuration import conf

    value = cast("Any", conf).get(section, key, fallback=None)
    return None if value is None else str(value).strip() or None


def execution_api_url() -> str | None:
    """``[core] execution_api_server_url``: the one address that every worker has."""
    return _get("core", "execution_api_server_url")


def base_url() -> str | None:
    """``[api] base_url``."""
    return _get("api", "base_url")


def api_port() -> int:
    """``[api] port``: completes a ``base_url`` that is a path only."""
    return int(_get("api", "port") or 8080)
