"""What a request says about who asks: a token given, a token for a login, or a managed token signed here."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from airflow_assets import config
from airflow_assets.client.identity import current_claims
from airflow_assets.exceptions import NotAuthenticated
from airflow_assets.schemas.credentials import ALGORITHM, AUDIENCE, MAX_LIFETIME

if TYPE_CHECKING:
    from airflow_assets.client.connection import Connection
    from airflow_assets.client.options import Options

RENEW_BEFORE_EXPIRY = 60.0
SHORTEST_LIFETIME = 10.0


class Credentials(Protocol):
    """:param renewable: a refused token may be replaced by a newer one."""

    renewable: bool

    def describe(self) -> str:
        """Say in the words of an error message what was shown to the server, without any secret."""
        ...


@dataclass(frozen=True)
class Bearer:
    """A token somebody else obtained."""

    token: str = field(repr=False)
    origin: str
    renewable: bool = False

    def describe(self) -> str:  # noqa: D102
        return f"the token of {self.origin}"


@dataclass(frozen=True)
class Login:
    """A user name and password, exchanged for a token at Airflow's ``/auth/token``."""

    username: str
    password: str = field(repr=False)
    origin: str
    renewable: bool = True

    def describe(self) -> str:  # noqa: D102
        return f"the login {self.username!r} of {self.origin}"

    def key(self, address: str) -> tuple[str, str, bytes]:
        """Identify the tokens this login may use again."""
        return address, self.username, hashlib.sha256(self.password.encode()).digest()


@dataclass(frozen=True)
class Managed:
    """The secret of the managed connection; signs a token for each request."""

    secret: str = field(repr=False)
    conn_id: str
    renewable: bool = True

    def describe(self) -> str:  # noqa: D102
        return (
            f"a token signed with the secret of the Airflow connection {self.conn_id!r} "
            f"(fingerprint {fingerprint(self.secret)}), read from {where_read(self.conn_id)}"
        )

    def sign(self, now: float | None = None) -> str:
        """Return a token for whoever runs here, valid for at most 60 seconds from ``now`` (epoch seconds)."""
        import jwt

        issued = int(time.time() if now is None else now)
        claims = current_claims().model_dump(mode="json", by_alias=True, exclude_none=True)
        times = {"aud": AUDIENCE, "iat": issued, "exp": issued + int(MAX_LIFETIME.total_seconds())}
        return jwt.encode({**claims, **times}, self.secret, algorithm=ALGORITHM)


def choose(options: Options, connection: Connection | None) -> Bearer | Login | Managed:
    """Return how to prove who asks: arguments before the connection, a login before the managed secret.

    :raises NotAuthenticated: there is nothing to show.
    """
    if options.token:
        return Bearer(options.token, "the arguments")
    if options.username and options.password:
        return Login(options.username, options.password, "the arguments")
    origin = f"the Airflow connection {options.conn_id!r}"
    if connection and connection.token:
        return Bearer(connection.token, origin)
    if connection and connection.username and connection.password:
        return Login(connection.username, connection.password, origin)
    if connection and connection.secret:
        _check_managed_allowed(origin)
        return Managed(connection.secret.current, options.conn_id)
    raise NotAuthenticated(
        f"There is nothing to log in with: {origin} holds no token, no login and no secret.",
        hint="Give the connection one of them, or delete it if it is the managed one: it is created again.",
    )


def _check_managed_allowed(origin: str) -> None:
    mode = config.task_auth()
    if mode != "managed":
        raise NotAuthenticated(
            f"[airflow_assets] task_auth is {mode!r}, so the secret of {origin} is not accepted.",
            hint="Put a token, or login and password, into the connection.",
        )


def fingerprint(secret: str) -> str:
    """Return 8 digits by which two people can compare a secret without showing it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]


def where_read(conn_id: str) -> str:
    """Say where Airflow takes a connection from in this process."""
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    if variable in os.environ:
        return f"the environment variable {variable}"
    from airflow.configuration import conf

    own: Any = conf
    for section, option in (("workers", "secrets_backend"), ("secrets", "backend")):
        if backend := own.get(section, option, fallback=None):
            return f"the secrets backend {backend} ([{section}] {option}) or, if it is not there, Airflow"
    return "Airflow's own connections"


class TokenStore:
    """Tokens obtained for logins, until shortly before they expire."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, str, bytes], tuple[float, str]] = {}

    def get(self, key: tuple[str, str, bytes]) -> str | None:
        """Return a token that is still valid for a while."""
        with self._lock:
            until, token = self._tokens.get(key, (0.0, ""))
        return token if time.time() < until else None

    def keep(self, key: tuple[str, str, bytes], token: str) -> str:
        """Keep a token for as long as it says it is valid."""
        with self._lock:
            self._tokens[key] = (_usable_until(token), token)
        return token

    def drop(self, key: tuple[str, str, bytes]) -> None:
        """Forget a token that was refused."""
        with self._lock:
            self._tokens.pop(key, None)


def _usable_until(token: str) -> float:
    import jwt

    now = time.time()
    try:
        expires = float(jwt.decode(token, options={"verify_signature": False}).get("exp", 0))
    except jwt.InvalidTokenError:
        expires = 0.0  # An opaque token: use it briefly, a refusal renews it anyway.
    lifetime = max(expires - now, 0.0)
    return now + max(lifetime - RENEW_BEFORE_EXPIRY, min(lifetime, SHORTEST_LIFETIME) / 2)


tokens = TokenStore()


def _after_fork() -> None:
    tokens.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_after_fork)
