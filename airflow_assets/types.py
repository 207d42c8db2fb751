"""Assets that a Dag author declares: native Airflow assets that also say what the asset is.

They go wherever Airflow takes an ``Asset``: ``inlets=`` and ``outlets=`` of any operator or ``@task``,
``@asset.multi(outlets=...)``, ``schedule=``. Airflow's own lineage and scheduling see an ordinary asset;
when the task has ended, its outlets are written to the catalogue.

::

    orders = Table(
        "analytics.orders",
        namespace="sales",
        system="postgres",
        schema="analytics",
        metadata={"owner": "data-team", "rows": "{{ result }}"},
    )


    @task(outlets=[orders])
    def load() -> int: ...

Texts are Jinja templates, rendered after the body with the task's context and ``result`` (what it returned).
A metadata value that is one single expression keeps its type: ``"{{ result }}"`` is a number if the result
is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from airflow.sdk import Asset

from airflow_assets.exceptions import InvalidAsset
from airflow_assets.schemas import rules
from airflow_assets.schemas.declared import (
    Declared,
    extra_of,
    from_native,
    is_template,
    native_name,
)
from airflow_assets.schemas.masking import ascii_name, mask_metadata
from airflow_assets.uris import remember_uri

__all__ = ["VM", "CatalogAsset", "Dataset", "External", "File", "Table"]


class _Declared(Asset):
    """What all types share. Everything lies in ``extra``, so copies and Airflow's serialized form keep it."""

    __slots__ = ()

    def __init__(
        self,
        declared: Declared,
        *,
        fields: Mapping[str, Any],
        more: Mapping[str, Any],
        native: Mapping[str, Any],
    ) -> None:
        kind = type(self).__name__
        given = {**more, **(_mapping(kind, declared.metadata) or {})}
        given.update({name: value for name, value in fields.items() if value is not None})
        checked = _checked(kind, Declared(**{**vars(declared), "metadata": given or None}))
        name = native_name(checked.id)
        uri = _without_login(ascii_name(checked.uri) if checked.uri else name)
        extra = {**(native.get("extra") or {}), **extra_of(checked)}
        settings = {key: native[key] for key in ("watchers", "access_control") if native.get(key) is not None}
        if checked.group is not None:
            settings["group"] = checked.group
        try:
            super().__init__(name=name, uri=uri, extra=extra, **settings)
        except ValueError as error:
            raise InvalidAsset(
                f"{kind}({checked.id!r}): Airflow does not accept the URI {uri!r}: {error}",
                hint="Give it another uri=; the id stays as it is.",
                field="uri",
                value=uri,
            ) from error
        if checked.uri:
            remember_uri(name, self.uri)

    @property
    def declared(self) -> Declared:
        """The whole declaration, templates not rendered."""
        return from_native(self.name, self.uri, self.group, self.extra)

    @property
    def id(self) -> str:
        """The asset's id in the catalogue (``name`` is its ASCII form, which Airflow uses)."""
        return self.declared.id

    @property
    def type(self) -> str | None:
        """The asset's type string."""
        return self.declared.type

    @property
    def namespace(self) -> str | None:
        """The asset's namespace; None for a tenant-global asset."""
        return self.declared.namespace

    @property
    def metadata(self) -> dict[str, Any]:
        """The declared metadata, templates not rendered."""
        return dict(self.declared.metadata or {})


class CatalogAsset(_Declared):
    """An asset of any type.

    :param id: the catalogue id: 1 to 1,500 printable characters, or a template that renders to one.
    :param type: any text, compared whole and case-sensitively, for example ``"AWS_BUCKET"``.
    :param namespace: lower case label for filters and access; None is tenant-global.
    :param display_name: name for people. :param description: Markdown, at most 64 KiB.
    :param metadata: JSON, at most 256 KiB; values under sensitive keys are masked.
    :param uri: Airflow's URI of the asset; the name without it.
    :param group: Airflow's group. :param extra: further ``extra`` of the native asset; recorded as metadata.
    :param watchers: Airflow's watchers. :param access_control: Airflow's access control.
    :param more: any other keyword becomes metadata.
    :raises airflow_assets.exceptions.InvalidAsset: a member breaks a rule; names the member and the value.

    >>> CatalogAsset("landing", type="AWS_BUCKET", region="eu-west-1").metadata
    {'region': 'eu-west-1'}
    """

    __slots__ = ()

    def __init__(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        type: str,  # noqa: A002 - the contract's name
        namespace: str | None = None,
        display_name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        uri: str | None = None,
        group: str | None = None,
        extra: Mapping[str, Any] | None = None,
        watchers: Any = None,
        access_control: Any = None,
        **more: Any,
    ) -> None:
        super().__init__(
            Declared(id, type, namespace, display_name, description, metadata, uri, group),
            fields={},
            more=more,
            native={"extra": extra, "watchers": watchers, "access_control": access_control},
        )


