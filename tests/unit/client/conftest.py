from __future__ import annotations

import pytest

from airflow_assets.client import connection, credentials


@pytest.fixture(autouse=True)
def _forget() -> None:
    """No connection and no token of one test serves another."""
    connection.store.forget()
    credentials.tokens.__init__()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are measured, not waited for at length."""
    from airflow_assets.client import exchange

    monkeypatch.setattr(exchange, "FIRST_PAUSE", 0.01)
