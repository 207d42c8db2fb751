"""The types an author declares: what they refuse, what Airflow sees of them, what survives serialization."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import textwrap
import warnings

import pytest
from airflow.sdk import DAG, Asset, AssetAlias
from airflow.serialization.serialized_objects import DagSerialization

from airflow_assets.exceptions import InvalidAsset
from airflow_assets.schemas.declared import EXTRA_KEY, from_mapping, from_native, is_template, native_name
from airflow_assets.types import VM, CatalogAsset, Dataset, External, File, Table
from airflow_assets.uris import AssetUriConflict


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Table, {"system": "pg", "database": "shop", "schema": "public", "name": "orders"}),
        (Dataset, {"system": "s3", "location": "s3://b/k", "format": "csv"}),
        (File, {"system": "nfs", "path": "/a"}),
        (VM, {"provider": "aws", "region": "eu", "state": "running"}),
        (External, {}),
    ],
)
def test_structured_fields_lie_in_the_metadata(kind: type, fields: dict[str, str]) -> None:
    asset = kind("x", metadata={"owner": "data"}, **fields)
    assert asset.type == f"airflow_assets.types.{kind.__name__}"
    assert asset.metadata == {"owner": "data", **fields}
    without = dict.fromkeys(fields)
    assert kind("x", **without).metadata == {}


def test_any_type_and_unknown_keywords() -> None:
    bucket = CatalogAsset("landing", type="AWS_BUCKET", region="eu-west-1", metadata={"region": "eu-west-2"})
    assert (bucket.id, bucket.type) == ("landing", "AWS_BUCKET")
    assert bucket.metadata == {"region": "eu-west-2"}
    with pytest.raises(InvalidAsset, match="CatalogAsset"):
        Table("x", type="AWS_BUCKET")


def test_a_subclass_keeps_the_type_it_is_built_on() -> None:
    class Mart(Table):
        __slots__ = ()

    assert Mart("x").type == "airflow_assets.types.Table"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"id": ""}, "id"),
        ({"id": " x"}, "id"),
        ({"id": "a\nb"}, "id"),
        ({"id": "self"}, "id"),
        ({"id": "x" * 1501}, "id"),
        ({"id": 3}, "id"),
        ({"id": "x", "namespace": "Bad Name"}, "namespace"),
        ({"id": "x", "metadata": {"a": float("nan")}}, "metadata.a"),
        ({"id": "x", "metadata": {"a": object()}}, "metadata.a"),
        ({"id": "x", "metadata": ["a"]}, "metadata"),
        ({"id": "x", "description": "x" * 70_000}, "description"),
        ({"id": "x", "uri": "x" * 1501}, "uri"),
        ({"id": "x", "uri": "airflow://reserved"}, "uri"),
        ({"id": "airflow:reserved"}, "uri"),
    ],
)
def test_what_is_wrong_is_named_at_definition(arguments: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidAsset) as caught:
        Table(arguments.pop("id"), **arguments)  # type: ignore[arg-type]
    assert caught.value.members["field"] == field


def test_templates_are_checked_only_when_rendered() -> None:
    table = Table("orders", namespace="{{ params.ns }}", metadata={"rows": "{{ result }}"})
    assert table.namespace == "{{ params.ns }}"
    assert is_template(table.metadata)


@pytest.mark.parametrize(
    "asset_id", ["analytics.orders", "größe", "数据.表", "😀" * 1500, "a%C3%B6", "x" * 1500]
)
def test_the_native_name_is_ascii_and_the_id_comes_back(asset_id: str) -> None:
    asset = Table(asset_id)
    assert asset.name.isascii()
    assert asset.uri.isascii()
    assert len(asset.name) <= 1500
    assert asset.id == asset_id
    assert (asset.name == asset_id) == asset_id.isascii()


def test_long_names_of_different_ids_differ() -> None:
    assert native_name("😀" * 1499 + "a") != native_name("😀" * 1499 + "b")


def test_equal_ids_in_both_normal_forms_are_one_asset() -> None:
    assert Table("ä").name == Table("a\u0308").name


def test_no_secret_enters_the_native_asset() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asset = Table(
            "s3://user:hunter2@bucket/k?token=hunter2",
            uri="postgres://u:hunter2@h/d/s/t",
            metadata={"password": "hunter2", "dsn": "pg://u:hunter2@h"},
            apiKey="hunter2",
        )
    assert "hunter2" not in repr(asset)


def test_copies_pickles_and_serialized_assets_say_the_same() -> None:
    asset = Table("größe", namespace="a", metadata={"n": 1}, uri="s3://b/k", group="g", extra={"team": "x"})
    for other in (copy.copy(asset), copy.deepcopy(asset), pickle.loads(pickle.dumps(asset))):  # noqa: S301
        assert other == asset
        assert hash(other) == hash(asset)
        assert other.declared == asset.declared
    native = Asset(asset.name, asset.uri, group=asset.group, extra=asset.extra)
    assert from_native(native.name, native.uri, native.group, native.extra) == asset.declared
    assert asset.declared.metadata == {"team": "x", "n": 1}


def test_a_native_asset_is_taken_as_it_is() -> None:
    plain = from_native("orders", "orders", "asset", {})
    assert (plain.id, plain.type, plain.uri, plain.group, plain.metadata) == (
        "orders",
        None,
        None,
        None,
        None,
    )
    rich = from_native("orders", "s3://b/k", "gold", {"owner": "data"})
    assert (rich.uri, rich.group, rich.metadata) == ("s3://b/k", "gold", {"owner": "data"})


def test_json_objects_are_read_in_both_spellings() -> None:
    item = from_mapping(
        {"id": "x", "displayName": "X", "metadata": {"a": 1}, "owner": "me", "metadataList": []}
    )
    assert (item.display_name, item.metadata) == ("X", {"owner": "me", "a": 1})
    assert from_mapping({"id": "x", "display_name": "X"}).display_name == "X"


def test_what_the_reconciler_can_know() -> None:
    table = Table("orders", namespace="a", display_name="{{ ds }}", metadata={"n": 1, "rows": "{{ result }}"})
    known = table.declared.without_templates()
    assert known is not None
    assert (known.id, known.namespace, known.display_name, known.metadata) == ("orders", "a", None, {"n": 1})
    assert Table("orders_{{ ds }}").declared.without_templates() is None


def _dag() -> DAG:
    from airflow.providers.standard.operators.empty import EmptyOperator

    a = Table("größe", namespace="a", metadata={"b": "{{ result }}", "a": [1, {"z": 1}]}, uri="s3://b/k")
    with DAG("d", schedule=[a, Dataset("s", format="csv")]) as dag:
        EmptyOperator(task_id="t", inlets=[a, Asset("n"), AssetAlias("al"), Asset.ref(name="r")], outlets=[a])
        EmptyOperator.partial(task_id="m", outlets=[a]).expand(doc=["1", "2"])
    return dag


def test_two_parses_give_one_serialized_dag() -> None:
    first, second = (json.dumps(DagSerialization.to_dict(_dag()), sort_keys=True) for _ in range(2))
    assert first == second
    back = DagSerialization.from_dict(json.loads(first))
    outlet = back.get_task("t").outlets[0]
    declared = from_native(outlet.name, outlet.uri, outlet.group, outlet.extra)
    assert (declared.id, declared.type, declared.metadata) == (
        "größe",
        "airflow_assets.types.Table",
        {"b": "{{ result }}", "a": [1, {"z": 1}]},
    )
    assert EXTRA_KEY in outlet.extra


def test_two_uris_under_one_name_are_reported_with_both_places() -> None:
    Table("conflict.one", uri="s3://a/k")
    Table("conflict.one", uri="s3://a/k")
    Table("conflict.one")
    with pytest.warns(AssetUriConflict) as told:
        Table("conflict.one", uri="s3://b/k")
    text = str(told[0].message)
    assert "s3://a/k" in text
    assert "s3://b/k" in text
    assert text.count("test_recording_types.py:") == 2


def test_what_an_author_imports_is_light() -> None:
    """Beyond Airflow itself, the types load nothing that talks to a server or a database."""
    script = textwrap.dedent(
        """
        import sys
        import airflow.sdk
        from airflow.sdk import Asset, DAG, task
        before = set(sys.modules)
        import airflow_assets.types, airflow_assets.recording, airflow_assets.listener
        new = {name for name in set(sys.modules) - before if not name.startswith("airflow_assets")}
        heavy = {"sqlalchemy", "fastapi", "httpx", "alembic", "starlette", "airflow.models"}
        print(sorted(name for name in new if name.split(".")[0] in heavy or name in heavy))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
