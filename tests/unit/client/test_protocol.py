"""The client has each operation of the protocol, and its two faces are the same."""

from __future__ import annotations

import inspect

import pytest

from airflow_assets.client.aio import AsyncCatalogClient
from airflow_assets.client.base import CatalogClient
from airflow_assets.schemas.operations import OPERATIONS
from scripts import make_async_client


class Recorder:
    """A transport that only remembers what it was asked for."""

    def call(self, operation, path_id, payload):
        self.last = operation.name, path_id, payload


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_has_its_method_with_the_right_model(name) -> None:
    operation, recorder = OPERATIONS[name], Recorder()
    method = getattr(CatalogClient(recorder), name)
    wanted = operation.body or operation.query
    hints = inspect.signature(method).parameters
    arguments = []
    if "{" in operation.path:
        arguments.append("some-id")
    modelled = [p for p in hints.values() if wanted and wanted.__name__ in str(p.annotation)]
    if modelled:
        arguments.append(wanted.model_construct())
    method(*arguments)
    called, path_id, payload = recorder.last
    assert (called, path_id) == (name, "some-id" if "{" in operation.path else None)
    assert wanted is None or isinstance(payload, wanted)
    assert method.__doc__


def test_the_asynchronous_client_is_up_to_date(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["make_async_client", "--check"])
    assert make_async_client.main() == 0


def test_both_clients_have_the_same_methods_and_arguments() -> None:
    def shape(kind):
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in vars(kind).items()
            if not name.startswith("_")
        }

    assert shape(CatalogClient) == shape(AsyncCatalogClient)
