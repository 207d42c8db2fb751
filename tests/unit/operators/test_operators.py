"""The operators on the real catalogue in process; how they run in Airflow is shown in tests/airflow."""

from __future__ import annotations

import inspect
import json
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from airflow.sdk import DAG, BaseOperator, ObjectStoragePath

from airflow_assets import operators
from airflow_assets.client import get_client
from airflow_assets.exceptions import (
    AssetAlreadyExists,
    AssetNotFound,
    InvalidAsset,
    InvalidQuery,
    InvalidRequest,
)
from airflow_assets.operators import (
    DeleteAssetOperator,
    ListAssetsOperator,
    PurgeAssetsOperator,
    SetAssetOperator,
)
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.queries import MAX_PAGE

OPERATORS = (SetAssetOperator, ListAssetsOperator, DeleteAssetOperator, PurgeAssetsOperator)
NOW = datetime.now(timezone.utc)
RENAMED = {"end_date": "purge_end_date", "dry_run": "purge_dry_run"}
"""Arguments whose names every operator has already, with another meaning."""
NOT_TEMPLATED: dict[str, str] = {}
"""Arguments that are no template field, with the reason."""


def context(map_index: int = -1, try_number: int = 1) -> dict:
    ti = SimpleNamespace(dag_id="d", run_id="r/1", task_id="t", map_index=map_index, try_number=try_number)
    return {"ti": ti}


def add(*ids: str, **members) -> None:
    for asset_id in ids:
        get_client().create_asset(AssetInput(id=asset_id, type=members.pop("type", "T"), **members))


