from __future__ import annotations

import json

from airflow.providers_manager import ProvidersManager
from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime

from airflow_assets.hooks import AssetCatalogHook
from airflow_assets.schemas.credentials import CONN_TYPE
from tests.support.local_catalog import catalog  # noqa: F401 - a fixture
from tests.support.scripted_server import Reply, ScriptedServer

VARIABLE = "AIRFLOW_CONN_SOME_CATALOG"


def test_airflow_finds_the_hook_and_the_form_of_its_connection() -> None:
    manager = ProvidersManager()
    hook = ProvidersManagerTaskRuntime().hooks[CONN_TYPE]
    assert hook is not None
    assert hook.hook_class_name == "airflow_assets.hooks.AssetCatalogHook"
    assert hook.connection_id_attribute_name == AssetCatalogHook.conn_name_attr == "airflow_assets_conn_id"
    fields = {name: widget for name, widget in manager.connection_form_widgets.items() if CONN_TYPE in name}
    assert {widget.field_name: widget.is_sensitive for widget in fields.values()} == {
        "token": True,
        "tenant": False,
    }
    assert manager.field_behaviours[CONN_TYPE]["hidden_fields"] == ["schema", "port"]


def test_the_connection_test_tells_what_it_found(catalog) -> None:  # noqa: F811
    assert AssetCatalogHook().test_connection() == (True, "The catalogue answered; it holds no assets yet.")


def test_the_connection_test_tells_what_is_wrong(monkeypatch) -> None:
    refusal = {
        "type": "urn:airflow-assets:problem:not-permitted",
        "detail": "You may not LIST.",
        "hint": "Ask.",
    }
    with ScriptedServer(Reply(403, refusal)) as server:
        connection = {
            "conn_type": "airflow-assets",
            "host": server.url,
            "extra": json.dumps({"token": "tok"}),
        }
        monkeypatch.setenv(VARIABLE, json.dumps(connection))
        assert AssetCatalogHook("some_catalog").test_connection() == (
            False,
            "Not permitted: You may not LIST. Ask.",
        )


def test_a_connection_with_a_host_goes_over_http_even_where_the_database_may_be_used(monkeypatch) -> None:
    from airflow_assets.client import choose

    monkeypatch.setattr(choose, "may_use_database", lambda: True)
    with ScriptedServer(Reply(200, {"items": [], "nextCursor": None})) as server:
        connection = {
            "conn_type": "airflow-assets",
            "host": server.url,
            "extra": json.dumps({"token": "tok"}),
        }
        monkeypatch.setenv(VARIABLE, json.dumps(connection))
        AssetCatalogHook("some_catalog", tenant="blue").get_conn().query_assets()
    assert server.requests[0].token == "tok"
