"""What the catalogue's operators share: the connection arguments, and when an argument is checked."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_assets.client.options import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from airflow_assets.client.base import CatalogClient

CONNECTION_FIELDS = ("conn_id", "api_url", "tenant")
_TEMPLATE_MARKS = ("{{", "{%", "{#")


class CatalogOperator(BaseOperator):
    """Base of the operators that call the catalogue; the sensors that do name it before Airflow's class.

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
    return value is None or isinstance(value, (int, float, timedelta, type))


def check_constants(checks: dict[Callable[[Any], Any], Any]) -> None:
    """Apply each check to its value if that is a constant; what is templated is checked in the run.

    :raises InvalidRequest: the error of the check, at parse.
    """
    for check, value in checks.items():
        if value is not None and is_constant(value):
            check(value)


def token_of(value: Any) -> int | None:
    """Return a fencing number; accepts the text of one, and nothing, as templates give them.

    :raises InvalidRequest: it is no whole number from 1.
    """
    if value in (None, "", "None"):
        return None
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if isinstance(number, int) and not isinstance(number, bool) and number >= 1:
        return number
    from airflow_assets.exceptions import InvalidRequest

    raise InvalidRequest(
        f"fencing_token must be a whole number from 1, not {value!r}.",
        hint="Give what the lock returned: lock.output['fencingToken'].",
        field="fencing_token",
        value=repr(value),
    )


def under(asset_id: str, token: Any) -> AbstractContextManager[None]:
    """Let calls inside the block carry a fencing number, if there is one."""
    from airflow_assets.client.fencing import fenced

    number = token_of(token)
    return fenced({} if number is None else {asset_id: number})