def run(kind, **arguments):
    return kind(task_id="t", **arguments).execute(context())


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_argument_is_a_template_field(kind) -> None:
    own = {
        name
        for cls in kind.__mro__
        if cls.__module__.startswith("airflow_assets.")
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    fields = {RENAMED.get(name, name) for name in own - set(NOT_TEMPLATED)}
    assert fields == set(kind.template_fields)


def test_the_short_names_are_the_same_classes() -> None:
    assert (operators.Set, operators.List, operators.Delete, operators.PurgeAssets) == OPERATORS
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        operators.Nothing  # noqa: B018


def test_set_creates_with_everything(catalog) -> None:
    run(
        SetAssetOperator, asset_id="a", asset_type="T", namespace="n", display_name="Ä 😀",
        asset_description="**d**", metadata={"n": 2**53 + 1, "x": [None, True]},
    )  # fmt: skip
    asset = get_client().get_asset("a")
    assert (asset.namespace, asset.display_name, asset.description) == ("n", "Ä 😀", "**d**")
    assert asset.metadata == {"n": 2**53 + 1, "x": [None, True]}


def test_set_fails_if_the_id_exists_and_changes_nothing(catalog) -> None:
    add("a", metadata={"k": 1})
    with pytest.raises(AssetAlreadyExists):
        run(SetAssetOperator, asset_id="a", asset_type="U", metadata={"k": 2})
    assert (get_client().get_asset("a").type, get_client().get_asset("a").metadata) == ("T", {"k": 1})


def test_an_optional_argument_that_renders_to_nothing_is_left_out(catalog) -> None:
    operator = SetAssetOperator(
        task_id="t", asset_id="a", asset_type="T", namespace="{{ n }}", display_name="{{ d }}"
    )
    operator.namespace = operator.display_name = ""
    operator.execute(context())
    assert get_client().get_asset("a").namespace is None


def test_delete_hides_the_asset_and_names_a_missing_one(catalog) -> None:
    add("a")
    run(DeleteAssetOperator, asset_id="a")
    assert get_client().get_asset("a", include_deleted=True).deleted
    with pytest.raises(AssetNotFound, match="'a'"):
        run(DeleteAssetOperator, asset_id="a")


def test_fetch_returns_the_contracts_fields_in_order_of_id(catalog) -> None:
    add("b", "a", "c")
    result = run(ListAssetsOperator, fetch_type="FETCH", size=2)
    assert [asset["id"] for asset in result["assets"]] == ["a", "b", "c"]
    assert result["size"] == 3
    contract = {
        "id",
        "namespace",
        "type",
        "displayName",
        "description",
        "metadata",
        "created",
        "updated",
        "tenantId",
    }
    assert contract <= set(result["assets"][0])


def test_filters_are_joined(catalog) -> None:
    add("a", type="T", namespace="n", metadata={"o": "x"})
    add("b", type="U", namespace="n", metadata={"o": "x"})
    add("c", type="T", namespace="n.child", metadata={"o": "x"})
    add("d", type="T", namespace="n", metadata={"o": "y"})
    found = run(
        ListAssetsOperator, fetch_type="FETCH", namespace="n", types=["T", "t"],
        metadata_query=[{"field": "o", "type": "EQUAL_TO", "value": "x"}],
    )  # fmt: skip
    assert [asset["id"] for asset in found["assets"]] == ["a"]


@pytest.mark.parametrize(("page", "ids"), [(1, ["a", "b"]), ("2", ["c"]), (3, []), (99, [])])
def test_one_page(catalog, page, ids) -> None:
    add("a", "b", "c")
    found = run(ListAssetsOperator, fetch_type="FETCH", page=page, size="2")
    assert [asset["id"] for asset in found["assets"]] == ids
    assert found["size"] == len(ids)


def test_fetch_one_gives_the_first(catalog) -> None:
    add("b", "a")
    found = run(ListAssetsOperator, fetch_type="FETCH_ONE")
    assert (found["asset"]["id"], found["size"]) == ("a", 1)
    assert run(ListAssetsOperator, fetch_type="FETCH_ONE", page=2, size=1)["asset"]["id"] == "b"


def test_an_empty_fetch_one_says_what_was_asked(catalog) -> None:
    with pytest.raises(AssetNotFound, match=r"namespace='n', types=\['T'\].*FETCH_ONE needs one"):
        run(ListAssetsOperator, fetch_type="FETCH_ONE", namespace="n", types=["T"])


def test_none_counts_all(catalog) -> None:
    add(*(f"a{i}" for i in range(7)))
    assert run(ListAssetsOperator, fetch_type="NONE", size=3) == {"size": 7}


def test_store_writes_json_lines_below_the_configured_path(catalog, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__STORAGE_PATH", (tmp_path / "out").as_uri())
    add("a", metadata={"t": "line\nbreak \u2028 ü"})
    add("b")
    operator = ListAssetsOperator(task_id="t")
    first = operator.execute(context())
    second = operator.execute(context(map_index=3, try_number=2))
    assert first["size"] == 2
    assert first["uri"] != second["uri"]
    assert first["uri"].startswith((tmp_path / "out").as_uri())
    lines = ObjectStoragePath(first["uri"]).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b"]
    assert json.loads(lines[0])["metadata"] == {"t": "line\nbreak \u2028 ü"}


def test_store_works_with_nothing_configured(catalog, monkeypatch, tmp_path) -> None:
    import airflow.configuration

    monkeypatch.setattr(airflow.configuration, "AIRFLOW_HOME", str(tmp_path))
    result = run(ListAssetsOperator)
    assert result["size"] == 0
    assert result["uri"].startswith(tmp_path.as_uri())
    assert ObjectStoragePath(result["uri"]).read_text() == ""


@pytest.mark.parametrize(
    ("kind", "arguments", "error", "words"),
    [
        (SetAssetOperator, {"asset_id": "", "asset_type": "T"}, InvalidAsset, "id is empty"),
        (SetAssetOperator, {"asset_id": "a", "asset_type": "x" * 251}, InvalidAsset, "at most 250"),
        (SetAssetOperator, {"asset_id": "a", "asset_type": "T", "namespace": "No"}, InvalidAsset, "namespace 'No'"),
        (SetAssetOperator, {"asset_id": "a", "asset_type": "T", "metadata": {"x": float("nan")}}, InvalidAsset, "nan"),
        (DeleteAssetOperator, {"asset_id": " a"}, InvalidAsset, "white space"),
        (ListAssetsOperator, {"fetch_type": "ALL"}, InvalidQuery, "STORE, FETCH, FETCH_ONE, NONE"),
        (ListAssetsOperator, {"size": 0}, InvalidQuery, "1 to 1,000"),
        (ListAssetsOperator, {"size": 1001}, InvalidQuery, "1 to 1,000"),
        (ListAssetsOperator, {"page": "x"}, InvalidQuery, "whole number from 1"),
        (ListAssetsOperator, {"page": True}, InvalidQuery, "whole number from 1"),
        (ListAssetsOperator, {"types": "T"}, InvalidQuery, "must be a list"),
        (ListAssetsOperator, {"metadata_query": {"field": "x"}}, InvalidQuery, "must be a list of conditions"),
        (ListAssetsOperator, {"metadata_query": [{"field": "x", "type": "LIKE", "value": 1}]}, InvalidQuery, "EQUAL_TO"),
        (ListAssetsOperator, {"metadata_query": [{"type": "EXISTS"}]}, InvalidQuery, "has field, type and value"),
    ],
)  # fmt: skip
def test_a_wrong_constant_is_said_when_the_dag_is_parsed(kind, arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        kind(task_id="t", **arguments)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (SetAssetOperator, {"asset_id": "{{ x }}", "asset_type": "{{ y }}", "namespace": "{{ Z }}", "metadata": {"a": "{{ b }}"}}),
        (ListAssetsOperator, {"fetch_type": "{{ f }}", "size": "{{ s }}", "page": "{% if a %}1{% endif %}", "types": ["{{ t }}"]}),
        (ListAssetsOperator, {"metadata_query": [{"field": "{{ f }}", "type": "{{ t }}", "value": 1}]}),
    ],
)  # fmt: skip
def test_templates_are_checked_in_the_run(kind, arguments) -> None:
    kind(task_id="t", **arguments)


def test_what_templates_gave_is_checked_in_the_run(catalog) -> None:
    operator = ListAssetsOperator(task_id="t", size="{{ s }}", fetch_type="FETCH")
    operator.size = "5000"
    with pytest.raises(InvalidQuery, match="'5000'"):
        operator.execute(context())


def test_the_result_of_another_task_is_no_constant() -> None:
    with DAG("d", schedule=None):
        other = BaseOperator(task_id="other")
        SetAssetOperator(
            task_id="s", asset_id=other.output, asset_type="T", metadata={"k": other.output["x"]}
        )
        ListAssetsOperator(task_id="l", types=other.output["types"])
        mapped = DeleteAssetOperator.partial(task_id="m").expand(asset_id=["a", "b"])
    assert mapped.operator_class is DeleteAssetOperator


def test_results_are_xcoms_of_their_own() -> None:
    assert ListAssetsOperator(task_id="t").multiple_outputs
    assert not ListAssetsOperator(task_id="t", multiple_outputs=False).multiple_outputs


def test_the_largest_page_is_that_of_the_queries() -> None:
    from airflow_assets.operators.listing import MAX_PAGE as OURS

    assert OURS == MAX_PAGE


@pytest.mark.parametrize(
    ("base", "link"), [("http://h:1/af", "/af/"), ("http://h:1", "/"), ("/af/", "/af/"), (None, "/")]
)
def test_the_link_leads_to_the_asset_below_the_base_path(monkeypatch, base, link) -> None:
    from airflow_assets.links import AssetLink

    monkeypatch.delenv("AIRFLOW__API__BASE_URL", raising=False)
    if base:
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    operator = DeleteAssetOperator(task_id="t", asset_id="s3://b/ü?x")
    made = AssetLink().get_link(operator, ti_key=None)  # type: ignore[arg-type]
    assert made == f"{link}airflow_assets/api/v1/assets/s3%3A%2F%2Fb%2F%C3%BC%3Fx"


def test_the_connection_arguments_reach_the_client(monkeypatch) -> None:
    seen = {}
    monkeypatch.setattr(
        "airflow_assets.client.get_client", lambda conn_id, **more: seen.update(more, conn_id=conn_id)
    )
    ListAssetsOperator(task_id="t", conn_id="c", api_url="http://h", tenant="blue").client()
    assert seen == {"conn_id": "c", "api_url": "http://h", "tenant": "blue"}


def test_a_login_is_no_argument_of_an_operator() -> None:
    """It would be stored in clear text in the serialized Dag; a connection holds it."""
    for kind in OPERATORS:
        with pytest.raises(TypeError, match="token"):
            kind(task_id="t", asset_id="a", asset_type="T", end_date=NOW, token="x")


def test_invalid_request_is_what_every_check_raises() -> None:
    assert issubclass(InvalidAsset, InvalidRequest)
    assert issubclass(InvalidQuery, InvalidRequest)
