"""Storing values and loading them again: whole, by partition, several at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from airflow_assets.authoring.contexts import (
    ActionContext,
    AssetExecutionContext,
    InputContext,
    OutputContext,
    PartitionContext,
)
from airflow_assets.authoring.errors import PartitionValidationError
from airflow_assets.authoring.handlers.files import JsonIOHandler, ParquetIOHandler, PickleIOHandler
from airflow_assets.authoring.handlers.memory import InMemoryIOHandler
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
from airflow_assets.authoring.partitions.keys import PartitionKey

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_assets.authoring.handlers.interface import BaseIOHandler

AB = PartitionsDefinition.static_(["a", "b", "c/d"])


def store(handler: BaseIOHandler, value: Any, *keys: str, asset: str = "orders") -> OutputContext:
    context = OutputContext(asset, partition=PartitionContext(list(keys), AB) if keys else None)
    handler.handle_output(context, value)
    return context


def load(handler: BaseIOHandler, *keys: str, hint: Any = None, asset: str = "orders") -> Any:
    partition = PartitionContext(list(keys), AB) if keys else None
    return handler.load_input(InputContext(asset, "reader", partition=partition, type_hint=hint))


@pytest.fixture(params=["memory", "pickle", "json", "object store"])
def handler(request: pytest.FixtureRequest, tmp_path: Path) -> BaseIOHandler:
    if request.param == "memory":
        return InMemoryIOHandler()
    if request.param == "pickle":
        return PickleIOHandler(path=str(tmp_path))
    return JsonIOHandler(path=f"memory://{tmp_path}" if request.param == "object store" else str(tmp_path))


def test_a_value_comes_back(handler: BaseIOHandler) -> None:
    store(handler, [1, {"x": None}])
    assert load(handler) == [1, {"x": None}]
    store(handler, "new")
    assert load(handler) == "new"
    with pytest.raises(FileNotFoundError, match="'nothing'"):
        load(handler, asset="nothing")


def test_partitions_are_apart(handler: BaseIOHandler) -> None:
    store(handler, 1, "a")
    store(handler, 2, "c/d")
    assert (load(handler, "a"), load(handler, "c/d")) == (1, 2)
    assert load(handler, "a", "c/d") == {"a": 1, "c/d": 2}
    assert load(handler) == {"a": 1, "c/d": 2}
    with pytest.raises(FileNotFoundError, match="orders"):
        load(handler, "b")
    store(handler, 3, "a", "b")
    assert load(handler, "a", "b") == {"a": 3, "b": 3}


def test_a_name_of_any_form_is_one_file(tmp_path: Path) -> None:
    handler = JsonIOHandler(path=str(tmp_path))
    for name in ("graph/task", "a b", "ü?", ".."):
        store(handler, name, asset=name)
        assert load(handler, asset=name) == name
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.json")} == {
        "graph", "a%20b.json", "%C3%BC%3F.json", "...json",
    }  # fmt: skip


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = JsonIOHandler(path=str(tmp_path))
    store(handler, "old")

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        store(handler, "new")
    assert load(handler) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["orders.json"]


def test_files_say_where_they_are(tmp_path: Path) -> None:
    recorded = store(JsonIOHandler(path=str(tmp_path)), [1]).output_metadata
    assert recorded["path"] == MetadataValue.path(str(tmp_path / "orders.json"))
    assert recorded["size_bytes"].raw_value() == (tmp_path / "orders.json").stat().st_size


def test_tables_come_back_as_what_the_reader_asks_for(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    handler = ParquetIOHandler(path=str(tmp_path))
    frame = pd.DataFrame({"id": [1, 2], "name": ["a", None]})
    store(handler, frame)
    assert load(handler, hint=pd.DataFrame).equals(frame)
    assert load(handler).to_pydict() == {"id": [1, 2], "name": ["a", None]}
    store(handler, pa.table({"x": [1]}))
    assert load(handler, hint=pd.DataFrame).to_dict("list") == {"x": [1]}
    with pytest.raises(TypeError, match="not list"):
        store(handler, [1])


def test_what_contexts_say_about_partitions() -> None:
    days = PartitionsDefinition.static_(["a", "b"])
    one = AssetExecutionContext("orders", partition=PartitionContext(["a"], days))
    assert (one.has_partition_key, one.partition_key, one.partition_time_window) == (True, "a", None)
    several = AssetExecutionContext("orders", partition=PartitionContext(["a", "b"], days))
    with pytest.raises(PartitionValidationError, match="ambiguous"):
        _ = several.partition_key
    with pytest.raises(PartitionValidationError, match="no partition key"):
        _ = AssetExecutionContext("orders").partition_key
    grid = PartitionContext(PartitionKey.multi({"x": "1", "y": "2"}))
    with pytest.raises(PartitionValidationError, match="dimensions"):
        _ = ActionContext("orders", "vacuum", partition=grid).partition_key
    several.mark_partition_failed("b", ValueError("no rows"))
    assert several.failed_partitions == {"b": "ValueError: no rows"}
    with pytest.raises(PartitionValidationError, match="'z'"):
        several.mark_partition_failed("z", "no")


def test_the_last_word_about_an_output_counts() -> None:
    context = AssetExecutionContext("orders")
    context.add_output_metadata({"rows": 1, "kept": "yes"})
    context.add_output_metadata({"rows": 2, "version": MetadataValue.data_version("7")})
    assert {name: value.raw_value() for name, value in context.output_metadata.items()} == {
        "rows": 2,
        "kept": "yes",
    }
    assert (context.drain_data_version(), context.drain_data_version()) == ("7", None)
    with pytest.raises(TypeError, match="'rows'"):
        context.add_output_metadata({"rows": []})
