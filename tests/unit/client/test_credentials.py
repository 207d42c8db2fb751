from __future__ import annotations

import time
from types import SimpleNamespace

import jwt
import pytest

from airflow_assets.client import credentials
from airflow_assets.client.connection import Connection
from airflow_assets.client.credentials import Bearer, Login, Managed, TokenStore, choose
from airflow_assets.client.identity import acting_as, current_claims, current_source
from airflow_assets.client.options import Options
from airflow_assets.exceptions import NotAuthenticated
from airflow_assets.schemas.actors import SourceKind
from airflow_assets.schemas.credentials import AUDIENCE, Claims, ManagedSecret

SECRET = ManagedSecret.generate()
TASK = SimpleNamespace(id="0199-uuid", dag_id="d", run_id="r", task_id="t", map_index=None, try_number=2)


def test_the_managed_token_says_who_runs_and_expires_within_a_minute() -> None:
    with acting_as(TASK):
        token = Managed(SECRET.current, "c").sign(now=1_000.7)
    payload = jwt.decode(
        token,
        SECRET.current,
        algorithms=["HS256"],
        audience=AUDIENCE,
        options={"verify_exp": False, "verify_iat": False},
    )
    assert payload == {
        "sub": "ti:0199-uuid", "dagId": "d", "runId": "r", "taskId": "t", "mapIndex": -1, "tryNumber": 2,
        "aud": "airflow-assets", "iat": 1000, "exp": 1060,
    }  # fmt: skip


def test_the_token_is_signed_with_this_secret_only() -> None:
    with acting_as(TASK):
        token = Managed(SECRET.current, "c").sign()
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token, ManagedSecret.generate().current, algorithms=["HS256"], audience=AUDIENCE)


def test_a_trigger_is_known_by_what_airflow_binds_for_its_log() -> None:
    from structlog.contextvars import bound_contextvars

    with bound_contextvars(trigger_id=17):
        assert current_claims() == Claims(sub="trigger:17")


def test_a_parsed_file_speaks_in_its_name(monkeypatch) -> None:
    from airflow.sdk.definitions._internal.contextmanager import DagContext
    from airflow.sdk.execution_time import task_runner

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", object(), raising=False)
    monkeypatch.setattr(DagContext, "current_autoregister_module_name", "unusual_prefix_1_my_dags")
    assert current_claims() == Claims(sub="parse:unusual_prefix_1_my_dags")


def test_elsewhere_the_managed_secret_is_of_no_use() -> None:
    with pytest.raises(NotAuthenticated, match="Log in: give a token"):
        Managed(SECRET.current, "c").sign()


def test_the_source_of_a_write_in_process_is_the_task_else_the_user() -> None:
    with acting_as(TASK):
        source = current_source()
    assert (source.kind, source.dag_id, source.map_index, source.ti_id) == (
        SourceKind.TASK,
        "d",
        -1,
        "0199-uuid",
    )
    outside = current_source()
    assert outside.kind is SourceKind.CLI
    assert outside.user


def test_arguments_win_over_the_connection_and_a_login_over_the_secret(monkeypatch) -> None:
    everything = Connection("c", None, "ann", "pw", None, None, SECRET)
    assert choose(Options(token="t"), everything) == Bearer("t", "the arguments")
    assert choose(Options(username="bob", password="x"), everything) == Login("bob", "x", "the arguments")
    assert isinstance(choose(Options(), everything), Login)
    assert isinstance(choose(Options(), Connection("c", token="t", secret=SECRET)), Bearer)
    assert choose(Options(), Connection("c", secret=SECRET)) == Managed(
        SECRET.current, "airflow_assets_default"
    )


def test_a_connection_with_nothing_is_an_error_that_names_it() -> None:
    with pytest.raises(NotAuthenticated, match="'some' holds no token, no login and no secret"):
        choose(Options("some"), Connection("some"))


@pytest.mark.parametrize("mode", ["user", "off"])
def test_a_strict_site_uses_no_managed_secret(monkeypatch, mode) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFLOW_ASSETS__TASK_AUTH", mode)
    with pytest.raises(NotAuthenticated, match=f"task_auth is '{mode}'"):
        choose(Options(), Connection("c", secret=SECRET))


def test_nothing_that_is_shown_contains_the_secret() -> None:
    kinds = (Bearer("secret-tok", "x"), Login("ann", "secret-pw", "x"), Managed("secret-key", "c"))
    shown = " ".join(repr(kind) + kind.describe() for kind in kinds)
    assert not any(word in shown for word in ("secret-tok", "secret-pw", "secret-key"))
    assert credentials.fingerprint("secret-key") in shown


def test_the_error_can_say_where_the_connection_came_from(monkeypatch) -> None:
    assert credentials.where_read("x_y") == "Airflow's own connections"
    monkeypatch.setenv("AIRFLOW__SECRETS__BACKEND", "some.Vault")
    assert "some.Vault ([secrets] backend)" in credentials.where_read("x_y")
    monkeypatch.setenv("AIRFLOW_CONN_X_Y", "airflow-assets://")
    assert credentials.where_read("x_y") == "the environment variable AIRFLOW_CONN_X_Y"


def token_for(seconds: float) -> str:
    return jwt.encode({"exp": int(time.time() + seconds)}, "k" * 32, algorithm="HS256")


@pytest.mark.parametrize(
    ("lifetime", "passed", "kept"), [(3600, 3500, True), (3600, 3550, False), (20, 2, True), (20, 8, False)]
)
def test_a_token_for_a_login_is_used_until_shortly_before_it_expires(
    monkeypatch, lifetime, passed, kept
) -> None:
    store, key = TokenStore(), ("http://h", "ann", b"")
    token = token_for(lifetime)
    store.keep(key, token)
    later = time.time() + passed
    monkeypatch.setattr(credentials.time, "time", lambda: later)
    assert store.get(key) == (token if kept else None)


def test_a_secret_survives_its_own_text_and_rotation() -> None:
    import json
    from datetime import datetime, timedelta, timezone

    now = datetime(2026, 3, 29, 7, 0, tzinfo=timezone.utc)
    rotated = ManagedSecret.from_extra(json.loads(SECRET.rotated(now).to_extra()))
    assert rotated is not None
    assert rotated.accepted(now + timedelta(minutes=9)) == (rotated.current, SECRET.current)
    assert rotated.accepted(now + timedelta(minutes=10)) == (rotated.current,)
    assert SECRET.current not in repr(rotated) + repr(SECRET)
