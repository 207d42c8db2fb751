"""Every error a user of the catalogue can meet.

::

    AssetCatalogError
    ├── InvalidRequest               422  a value breaks a rule; names field, limit and value
    │   ├── InvalidAsset             422  an asset's id, type, metadata ... breaks a rule
    │   ├── InvalidQuery             422  a filter or metadata query cannot be understood
    │   ├── InvalidCursor            400  a page cursor was not made by this catalogue
    │   ├── MethodNotAllowed         405  the address exists, with another HTTP method
    │   └── RequestTooLarge          413  the body is larger than the API reads
    ├── NotAuthenticated             401  no credentials, or credentials that are not valid
    ├── NotPermitted                 403  the caller may not do this
    │   └── NamespaceNotAllowed      403  the namespace is closed to the caller
    ├── NotFound                     404
    │   ├── AssetNotFound            404
    │   └── EventNotFound            404
    ├── Conflict                     409
    │   └── AssetAlreadyExists       409
    ├── AssetLocked                  423  somebody else holds the asset's lock
    │   └── LockLost                 423  the lock that the code wrote under is no longer its own
    └── CatalogUnavailable           503  the catalogue could not be reached or is overloaded

The errors of assets written in Python (``AssetDefinitionError``, ``GraphValidationError`` and so on) can be
imported from here too; :mod:`airflow_assets.authoring.errors` says what each means.

Over HTTP an error travels as a problem document (RFC 9457); :meth:`AssetCatalogError.to_problem` and
:func:`from_problem` are the two directions. ``code`` is stable and has a page ``docs/errors/<code>.md``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_assets.authoring.errors import (
    AssetDefinitionError,
    AssetNotFoundError,
    AssetOutputValidationError,
    ConfigurationError,
    ExecutionError,
    GraphValidationError,
    InvalidMetadataError,
    NodeNotFoundError,
    PartitionDefinitionError,
    PartitionValidationError,
    ResultDefinitionError,
    ScheduleDefinitionError,
    SchemaMigrationNeededError,
    SensorDefinitionError,
    StorageError,
    TaskDefinitionError,
)
from airflow_assets.schemas.case import camel, snake

__all__ = [
    "AssetAlreadyExists", "AssetCatalogError", "AssetDefinitionError", "AssetLocked", "AssetNotFound",
    "AssetNotFoundError", "AssetOutputValidationError", "CatalogUnavailable", "ConfigurationError",
    "Conflict", "EventNotFound", "ExecutionError", "GraphValidationError", "InvalidAsset", "InvalidCursor",
    "InvalidMetadataError", "InvalidQuery", "InvalidRequest", "LockLost", "MethodNotAllowed",
    "NamespaceNotAllowed", "NodeNotFoundError", "NotAuthenticated", "NotFound", "NotPermitted",
    "PartitionDefinitionError", "PartitionValidationError", "RequestTooLarge", "ResultDefinitionError",
    "ScheduleDefinitionError", "SchemaMigrationNeededError", "SensorDefinitionError", "StorageError",
    "TaskDefinitionError", "from_problem",
]  # fmt: skip

PROBLEM_PREFIX = "urn:airflow-assets:problem:"
_SHOWN_VALUE = 200


class AssetCatalogError(Exception):
    """Base of all errors of the catalogue.

    :param detail: what happened, in one sentence that names the thing and the value.
    :param hint: the way out, in one sentence.
    :param members: extra members of the problem document (for example ``field``, ``limit``, ``value``).
    """

    code: ClassVar[str] = "catalog-error"
    title: ClassVar[str] = "Asset catalogue error"
    status: ClassVar[int] = 500

    def __init__(self, detail: str, *, hint: str | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.members = {name: _shown(value) for name, value in members.items() if value is not None}

    def __str__(self) -> str:
        return f"{self.detail} {self.hint}" if self.hint else self.detail

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.detail, self.hint, self.members)

    def to_problem(self) -> dict[str, Any]:
        """Return the RFC 9457 document of this error."""
        problem = {
            "type": PROBLEM_PREFIX + self.code,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.hint:
            problem["hint"] = self.hint
        return {**problem, **{camel(name): value for name, value in self.members.items()}}


class InvalidRequest(AssetCatalogError):
    """A value breaks a rule; the members name field, limit and value."""

    code, title, status = "invalid-request", "Invalid request", 422


class InvalidAsset(InvalidRequest):
    """An asset's id, type, metadata or another member breaks a rule."""

    code, title = "invalid-asset", "Invalid asset"


