"""The connection comes through Airflow's own resolution, here from the environment."""

from __future__ import annotations

import asyncio
import json

import pytest

from airflow_assets.client import connection
from airflow_assets.client.connection import ConnectionStore
from airflow_assets.exceptions import CatalogUnavailable, InvalidRequest

VARIABLE = "AIRFLOW_CONN_SOME_CATALOG"


def put(monkeypatch, **members) -> None:
    if "extra" in members:
        members["extra"] = json.dumps(members["extra"])
    monkeypatch.setenv(VARIABLE, json.dumps({"conn_type": "airflow-assets", **members}))


@pytest.fixture(params=["sync", "async"])
def get(request):
    """Both ways to read must give the same."""
    store = ConnectionStore()
    if request.param == "sync":
        return store.get
    return lambda *args, **kwargs: asyncio.run(store.aget(*args, **kwargs))


@pytest.mark.parametrize(
    ("members", "url"),
    [
        ({}, None),
        ({"host": "h"}, "http://h"),
        ({"host": "h", "port": 8080}, "http://h:8080"),
        ({"host": "h", "port": 443}, "https://h:443"),
        ({"host": "h", "port": 8080, "schema": "https"}, "https://h:8080"),
        ({"host": "https://h/af/", "port": 8443}, "https://h:8443/af"),
        ({"host": "https://h:1/af", "port": 8443}, "https://h:1/af"),
        ({"host": "http://[::1]/af", "port": 8080}, "http://[::1]:8080/af"),
        ({"host": "http://[::1]:9/af", "port": 8080}, "http://[::1]:9/af"),
    ],
)
def test_the_host_field_may_be_a_name_or_an_address(monkeypatch, get, members, url) -> None:
    put(monkeypatch, **members)
    assert get("some_catalog").url == url


def test_all_members_are_read(monkeypatch, get) -> None:
    put(monkeypatch, login="ann", password="pw", extra={"secret": "s", "tenant": "blue"})
    found = get("some_catalog")
    assert (found.username, found.password, found.tenant, found.secret.current) == ("ann", "pw", "blue", "s")
    assert "pw" not in repr(found)


def test_half_a_login_in_the_connection_is_refused(monkeypatch, get) -> None:
    put(monkeypatch, login="ann")
    with pytest.raises(
        InvalidRequest, match="Only the username is given in the Airflow connection 'some_catalog'"
    ):
        get("some_catalog")


@pytest.mark.parametrize("extra", ["[1]", "{nonsense"])
def test_an_extra_that_is_no_object_is_named(monkeypatch, get, extra) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps({"conn_type": "airflow-assets", "extra": extra}))
    with pytest.raises(
        InvalidRequest, match="extra of the Airflow connection 'some_catalog' is not a JSON object"
    ):
        get("some_catalog")


def test_it_is_read_once_and_again_when_asked_for_a_fresher_one(monkeypatch, get) -> None:
    put(monkeypatch, host="old")
    assert get("some_catalog").url == "http://old"
    put(monkeypatch, host="new")
    assert get("some_catalog").url == "http://old"
    assert get("some_catalog", newer_than=0).url == "http://new"


def test_it_is_read_again_after_five_minutes(monkeypatch, get) -> None:
    now = [1000.0]
    monkeypatch.setattr(connection.time, "monotonic", lambda: now[0])
    put(monkeypatch, host="old")
    get("some_catalog")
    put(monkeypatch, host="new")
    now[0] += 299
    assert get("some_catalog").url == "http://old"
    now[0] += 2
    assert get("some_catalog").url == "http://new"


def test_a_missing_connection_says_what_to_do(monkeypatch, get) -> None:
    # Only the environment is asked: this ring has no database.
    backends = [b for b in backends_of_airflow() if "Environment" in type(b).__name__]
    monkeypatch.setattr(
        "airflow.sdk.execution_time.supervisor.ensure_secrets_backend_loaded", lambda: backends
    )
    with pytest.raises(CatalogUnavailable, match=r"'no_such_catalog' cannot be read.*Create it"):
        get("no_such_catalog")
    with pytest.raises(
        CatalogUnavailable, match=r"'airflow_assets_default' cannot be read.*airflow db migrate"
    ):
        get("airflow_assets_default")


def backends_of_airflow() -> list:
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded

    return ensure_secrets_backend_loaded()
