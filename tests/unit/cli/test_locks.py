"""The commands on locks, on the real catalogue in process."""

from __future__ import annotations

import getpass
import json

import pytest

from airflow_assets.cli import exit_codes
from airflow_assets.client import get_client
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.leases import AcquireLeases
from tests.support.task_identity import elsewhere

ME = f"cli:{getpass.getuser()}"


@pytest.fixture(autouse=True)
def assets(catalog) -> None:
    for asset_id in ("a", "b"):
        get_client().create_asset(AssetInput(id=asset_id, type="T"))


def acquire(*asset_ids: str) -> None:
    elsewhere(lambda: get_client().acquire_leases(AcquireLeases(asset_ids=list(asset_ids))))


def test_lock_and_unlock_are_the_users_own(cli) -> None:
    code, out, _ = cli("lock", "b", "a", "--ttl", "PT1H", "-o", "json")
    assert code == 0
    leases = json.loads(out)
    assert [(lease["assetId"], lease["owner"], lease["ttl"]) for lease in leases] == [
        ("b", ME, "PT1H"),
        ("a", ME, "PT1H"),
    ]
    listed = cli("locks", "-o", "plain")[1].splitlines()
    assert sorted(line.split("\t")[:2] for line in listed) == [["a", ME], ["b", ME]]
    assert cli("locks", "--id", "a", "-o", "plain")[1].startswith("a\t")
    code, out, err = cli("unlock", "a", "b", "nobody")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "Released a.",
        "Released b.",
        "Left alone, as it is no lock of yours: nobody.",
    ]
    assert cli("locks")[1] == "Nothing found.\n"


def test_a_lock_of_somebody_else_has_its_own_exit_code(cli) -> None:
    acquire("a")
    for arguments in (("lock", "a", "b"), ("lock", "a", "--timeout", "0.2"), ("delete", "a", "--yes")):
        code, out, err = cli(*arguments)
        assert (code, out) == (exit_codes.LOCKED, "")
        assert "'a' is locked by d / r2 (EXECUTION) until" in err
    assert get_client().get_asset("b").lock is None
    code, _, err = cli("unlock", "a")
    assert (code, "no lock of yours" in err) == (0, True)


def test_force_needs_a_reason_and_is_listed(cli) -> None:
    acquire("a")
    for arguments in (("--force",), ("--reason", "x")):
        code, _, err = cli("unlock", "a", *arguments)
        assert (code, "belong together" in err) == (exit_codes.INVALID, True)
    assert cli("unlock", "a", "--force", "--reason", " ")[0] == exit_codes.INVALID
    code, _, err = cli("unlock", "a", "b", "--force", "--reason", "its host is gone")
    assert (code, err.splitlines()) == (0, ["Took the lock of a from d / r2.", "b was not locked."])
    [line] = cli("locks", "--forced", "-o", "plain")[1].splitlines()
    assert line.split("\t")[:3] == ["a", "d / r2", getpass.getuser()]
    assert line.endswith("\tits host is gone")
    [forced] = json.loads(cli("locks", "--forced", "--id", "a", "-o", "json")[1])
    assert (forced["reason"], forced["lease"]["executionId"]) == ("its host is gone", "r2")
    assert cli("lock", "a")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"), [(("--ttl", "soon"), "no duration"), (("--timeout", "soon"), "no time to wait")]
)
def test_a_value_that_breaks_a_rule(cli, arguments, words) -> None:
    code, _, err = cli("lock", "a", *arguments)
    assert (code, words in err) == (exit_codes.INVALID, True), err


def test_seconds_are_understood(cli) -> None:
    assert json.loads(cli("lock", "a", "--ttl", "90", "-o", "json")[1])[0]["ttl"] == "PT1M30S"
