"""What a caller says about the connection to the catalogue, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_assets.exceptions import InvalidRequest

DEFAULT_CONN_ID = "airflow_assets_default"


@dataclass(frozen=True)
class Options:
    """Arguments of :func:`airflow_assets.client.get_client`; empty texts count as not given."""

    conn_id: str = DEFAULT_CONN_ID
    api_url: str | None = None
    tenant: str | None = None
    token: str | None = None
    username: str | None = None
    password: str | None = None
    patience: float | None = None

    def __post_init__(self) -> None:
        check_login(self.token, self.username, self.password, "the arguments")

    def __repr__(self) -> str:
        return f"Options(conn_id={self.conn_id!r}, api_url={self.api_url!r}, tenant={self.tenant!r})"

    @property
    def log_in(self) -> bool:
        """Whether the arguments themselves say who asks."""
        return bool(self.token or self.username)


def check_login(token: str | None, username: str | None, password: str | None, where: str) -> None:
    """Refuse two ways to log in at once, and half of one.

    :param where: names the place in the message, such as "the arguments".
    :raises InvalidRequest: names what is too much or missing.
    """
    if token and (username or password):
        raise InvalidRequest(
            f"Both a token and a login are given in {where}.",
            hint="Give the token, or username and password, not both.",
            field="token",
        )
    if bool(username) != bool(password):
        given, missing = ("username", "password") if username else ("password", "username")
        raise InvalidRequest(
            f"Only the {given} is given in {where}.", hint=f"Give the {missing} too.", field=missing
        )
