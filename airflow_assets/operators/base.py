"""What the catalogue's operators share: the connection arguments, and when an argument is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_assets.client.options import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airflow_assets.client.base import CatalogClient

CONNECTION_FIELDS = ("conn_id", "api_url", "tenant")
_TEMPLATE_MARKS = ("{{", "{%", "{#")


class CatalogOperator(BaseOperator):
    """Base of the operators that call the catalogue.

    :param conn_id: the Airflow connection; the default one is made and kept by the provider.
    :param api_url: address of the API server, if it is not to be found by the rules of docs/connection.md.
    :param tenant: the tenant to act on, default the connection's, else ``main``.
    """

    ui_color = "#e4ebfe"
    template_fields: Sequence[str] = CONNECTION_FIELDS

    def __init__(
        self,
        *,
        conn_id: str = DEFAULT_CONN_ID,
        api_url: str | None = None,
        tenant: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.api_url = api_url
        self.tenant = tenant

    def client(self) -> CatalogClient:
        """Return the client of the connection arguments."""
        from airflow_assets.client import get_client

        return get_client(self.conn_id or DEFAULT_CONN_ID, api_url=self.api_url, tenant=self.tenant)


def is_constant(value: Any) -> bool:
    """Whether the value is final at parse: no template, no result of another task, at any depth."""
    if isinstance(value, str):
        return not any(mark in value for mark in _TEMPLATE_MARKS)
    if isinstance(value, dict):
        return all(is_constant(key) and is_constant(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(is_constant(item) for item in value)
    return value is None or isinstance(value, (int, float, type))


def check_constants(checks: dict[Callable[[Any], Any], Any]) -> None:
    """Apply each check to its value if that is a constant; what is templated is checked in the run.

    :raises InvalidRequest: the error of the check, at parse.
    """
    for check, value in checks.items():
        if value is not None and is_constant(value):
            check(value)