class InvalidQuery(InvalidRequest):
    """A filter or a metadata query cannot be understood."""

    code, title = "invalid-query", "Invalid query"


class InvalidCursor(InvalidRequest):
    """A page cursor was not made by this catalogue, or for another query."""

    code, title, status = "invalid-cursor", "Invalid cursor", 400


class MethodNotAllowed(InvalidRequest):
    """The address exists, the method does not."""

    code, title, status = "method-not-allowed", "Method not allowed", 405


class RequestTooLarge(InvalidRequest):
    """The body is larger than a request may be."""

    code, title, status = "request-too-large", "Request too large", 413


class NotAuthenticated(AssetCatalogError):
    """No credentials came with the request, or they are not valid."""

    code, title, status = "not-authenticated", "Not authenticated", 401


class NotPermitted(AssetCatalogError):
    """The caller may not do this."""

    code, title, status = "not-permitted", "Not permitted", 403


class NamespaceNotAllowed(NotPermitted):
    """The namespace is closed to the caller."""

    code, title = "namespace-not-allowed", "Namespace not allowed"


class NotFound(AssetCatalogError):
    """What was asked for does not exist for the caller."""

    code, title, status = "not-found", "Not found", 404


class AssetNotFound(NotFound):
    """There is no such asset, or it is deleted or hidden."""

    code, title = "asset-not-found", "Asset not found"


class EventNotFound(NotFound):
    """There is no such event in the log."""

    code, title = "event-not-found", "Event not found"


class Conflict(AssetCatalogError):
    """The write contradicts what is stored."""

    code, title, status = "conflict", "Conflict", 409


class AssetAlreadyExists(Conflict):
    """The id belongs to an asset already."""

    code, title = "asset-already-exists", "Asset already exists"


class AssetLocked(AssetCatalogError):
    """Somebody else holds the asset's lock."""

    code, title, status = "asset-locked", "Asset locked", 423


class LockLost(AssetLocked):
    """The lock that the code wrote under is no longer its own; the client raises it, no answer carries it."""

    code, title = "lock-lost", "Lock lost"


class CatalogUnavailable(AssetCatalogError):
    """The catalogue could not be reached, or is overloaded."""

    code, title, status = "catalog-unavailable", "Catalogue unavailable", 503


def from_problem(problem: dict[str, Any]) -> AssetCatalogError:
    """Return the typed error of a problem document; an unknown type gives :class:`AssetCatalogError`."""
    code = str(problem.get("type", "")).removeprefix(PROBLEM_PREFIX)
    detail = str(problem.get("detail") or problem.get("title") or "The catalogue answered with an error.")
    own = {"type", "title", "status", "detail", "hint"}
    members = {snake(name): value for name, value in problem.items() if name not in own}
    return _rebuild(_by_code().get(code, AssetCatalogError), detail, problem.get("hint"), members)


def _by_code() -> dict[str, type[AssetCatalogError]]:
    found: dict[str, type[AssetCatalogError]] = {}
    pending: list[type[AssetCatalogError]] = [AssetCatalogError]
    while pending:
        kind = pending.pop()
        found[kind.code] = kind
        pending.extend(kind.__subclasses__())
    return found


def _rebuild(
    kind: type[AssetCatalogError], detail: str, hint: str | None, members: dict[str, Any]
) -> AssetCatalogError:
    error = kind(detail, hint=hint)
    error.members = members
    return error


def _shown(value: Any) -> Any:
    """Cut long texts: an error must stay readable when the value is what was too long."""
    if isinstance(value, str) and len(value) > _SHOWN_VALUE:
        return f"{value[:_SHOWN_VALUE]}... ({len(value)} characters)"
    return value
