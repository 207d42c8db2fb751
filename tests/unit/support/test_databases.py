"""A database that cannot be had fails the run, unless the run says it can do without."""

from __future__ import annotations

import shutil

import pytest

from tests.conftest import make_database
from tests.support import mariadb
from tests.support.databases import DatabaseMissingError, Databases, allowed_missing


@pytest.fixture
def no_mariadb(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Databases:
    """A machine with neither a MariaDB server nor a way to download one."""
    if mariadb.SYSTEM.exists():
        monkeypatch.setattr(mariadb, "SYSTEM", tmp_path / "none")
    monkeypatch.setattr(mariadb, "UNPACKED", tmp_path / "mariadb")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    return Databases()


def test_missing_server_is_an_error_that_names_the_way_out(
    no_mariadb: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALLOW_MISSING", raising=False)
    with pytest.raises(DatabaseMissingError, match="ALLOW_MISSING=mariadb"):
        make_database(no_mariadb, "mariadb")


def test_allowed_missing_server_skips_and_says_why(
    no_mariadb: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOW_MISSING", "postgres, mariadb")
    with pytest.raises(pytest.skip.Exception, match="ALLOW_MISSING=mariadb: MariaDB: no "):
        make_database(no_mariadb, "mariadb")


def test_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOW_MISSING", "mysql")
    with pytest.raises(ValueError, match="ALLOW_MISSING=mysql: allowed are postgres, mariadb, chromium"):
        allowed_missing()
