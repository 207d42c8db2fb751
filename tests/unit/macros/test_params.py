from __future__ import annotations

import copy
import logging
import os
import threading
import time
from pathlib import Path

import pytest
from airflow.sdk import DAG, Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

from airflow_assets import in_time, kept, param_check
from airflow_assets.client import get_client
from airflow_assets.params import AssetParam
from airflow_assets.schemas.assets import AssetInput


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(kept.tempfile, "gettempdir", lambda: str(tmp_path))
    param_check._check.cache_clear()


@pytest.fixture
def in_a_run(monkeypatch):
    monkeypatch.setattr(param_check, "_runs_a_task", lambda: True)


def add(*ids: str, type: str = "T", **members) -> None:  # noqa: A002
    for asset_id in ids:
        get_client().create_asset(AssetInput(id=asset_id, type=type, **members))


def test_the_form_offers_the_matching_ids_sorted(catalog) -> None:
    add("b", "a", namespace="n", metadata={"k": 1})
    add("c", type="U", namespace="n", metadata={"k": 1})
    add("d", namespace="n", metadata={"k": "1"})
    param = AssetParam("a", type="T", namespace="n", metadata={"k": 1}, description="D", title="Table")
    assert param.schema == {"type": "string", "minLength": 1, "examples": ["a", "b"], "title": "Table"}
    assert (param.value, param.description) == ("a", "D")
    many = AssetParam([], multiple=True, type="U")
    assert many.schema["type"] == "array"
    assert many.schema["examples"] == ["c"]


def test_the_list_is_read_at_most_every_five_minutes(catalog) -> None:
    add("a")
    assert AssetParam(None).schema["examples"] == ["a"]
    add("b")
    assert AssetParam(None).schema["examples"] == ["a"]
    file = next(next(Path(kept.tempfile.gettempdir()).glob("airflow_assets-*")).iterdir())
    past = time.time() - param_check.FRESH_SECONDS - 1
    os.utime(file, (past, past))
    assert AssetParam(None).schema["examples"] == ["a", "b"]


def test_two_filters_do_not_share_a_list(catalog) -> None:
    add("a")
    add("b", type="U")
    assert AssetParam(None, type="T").schema["examples"] == ["a"]
    assert AssetParam(None, type="U").schema["examples"] == ["b"]


def test_an_unchanged_catalogue_serializes_to_the_same_dag(catalog) -> None:
    add("b", "a")

    def serialized() -> dict:
        dag = DAG(
            "d", schedule=None, params={"one": AssetParam(type="T"), "many": AssetParam([], multiple=True)}
        )
        return DagSerialization.to_dict(dag)

    first = serialized()
    for file in Path(kept.tempfile.gettempdir()).glob("airflow_assets-*/*"):
        file.unlink()
    assert serialized() == first


def test_airflow_takes_it_for_the_param_it_is(catalog) -> None:
    add("a")
    ours = DAG("d", schedule=None, params={"p": AssetParam("a", type="T", description="D")})
    plain = Param("a", "D", type="string", minLength=1, examples=["a"])
    theirs = DAG("d", schedule=None, params={"p": plain})
    assert DagSerialization.to_dict(ours) == DagSerialization.to_dict(theirs)
    back = DagSerialization.from_dict(DagSerialization.to_dict(ours))
    given = back.params.deep_merge({"p": "of-any-other-asset"})
    assert given.validate() == {"p": "of-any-other-asset"}


def test_an_unreachable_catalogue_gives_free_text_and_asks_again_later(monkeypatch, caplog) -> None:
    calls = []

    def broken(**_):
        calls.append(1)
        raise OSError("no way")

    monkeypatch.setattr("airflow_assets.client.get_client", broken)
    with caplog.at_level(logging.WARNING):
        assert "examples" not in AssetParam(None).schema
        assert "examples" not in AssetParam(None).schema
    assert len(calls) == 1
    assert "the catalogue cannot be read: no way" in caplog.text


def test_an_answer_that_comes_too_late_serves_the_next_parse(catalog, monkeypatch, caplog) -> None:
    """The first connection that a Dag processor hands out may take longer than a parse."""
    add("a")
    answer, asked = threading.Event(), threading.Event()
    real = catalog.query_assets

    def late(*arguments):
        answer.wait()
        found = real(*arguments)
        asked.set()
        return found

    monkeypatch.setattr(catalog, "query_assets", late)
    monkeypatch.setattr(in_time.in_time, "__defaults__", (0.05,))
    assert "examples" not in AssetParam(None).schema
    assert "no answer within" in caplog.text
    answer.set()
    assert asked.wait(10)
    deadline = time.monotonic() + 10
    while "examples" not in AssetParam(None).schema:
        assert time.monotonic() < deadline
    assert AssetParam(None).schema["examples"] == ["a"]


