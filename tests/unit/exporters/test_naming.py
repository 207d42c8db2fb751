"""Names of datasets: OpenLineage's conventions, as its own client writes them, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.naming import dataset as theirs

from airflow_assets.catalog.states import AssetState
from airflow_assets.exporters.openlineage.naming import dataset_name, name_of_uri, uri_of_name
from tests.support.catalog_rows import NOON
from tests.support.json_values import busy_machine

CASES = {
    "s3://bucket/a/b%20c.parquet": theirs.S3("bucket", "a/b%20c.parquet"),
    "gs://bucket/a?b#c": theirs.GCS("bucket", "a?b#c"),
    "file:///data/x.csv": theirs.LocalFileSystem("/data/x.csv"),
    "file://host/data/x.csv": theirs.RemoteFileSystem("host", "/data/x.csv"),
    "postgres://db:5433/shop/public/orders": theirs.Postgres("db", "5433", "shop", "public", "orders"),
    "snowflake://org-acc/shop/public/orders": theirs.Snowflake("org", "acc", "shop", "public", "orders"),
    "bigquery://project/dataset/table": theirs.BigQuery("project", "dataset", "table"),
}


@pytest.mark.parametrize("uri", CASES)
def test_names_are_those_of_the_client_and_lead_back(uri: str) -> None:
    name = CASES[uri]
    assert name_of_uri(uri) == (name.get_namespace(), name.get_name())
    assert uri_of_name(*name_of_uri(uri)) == uri  # type: ignore[misc]


word = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="/.@\x7f"), min_size=1)
host = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True)


@busy_machine
@given(st.sampled_from(["s3", "gs"]), host, st.lists(word, min_size=1).map("/".join))
def test_any_object_leads_back(scheme: str, bucket: str, key: str) -> None:
    uri = f"{scheme}://{bucket}/{key}"
    assert name_of_uri(uri) == (f"{scheme}://{bucket}", key)
    assert uri_of_name(f"{scheme}://{bucket}", key) == uri


@busy_machine
@given(st.sampled_from(["postgres", "snowflake"]), host, st.lists(word, min_size=3, max_size=3))
def test_any_table_leads_back(scheme: str, server: str, parts: list[str]) -> None:
    uri = f"{scheme}://{server}:5432/{'/'.join(parts)}"
    assert name_of_uri(uri) == (f"{scheme}://{server}:5432", ".".join(parts))
    assert uri_of_name(f"{scheme}://{server}:5432", ".".join(parts)) == uri


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("postgresql://user:***@db/shop/public/orders", ("postgres://db:5432", "shop.public.orders")),
        ("s3a://bucket", ("s3://bucket", "/")),
        ("postgres://db/shop", None),
        ("postgres:///a/b/c", None),
        ("https://example.com/a/b/c", None),
        ("orders", None),
        ("s3:///key", None),
    ],
)
def test_other_forms(uri: str, name: tuple[str, str] | None) -> None:
    assert name_of_uri(uri) == name


def test_where_there_is_no_convention_there_is_no_way_back() -> None:
    for namespace in ("airflow_assets", "trino://x", "postgres://db:5432"):
        with pytest.raises(ValueError, match="follows no convention"):
            uri_of_name(namespace, "a.b")


def named(asset_id: str, *, uri: str | None = None, tenant: str = "main", **metadata: str) -> tuple[str, str]:
    state = AssetState(
        key=b"", pk=1, tenant=tenant, id=asset_id, type="T", namespace=None, display_name=None, description=None,
        metadata=dict(metadata), uri=uri, group=None, created=NOON, updated=NOON, deleted=False,
    )  # fmt: skip
    return dataset_name(asset_id, state.to_asset(), tenant)


def test_the_uri_goes_before_the_id_and_the_id_before_metadata() -> None:
    assert named("s3://b/id", uri="gs://b/uri") == ("gs://b", "uri")
    assert named("s3://b/id", location="gs://b/metadata") == ("s3://b", "id")
    assert named("x", uri="x", location="gs://b/metadata") == ("gs://b", "metadata")
    assert named("x", path="/data/x") == ("file", "/data/x")
    assert named("x", system="ftp", path="/data/x") == ("airflow_assets", "x")
    table = {"database": "d", "schema": "s", "name": "t"}
    assert named("x", system="Postgres", host="db:5433", **table) == ("postgres://db:5433", "d.s.t")
    assert named("x", system="bigquery", **table) == ("bigquery", "d.s.t")
    assert named("x", system="snowflake", account="o-a", **table) == ("snowflake://o-a", "d.s.t")
    assert named("x", system="postgres", **table) == ("airflow_assets", "x")
    assert named("x", tenant="other") == ("airflow_assets/other", "x")
    assert dataset_name("never stored", None, "main") == ("airflow_assets", "never stored")
