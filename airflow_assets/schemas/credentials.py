"""How a task proves to the API who it is: the managed connection, its secret, and the claims of the token.

Both sides of the wire use this module: the client signs, the API verifies, the bridge creates and rotates.
The secret lives in the *extra* of the Airflow connection ``airflow_assets_default``::

    {"secret": "<43 characters>", "previous_secret": "...", "previous_until": "2026-03-29T07:10:00.000000Z"}

``previous_secret`` is there for ten minutes after a rotation. Login, password and host of the connection are
never used by the managed credentials: they are for clients that log in as a user.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow_assets.exceptions import NotAuthenticated
from airflow_assets.schemas.base import Schema, iso

CONN_ID = "airflow_assets_default"
CONN_TYPE = "airflow-assets"
AUDIENCE = "airflow-assets"
ALGORITHM = "HS256"
MAX_LIFETIME = timedelta(seconds=60)
ROTATION_OVERLAP = timedelta(minutes=10)
TENANT_HEADER = "X-Airflow-Assets-Tenant"
"""Which tenant a request is about; without it the default tenant."""
FENCING_HEADER = "Airflow-Assets-Fencing-Tokens"
"""Asset id -> fencing number of the lock under which a request writes: base64url of a JSON object."""

_SUBJECT = re.compile(r"(ti|trigger|parse):(.+)", re.DOTALL)


class Claims(Schema):
    """What a managed token says about its bearer, beside ``aud``, ``iat`` and ``exp``.

    :param sub: ``ti:<task instance uuid>``, ``trigger:<id>`` or ``parse:<file>``; the rest is for ``ti:``.

    In the token the names are camelCase, as everywhere in JSON: :meth:`to_json`, ``Claims.model_validate``.
    """

    sub: str
    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    map_index: int | None = None
    try_number: int | None = None

    @property
    def kind(self) -> str:
        """``ti``, ``trigger`` or ``parse``."""
        return self._subject()[0]

    @property
    def subject_id(self) -> str:
        """What stands behind the colon of ``sub``."""
        return self._subject()[1]

    def _subject(self) -> tuple[str, str]:
        found = _SUBJECT.fullmatch(self.sub)
        if not found:
            raise NotAuthenticated(f"The token's subject {self.sub!r} is none that the catalogue knows.")
        return found[1], found[2]


@dataclass(frozen=True)
class ManagedSecret:
    """The secret of the managed connection; its representation never shows it."""

    current: str
    previous: str | None = None
    previous_until: datetime | None = None

    def __repr__(self) -> str:
        return f"ManagedSecret(current='***', previous_until={self.previous_until})"

    @classmethod
    def generate(cls) -> ManagedSecret:
        """Return a new random secret of 256 bits."""
        return cls(secrets.token_urlsafe(32))

    def rotated(self, now: datetime) -> ManagedSecret:
        """Return a new secret beside which this one stays valid for ten minutes after ``now`` (aware)."""
        return ManagedSecret(secrets.token_urlsafe(32), self.current, now + ROTATION_OVERLAP)

    def accepted(self, now: datetime | None = None) -> tuple[str, ...]:
        """Return the secrets that verify a token at ``now`` (aware, default: this host's clock)."""
        moment = now or datetime.now(timezone.utc)
        if self.previous and self.previous_until and moment < self.previous_until:
            return (self.current, self.previous)
        return (self.current,)

    def to_extra(self) -> str:
        """Return the text for the connection's *extra*."""
        extra: dict[str, Any] = {"secret": self.current}
        if self.previous and self.previous_until:
            extra |= {"previous_secret": self.previous, "previous_until": iso(self.previous_until)}
        return json.dumps(extra)

    @classmethod
    def from_extra(cls, extra: dict[str, Any]) -> ManagedSecret | None:
        """Read a connection's decoded *extra*; None if it holds no secret."""
        current = extra.get("secret")
        if not current:
            return None
        until = extra.get("previous_until")
        previous_until = datetime.fromisoformat(until.replace("Z", "+00:00")) if until else None
        return cls(str(current), extra.get("previous_secret"), previous_until)
