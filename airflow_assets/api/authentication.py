"""From a request's credentials to an :mod:`identity <airflow_assets.api.identities>`, in two steps.

A bearer token with our audience is a *managed* token (a task, a trigger, a Dag file); every other credential
is Airflow's own: a bearer token or the session cookie of a user. :func:`authenticate` verifies either in the
event loop, before anything else of a request is read; who it is then asks Airflow's tables, in the worker
thread that also does the work.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any

import jwt
from anyio import CapacityLimiter, to_thread
from pydantic import ValidationError
from starlette.requests import Request

from airflow_assets import config
from airflow_assets.airflow_bridge import managed_connection, task_instances, users
from airflow_assets.airflow_bridge.task_instances import TaskTry
from airflow_assets.api.identities import Identity, ReaderIdentity, TaskIdentity, UserIdentity
from airflow_assets.exceptions import NotAuthenticated
from airflow_assets.schemas.credentials import ALGORITHM, AUDIENCE, CONN_ID, MAX_LIFETIME, Claims

REFRESH_EVERY = 1.0
"""Seconds between two look-ups of the secret for tokens that fit none that is known."""
LEEWAY = timedelta(seconds=10)
"""How far the clocks of worker and server may be apart."""
_CHECKS: dict[str, Any] = {
    "algorithms": [ALGORITHM],
    "audience": AUDIENCE,
    "leeway": LEEWAY,
    "options": {"require": ["exp", "iat", "aud", "sub"], "strict_aud": True},
}
_TIMES = frozenset({"aud", "iat", "exp"})


class _Refresh:
    """Lets a token that fits no known secret have it read anew, once a second: anybody can send one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = float("-inf")

    def due(self) -> bool:
        """Whether it is time to read the secret again; if so, it is not for the next second."""
        with self._lock:
            now = time.monotonic()
            if now - self._last < REFRESH_EVERY:
                return False
            self._last = now
            return True


_refresh = _Refresh()


async def authenticate(request: Request, limiter: CapacityLimiter | None = None) -> Callable[[], Identity]:
    """Verify the credentials and return what tells who sends this request; call that in a worker thread.

    What is returned may raise :class:`NotAuthenticated` too: a valid token of a task that Airflow does not
    know.

    :param limiter: bounds the worker threads in which the secret is read, when it is not remembered.
    :raises NotAuthenticated: no credentials, or credentials that are not valid.
    """
    token = _bearer(request)
    if token is not None and _is_managed(token):
        _check_managed_tokens_are_on()
        payload = _decoded(token, managed_connection.remembered_secrets())
        if payload is None:
            payload = await to_thread.run_sync(_payload, token, limiter=limiter)
        return partial(_identity, _claims(payload))
    user = UserIdentity(await users.user_of(request), through_ui=token is None)
    return lambda: user


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _is_managed(token: str) -> bool:
    """Tell whether a token says that it is meant for us; whether that is true is another question."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError):
        return False
    return isinstance(claims, dict) and claims.get("aud") == AUDIENCE


def _check_managed_tokens_are_on() -> None:
    mode = config.task_auth()
    if mode != "managed":
        raise NotAuthenticated(
            f"Managed tokens are switched off here: [airflow_assets] task_auth is {mode}.",
            hint="Give the connection a token or a login of an Airflow user."
            if mode == "user"
            else "Tasks have no access to the catalogue on this site.",
        )


def _identity(claims: Claims) -> Identity:
    if claims.kind == "trigger":
        find_dag = partial(task_instances.dag_of_trigger, claims.subject_id)
        return ReaderIdentity.trigger(claims.subject_id, find_dag)
    if claims.kind == "parse":
        return ReaderIdentity.dag_file(claims.subject_id)
    return TaskIdentity(_own_try(claims))


def _claims(payload: dict[str, Any]) -> Claims:
    lifetime = int(payload["exp"]) - int(payload["iat"])
    if lifetime > MAX_LIFETIME.total_seconds():
        raise NotAuthenticated(
            f"The token lives for {lifetime:,} s.",
            hint=f"A managed token may live for at most {MAX_LIFETIME.total_seconds():.0f} s.",
        )
    try:
        return Claims.model_validate({key: value for key, value in payload.items() if key not in _TIMES})
    except ValidationError as error:
        raise NotAuthenticated(
            f"The token's claims are not understood: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}.",
            hint="Use the same version of the provider on both sides.",
        ) from None


def _payload(token: str) -> dict[str, Any]:
    payload = _decoded(token, managed_connection.resolve_secrets())
    if payload is None and _refresh.due():  # the secret may have been rotated by another process just now
        payload = _decoded(token, managed_connection.resolve_secrets(fresh=True))
    if payload is not None:
        return payload
    where = managed_connection.supplied_by() or "Airflow's database"
    raise NotAuthenticated(
        "The token is signed with another secret than this API server has; it looked for the connection "
        f"{CONN_ID} in {where}.",
        hint="Workers and API server must find the same connection: `airflow assets-catalog doctor` compares "
        "them. Without one, run `airflow db migrate`.",
    )


def _decoded(token: str, secrets: list[bytes]) -> dict[str, Any] | None:
    """Return the claims; None if no secret fits the signature."""
    for secret in secrets:
        try:
            return jwt.decode(token, _key(secret), **_CHECKS)
        except jwt.InvalidSignatureError:
            continue
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise NotAuthenticated(
                f"The token is not valid now: {error}.",
                hint=f"The clocks of worker and server may differ by {LEEWAY.total_seconds():.0f} s at most.",
            ) from None
        except jwt.InvalidTokenError as error:
            raise NotAuthenticated(f"The token is not valid: {error}.") from None
    return None


@lru_cache(maxsize=4)
def _key(secret: bytes) -> jwt.PyJWK:
    """The secret in a form that need not be examined again for every token."""
    text = base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
    return jwt.PyJWK({"kty": "oct", "k": text, "alg": ALGORITHM})


def _own_try(claims: Claims) -> TaskTry:
    found = task_instances.find_try(claims.subject_id)
    if found is None:
        raise NotAuthenticated(f"Airflow has no task instance {claims.subject_id!r}, now or before.")
    said = (claims.dag_id, claims.run_id, claims.task_id, claims.map_index, claims.try_number)
    known = (found.dag_id, found.run_id, found.task_id, found.map_index, found.try_number)
    if said != known:
        raise NotAuthenticated(
            f"The token says that task instance {claims.subject_id} is {said}; Airflow says {known}."
        )
    return found
