"""Names of datasets by OpenLineage's conventions, and back.

=============  ==============================  ========================
of             namespace                       name
=============  ==============================  ========================
S3             ``s3://bucket``                 key
Google Cloud   ``gs://bucket``                 key
local files    ``file``                        absolute path
remote files   ``file://host``                 absolute path
PostgreSQL     ``postgres://host:port``        ``database.schema.table``
Snowflake      ``snowflake://org-account``     ``database.schema.table``
BigQuery       ``bigquery``                    ``project.dataset.table``
=============  ==============================  ========================

Names are taken as they are written: nothing is percent-decoded, so the way back gives the same URI.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.rules import DEFAULT_TENANT

if TYPE_CHECKING:
    from airflow_assets.schemas.assets import Asset

Name = tuple[str, str]
FALLBACK = "airflow_assets"
"""The namespace of datasets of which nothing tells where they are; a tenant but ``main`` follows a slash."""
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_BUCKETS = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs"}
_PORTS = {"postgres": 5432}
_THREE = 3


def dataset_name(asset_id: str, asset: Asset | None, tenant: str) -> Name:
    """Return namespace and name of an asset's dataset; depends on nothing that another asset may share."""
    for text in (asset.uri if asset else None, asset_id):
        found = name_of_uri(text) if text else None
        if found is not None:
            return found
    structured = _name_of_metadata(asset.metadata) if asset else None
    if structured is not None:
        return structured
    return (FALLBACK if tenant == DEFAULT_TENANT else f"{FALLBACK}/{tenant}"), asset_id


def name_of_uri(uri: str) -> Name | None:
    """Return the dataset's name of a URI; None where no convention is known.

    >>> name_of_uri("postgres://db:5432/shop/public/orders")
    ('postgres://db:5432', 'shop.public.orders')
    """
    match = _URI.fullmatch(uri)
    if match is None:
        return None
    scheme, authority, rest = match[1].lower(), match[2].rpartition("@")[2], match[3]
    if scheme in _BUCKETS:
        return (f"{_BUCKETS[scheme]}://{authority}", rest.removeprefix("/") or "/") if authority else None
    if scheme == "file":
        return (f"file://{authority}" if authority else "file", rest) if rest else None
    parts = rest.removeprefix("/").split("/")
    if scheme == "bigquery":
        parts = [authority, *parts]
    if len(parts) != _THREE or not all(parts):
        return None
    return _of_database(scheme, authority, ".".join(parts))


def _of_database(scheme: str, authority: str, name: str) -> Name | None:
    if scheme == "bigquery":
        return "bigquery", name
    if not authority:
        return None
    if scheme in {"postgres", "postgresql"}:
        port = "" if re.search(r":\d+$", authority) else f":{_PORTS['postgres']}"
        return f"postgres://{authority}{port}", name
    return (f"snowflake://{authority}", name) if scheme == "snowflake" else None


def uri_of_name(namespace: str, name: str) -> str:
    """Return the URI of a dataset's name: the way back from :func:`name_of_uri`.

    :raises ValueError: the namespace follows none of the conventions above.

    >>> uri_of_name("bigquery", "shop.raw.orders")
    'bigquery://shop/raw/orders'
    """
    scheme = namespace.partition("://")[0]
    if namespace == "file" or scheme == "file":
        return f"{namespace}://{name}" if namespace == "file" else f"{namespace}{name}"
    if scheme in {"s3", "gs"}:
        return namespace if name == "/" else f"{namespace}/{name}"
    if scheme in {"postgres", "snowflake", "bigquery"} and name.count(".") >= _THREE - 1:
        path = "/".join(name.split(".", _THREE - 1))
        return f"bigquery://{path}" if scheme == "bigquery" else f"{namespace}/{path}"
    raise ValueError(f"({namespace!r}, {name!r}) follows no convention whose URI is known.")


def _name_of_metadata(metadata: dict[str, Any]) -> Name | None:
    """What the structured fields of our types tell: ``system`` with a place, a path or a location."""

    def text(key: str) -> str:
        value = metadata.get(key)
        return value if isinstance(value, str) else ""

    for key in ("location", "path"):
        found = name_of_uri(text(key))
        if found is not None:
            return found
    if text("path").startswith("/") and text("system").lower() in {"", "file", "local"}:
        return "file", text("path")
    return _name_of_table(
        {key: text(key) for key in ("system", "host", "account", "database", "schema", "name")}
    )


def _name_of_table(fields: dict[str, str]) -> Name | None:
    parts = [fields["database"], fields["schema"], fields["name"]]
    if not all(parts):
        return None
    system = fields["system"].lower()
    where = {"bigquery": "-", "snowflake": fields["account"]}.get(system, fields["host"])
    return _of_database(system, where, ".".join(parts))
