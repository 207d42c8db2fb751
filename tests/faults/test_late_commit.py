"""An Airflow event whose id was taken first and that commits a minute later is recorded, and once."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy.orm import Session

from airflow_assets.airflow_bridge.follower import Follower
from airflow_assets.schemas.queries import EventQuery
from tests.support.airflow_database import CALLER, AirflowDatabase, insert_event

HELD = 60.0


@pytest.mark.slow
def test_an_event_that_commits_after_a_minute(postgres_url: str, mariadb_url: str) -> None:
    databases = [AirflowDatabase(url) for url in (postgres_url, mariadb_url)]
    for database in databases:
        Follower(database.engine).step()
    ended = threading.Event()

    def follow(database: AirflowDatabase) -> None:
        follower = Follower(database.engine)
        while not ended.is_set():
            follower.step()
            ended.wait(0.5)
        follower.step()

    threads = [threading.Thread(target=follow, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    try:
        _hold(databases)
    finally:
        ended.set()
        for thread in threads:
            thread.join(90)
    for database in databases:
        counts = {name: len(_events(database, name)) for name in ("late", "punctual", "next")}
        assert counts == {"late": 1, "punctual": 1, "next": 1}, database.engine.dialect.name
        database.close()


def _hold(databases: list[AirflowDatabase]) -> None:
    open_sessions = [Session(database.engine) for database in databases]
    early = [insert_event(session, "late") for session in open_sessions]
    began = time.monotonic()
    for database, early_id in zip(databases, early, strict=True):
        assert database.add_event("punctual") > early_id
    while time.monotonic() - began < HELD:  # the minute is what is tested
        time.sleep(1)
        assert not any(_events(database, "late") for database in databases)
    for session in open_sessions:
        session.commit()
        session.close()
    for database in databases:
        database.add_event("next")
        deadline = time.monotonic() + 60
        while not (_events(database, "late") and _events(database, "next")) and time.monotonic() < deadline:
            time.sleep(0.2)


def _events(database: AirflowDatabase, asset_id: str) -> list[object]:
    return list(database.service.list_events(CALLER, EventQuery(asset_id=asset_id)).items)