class _BuiltIn(_Declared):
    """A type with a fixed type string and structured fields, which are kept in the metadata."""

    __slots__ = ()
    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        namespace: str | None = None,
        display_name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        uri: str | None = None,
        group: str | None = None,
        extra: Mapping[str, Any] | None = None,
        watchers: Any = None,
        access_control: Any = None,
        **fields_and_more: Any,
    ) -> None:
        if "type" in fields_and_more:
            raise InvalidAsset(
                f"{type(self).__name__}({id!r}) cannot be given another type.",
                hint="Use CatalogAsset(id, type=...).",
                field="type",
                value=str(fields_and_more["type"]),
            )
        fields = {name: fields_and_more.pop(name, None) for name in self.fields}
        super().__init__(
            Declared(id, self.type_name(), namespace, display_name, description, metadata, uri, group),
            fields=fields,
            more=fields_and_more,
            native={"extra": extra, "watchers": watchers, "access_control": access_control},
        )

    @classmethod
    def type_name(cls) -> str:
        """Return the type string of this type.

        >>> Table.type_name()
        'airflow_assets.types.Table'
        """
        built_in = next(base for base in cls.__mro__ if base.__module__ == __name__)
        return f"{__name__}.{built_in.__name__}"


class Table(_BuiltIn):
    """A table or view. Structured fields: ``system``, ``database``, ``schema``, ``name``.

    >>> Table("analytics.orders", system="postgres", schema="analytics").metadata
    {'system': 'postgres', 'schema': 'analytics'}
    """

    __slots__ = ()
    fields = ("system", "database", "schema", "name")


class Dataset(_BuiltIn):
    """A set of files or objects. Structured fields: ``system``, ``location``, ``format``."""

    __slots__ = ()
    fields = ("system", "location", "format")


class File(_BuiltIn):
    """One file. Structured fields: ``system``, ``path``."""

    __slots__ = ()
    fields = ("system", "path")


class VM(_BuiltIn):
    """A machine. Structured fields: ``provider``, ``region``, ``state``."""

    __slots__ = ()
    fields = ("provider", "region", "state")


class External(_BuiltIn):
    """An asset made elsewhere, of which nothing more is known. It never replaces a known type."""

    __slots__ = ()


def _without_login(uri: str) -> str:
    """Drop a login whose password was masked, as Airflow would do with a warning."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*:\*\*\*@", r"\1", uri)


def _mapping(kind: str, metadata: Any) -> Mapping[str, Any] | None:
    if metadata is None or isinstance(metadata, Mapping):
        return metadata
    raise InvalidAsset(
        f"The metadata of {kind} must be an object, not {type(metadata).__name__}.",
        hint="Give a dict.",
        field="metadata",
        value=repr(metadata),
    )


_RULES: dict[str, Callable[[object], str]] = {
    "type": rules.asset_type,
    "namespace": rules.namespace,
    "display_name": rules.display_name,
    "description": rules.description,
    "uri": rules.uri,
    "group": rules.display_name,
}


def _checked(kind: str, declared: Declared) -> Declared:
    """Check what can be checked before rendering; what is a template is checked after it."""
    members: dict[str, Any] = {"id": rules.asset_id(declared.id)}
    try:
        for name, rule in _RULES.items():
            value = getattr(declared, name)
            members[name] = value if value is None or is_template(value) else rule(value)
        if declared.metadata is not None:
            members["metadata"] = mask_metadata(rules.metadata(dict(declared.metadata)))
    except InvalidAsset as error:
        raise InvalidAsset(
            f"{kind}({declared.id!r}): {error.detail}", hint=error.hint, **error.members
        ) from None
    return Declared(**members)