def test_a_list_known_before_outlives_an_outage(catalog, monkeypatch) -> None:
    add("a")
    AssetParam(None)
    file = next(Path(kept.tempfile.gettempdir()).glob("airflow_assets-*/*"))
    os.utime(file, (0, 0))
    monkeypatch.setattr("airflow_assets.client.get_client", lambda **_: 1 / 0)
    assert AssetParam(None).schema["examples"] == ["a"]


def test_a_task_reads_no_list(catalog, monkeypatch) -> None:
    from structlog.contextvars import bound_contextvars

    add("a")
    with bound_contextvars(ti_id="x"):
        assert "examples" not in AssetParam(None).schema


@pytest.mark.parametrize(("value", "multiple"), [("a", False), (["a", "b"], True), ([], True), (None, False)])
def test_a_value_of_the_catalogue_passes_in_a_run(catalog, in_a_run, value, multiple) -> None:
    add("a", "b")
    assert AssetParam(None, multiple=multiple, type="T").resolve(value) == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["a", "x", "y"], "'T' has the id 'x', 'y'"),
        (["gone"], "'gone'"),
        (["other"], "'other'"),
        ([" bad"], "white space"),
    ],
)
def test_in_a_run_the_error_names_what_is_not_there(catalog, in_a_run, value, words) -> None:
    add("a", "gone")
    add("other", type="U")
    get_client().delete_asset("gone")
    with pytest.raises(ParamValidationError, match=words):
        AssetParam([], multiple=True, type="T").resolve(value)


def test_the_process_of_a_task_checks_after_the_parsing_of_its_file(catalog, monkeypatch) -> None:
    from airflow.sdk.definitions._internal.contextmanager import DagContext
    from structlog.contextvars import bound_contextvars

    with bound_contextvars(ti_id="x"):
        monkeypatch.setattr(DagContext, "current_autoregister_module_name", "my_dags")
        param = AssetParam("not-there", type="T")
        assert param.resolve() == "not-there"
        monkeypatch.setattr(DagContext, "current_autoregister_module_name", None)
        with pytest.raises(ParamValidationError, match="'not-there'"):
            param.resolve()


def test_outside_of_runs_nothing_is_checked(catalog) -> None:
    assert AssetParam(None, type="T").resolve("not-there") == "not-there"


def test_the_catalogue_is_asked_once_a_process(catalog, in_a_run, monkeypatch) -> None:
    add("a")
    param = AssetParam(None)
    calls = []
    real = catalog.query_assets
    monkeypatch.setattr(catalog, "query_assets", lambda *a: calls.append(1) or real(*a))
    for _ in range(3):
        param.resolve("a")
    assert calls == [1]


def test_copies_check_too(catalog, in_a_run) -> None:
    """Airflow copies a Dag's params for each run."""
    params = ParamsDict({"p": AssetParam(None, type="T")})
    for copied in (copy.copy(params), copy.deepcopy(params), copy.deepcopy(copy.copy(params.get_param("p")))):
        with pytest.raises(ParamValidationError, match="'nope'"):
            copied.update({"p": "nope"}) if isinstance(copied, ParamsDict) else copied.resolve("nope")


def test_a_scheduled_dag_may_have_one_with_the_default_none(catalog) -> None:
    DAG("d", schedule="@daily", params={"p": AssetParam(None)})
    with pytest.raises(ValueError, match="not allowed to define a Schedule"):
        DAG("d", schedule="@daily", params={"p": AssetParam()})


def test_the_kept_list_is_this_users_alone(catalog, tmp_path) -> None:
    add("a")
    AssetParam(None)
    folder = next(tmp_path.glob("airflow_assets-*"))
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_of_somebody_else_is_not_used(catalog, monkeypatch, tmp_path, caplog) -> None:
    add("a")
    AssetParam(None)
    monkeypatch.setattr(kept.os, "getuid", lambda: 4711)
    folder = tmp_path / "airflow_assets-4711"
    folder.mkdir()
    assert AssetParam(None).schema["examples"] == ["a"]
    assert "belongs to somebody else" in caplog.text
    assert list(folder.iterdir()) == []
