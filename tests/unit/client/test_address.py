from __future__ import annotations

import pytest

from airflow_assets.client.address import find_address
from airflow_assets.exceptions import InvalidRequest

OWN = "AIRFLOW__AIRFLOW_ASSETS__API_URL"
EXECUTION = "AIRFLOW__CORE__EXECUTION_API_SERVER_URL"
BASE = "AIRFLOW__API__BASE_URL"
PORT = "AIRFLOW__API__PORT"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch) -> None:
    for name in (OWN, EXECUTION, BASE, PORT):
        monkeypatch.delenv(name, raising=False)


def test_the_first_that_is_set_wins(monkeypatch) -> None:
    """Each step takes away the strongest source that is left."""
    monkeypatch.setenv(OWN, "http://own:1/af")
    monkeypatch.setenv(EXECUTION, "http://execution:2/af/execution/")
    monkeypatch.setenv(BASE, "http://base:3/af")
    assert find_address("http://argument:4", "http://connection:5", "c").url == "http://argument:4"
    assert find_address(None, "http://connection:5", "c").url == "http://connection:5"
    assert find_address(None, None, "c").url == "http://own:1/af"
    monkeypatch.delenv(OWN)
    assert find_address(None, None, "c").url == "http://execution:2/af"
    monkeypatch.delenv(EXECUTION)
    assert find_address(None, None, "c").url == "http://base:3/af"
    monkeypatch.setenv(BASE, "/af")
    monkeypatch.setenv(PORT, "8123")
    assert find_address(None, None, "c").url == "http://localhost:8123/af"
    monkeypatch.delenv(BASE)
    assert find_address(None, None, "c").url == "http://localhost:8123"


def test_an_execution_address_of_another_shape_tells_nothing(monkeypatch) -> None:
    monkeypatch.setenv(EXECUTION, "http://execution:2/something")
    monkeypatch.setenv(BASE, "http://base:3")
    assert find_address(None, None, "c").origin == "[api] base_url"


@pytest.mark.parametrize(
    "given",
    [
        "https://h/af",
        "https://h/af/",
        " https://h/af ",
        "https://h/af/airflow_assets/api/v1",
        "https://h/af/airflow_assets/api/v1/",
    ],
)
def test_however_it_is_written_the_api_is_found(given) -> None:
    address = find_address(given, None, "c")
    assert address.api == "https://h/af/airflow_assets/api/v1"
    assert address.tokens == "https://h/af/auth/token"


@pytest.mark.parametrize("given", ["airflow.example.com", "ftp://h", "http://", "//h/x"])
def test_what_is_no_address_is_refused_with_its_origin(given) -> None:
    with pytest.raises(InvalidRequest, match="of the Airflow connection 'c' is not an http or https URL"):
        find_address(None, given, "c")
