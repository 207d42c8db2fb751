"""The connection that holds the tasks' secret: made once, made again, rotated, never written over."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from airflow.models.connection import Connection
from airflow.models.crypto import get_fernet
from cryptography.fernet import Fernet
from sqlalchemy import delete, text

from airflow_assets.airflow_bridge import managed_connection
from airflow_assets.airflow_bridge.managed_connection import (
    ensure_connection,
    resolve_secret,
    rotate_secret,
)
from airflow_assets.exceptions import CatalogUnavailable, Conflict
from airflow_assets.schemas.credentials import CONN_ID, CONN_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.airflow_database import AirflowDatabase


@pytest.fixture
def db(database: AirflowDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[AirflowDatabase]:
    """No connection yet, and a Fernet key."""
    use_key(monkeypatch, Fernet.generate_key().decode())
    database.in_session(lambda session: session.execute(delete(Connection)))
    managed_connection.forget_secret()
    yield database
    managed_connection.forget_secret()
    monkeypatch.undo()
    get_fernet.cache_clear()


def use_key(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", key)
    get_fernet.cache_clear()


def rows(db: AirflowDatabase) -> list[Any]:
    with db.engine.connect() as conn:
        return list(
            conn.execute(text("SELECT conn_id, conn_type, extra, is_extra_encrypted FROM connection"))
        )


def test_it_is_made_once_and_encrypted(db: AirflowDatabase) -> None:
    assert [ensure_connection(db.engine) for _ in range(2)] == [True, False]
    secret = resolve_secret(db.engine)
    ((conn_id, conn_type, stored, encrypted),) = rows(db)
    assert (conn_id, conn_type, bool(encrypted)) == (CONN_ID, CONN_TYPE, True)
    assert secret is not None
    assert len(secret.current) == 43
    assert secret.current not in stored
    assert secret.current not in repr(secret)


def test_processes_that_start_together_make_one(db: AirflowDatabase) -> None:
    made: list[bool] = []
    threads = [threading.Thread(target=lambda: made.append(ensure_connection(db.engine))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(made) == [False] * 5 + [True]
    assert len(rows(db)) == 1


def test_deleted_by_hand_it_is_made_again_with_a_new_secret(db: AirflowDatabase) -> None:
    ensure_connection(db.engine)
    before = resolve_secret(db.engine)
    db.in_session(lambda session: session.execute(delete(Connection)))
    assert ensure_connection(db.engine)
    after = resolve_secret(db.engine)
    assert before is not None
    assert after is not None
    assert before.current != after.current


def test_rotation_keeps_the_secret_before_for_ten_minutes(db: AirflowDatabase) -> None:
    ensure_connection(db.engine)
    old = resolve_secret(db.engine)
    new = rotate_secret(db.engine)
    assert resolve_secret(db.engine) == new
    assert old is not None
    now = datetime.now(timezone.utc)
    assert new.accepted(now) == (new.current, old.current)
    assert new.accepted(now + timedelta(minutes=10, seconds=5)) == (new.current,)
    again = rotate_secret(db.engine)
    assert again.accepted(now) == (again.current, new.current)


def test_what_somebody_added_to_the_connection_stays_through_a_rotation(db: AirflowDatabase) -> None:
    ensure_connection(db.engine)

    def add(session: Any) -> None:
        row = session.query(Connection).one()
        row.set_extra(json.dumps({**row.extra_dejson, "note": "ours"}))

    db.in_session(add)
    rotate_secret(db.engine)
    assert db.in_session(lambda session: session.query(Connection).one().extra_dejson["note"]) == "ours"


def test_the_environment_supplies_it(db: AirflowDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    supplied = json.dumps({"conn_type": CONN_TYPE, "extra": {"secret": "from outside"}})
    monkeypatch.setenv("AIRFLOW_CONN_AIRFLOW_ASSETS_DEFAULT", supplied)
    assert not ensure_connection(db.engine)
    assert rows(db) == []
    secret = resolve_secret(db.engine)
    assert secret is not None
    assert secret.current == "from outside"
    with pytest.raises(Conflict, match="EnvironmentVariablesBackend"):
        rotate_secret(db.engine)


def test_another_fernet_key_is_said_so(db: AirflowDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_connection(db.engine)
    use_key(monkeypatch, Fernet.generate_key().decode())
    with pytest.raises(CatalogUnavailable, match="another Fernet key"):
        resolve_secret(db.engine, fresh=True)


def test_the_secret_is_remembered_and_read_anew_on_demand(db: AirflowDatabase) -> None:
    ensure_connection(db.engine)
    first = resolve_secret(db.engine)
    db.in_session(lambda session: session.execute(delete(Connection)))
    assert resolve_secret(db.engine) == first
    assert resolve_secret(db.engine, fresh=True) is None


def test_without_a_fernet_key_the_api_server_warns(
    db: AirflowDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    managed_connection.warn_without_fernet_key()
    assert not caplog.records
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "")
    managed_connection.warn_without_fernet_key()
    assert ["clear text" in record.message for record in caplog.records] == [True]
