"""The commands on the real catalogue in process."""

from __future__ import annotations

import io
import json

import pytest
import yaml

from airflow_assets import exceptions
from airflow_assets.cli import exit_codes
from airflow_assets.cli.run import code_of
from airflow_assets.client import get_client
from airflow_assets.schemas.assets import AssetInput


def add(*ids: str, kind: str = "T", **members) -> None:
    for asset_id in ids:
        get_client().create_asset(AssetInput(id=asset_id, type=kind, **members))


def test_create_shows_the_asset_in_every_form(cli, catalog) -> None:
    made = {
        output: cli(
            "create",
            f"a-{output}",
            "--type",
            "T",
            "--metadata",
            '{"n": 9007199254740993, "é": "😀"}',
            "-o",
            output,
        )
        for output in ("json", "yaml", "plain", "table")
    }
    assert {code for code, _, _ in made.values()} == {0}
    document = json.loads(made["json"][1])
    assert document["metadata"] == {"n": 9007199254740993, "é": "😀"}
    assert "displayName" in document
    assert yaml.safe_load(made["yaml"][1])["metadata"] == document["metadata"]
    assert "metadata\t" in made["plain"][1]
    assert "display_name\t" in made["plain"][1]
    assert "😀" in made["table"][1]


def test_members_may_come_from_a_file_and_from_standard_input(cli, catalog, tmp_path, monkeypatch) -> None:
    (tmp_path / "m.json").write_text('{"a": 1}')
    monkeypatch.setattr("sys.stdin", io.StringIO("# Title\n"))
    code, out, _ = cli(
        "create", "a", "--type", "T", "--metadata", f"@{tmp_path}/m.json", "--description", "@-", "-o", "json"
    )
    assert code == 0
    assert json.loads(out)["metadata"] == {"a": 1}
    assert json.loads(out)["description"] == "# Title\n"


def test_list_filters_sorts_and_limits(cli, catalog) -> None:
    add("b", "a", namespace="n", metadata={"tier": 2})
    add("c", kind="U", metadata={"tier": 1})
    assert cli("list", "-o", "plain")[1].split("\n")[0].startswith("a\tT\tn\t20")

    def ids(*arguments: str) -> list[str]:
        return [asset["id"] for asset in json.loads(cli("list", "-o", "json", *arguments)[1])]

    assert ids("--type", "U", "--type", "X") == ["c"]
    assert ids("--namespace", "n", "--sort=-id") == ["b", "a"]
    assert ids("--where", "tier >= 2") == ["a", "b"]
    assert ids("--id", "c", "--id", "a") == ["a", "c"]
    assert ids("--q", "B") == ["b"]
    assert ids("--limit", "2") == ["a", "b"]
    assert ids("--limit", "0") == ["a", "b", "c"]
    assert cli("list", "--type", "none")[1] == "Nothing found.\n"


def test_plain_output_is_one_line_a_row_whatever_is_in_it(cli, catalog) -> None:
    add("a", description="tab\there\nnew \\ line")
    code, out, _ = cli("get", "a", "-o", "plain")
    assert code == 0
    assert "description\ttab\\there\\nnew \\\\ line\n" in out


def test_get_update_rename_and_delete(cli, catalog) -> None:
    add("a", namespace="n", metadata={"k": 1, "gone": 1})
    code, out, _ = cli(
        "update", "a", "--metadata", '{"k": 2, "gone": null}', "--clear_namespace", "-o", "json"
    )
    assert code == 0
    assert (json.loads(out)["metadata"], json.loads(out)["namespace"]) == ({"k": 2}, None)
    assert cli("rename", "a", "b")[0] == 0
    assert json.loads(cli("get", "a", "-o", "json")[1])["id"] == "b"
    code, out, err = cli("delete", "b", "--yes")
    assert (code, out, err) == (0, "", "Deleted b.\n")
    assert cli("get", "b")[0] == exit_codes.NOT_FOUND
    assert json.loads(cli("get", "b", "--include_deleted", "-o", "json")[1])["deleted"] is True
    assert "deleted" in cli("list", "--include_deleted")[1]


@pytest.mark.parametrize(
    ("answer", "code", "left"), [("y", 0, 0), ("n", exit_codes.DECLINED, 1), ("", exit_codes.DECLINED, 1)]
)
def test_delete_asks(cli, catalog, monkeypatch, answer, code, left) -> None:
    add("a")
    monkeypatch.setattr("sys.stdin", type("Tty", (io.StringIO,), {"isatty": lambda _: True})(answer + "\n"))
    assert cli("delete", "a")[0] == code
    assert len(list(get_client().iter_assets())) == left


def test_nobody_to_ask_is_a_no(cli, catalog, monkeypatch) -> None:
    add("a")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, _, err = cli("delete", "a")
    assert code == exit_codes.DECLINED
    assert "give --yes" in err


def test_events_and_history(cli, catalog) -> None:
    add("a")
    cli("update", "a", "--description", "x")
    events = json.loads(cli("events", "-o", "json")[1])
    assert [event["event"] for event in events] == ["UPDATED", "CREATED"]
    assert [e["event"] for e in json.loads(cli("events", "--after", "0", "-o", "json")[1])] == [
        "CREATED",
        "UPDATED",
    ]
    assert [e["event"] for e in json.loads(cli("events", "--event", "CREATED", "-o", "json")[1])] == [
        "CREATED"
    ]
    assert "cli:" in cli("events")[1]
    assert '{"description": [null, "x"]}' in cli("history", "a")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["get", "nope"], exit_codes.NOT_FOUND, "'nope'"),
        (["create", "a", "--type", "T"], exit_codes.CONFLICT, "'a'"),
        (["create", "b", "--type", "T", "--metadata", "{"], exit_codes.INVALID, "--metadata is not JSON"),
        (["create", "b", "--type", "T", "--metadata", "[]"], exit_codes.INVALID, "must be a JSON object"),
        (["create", " b", "--type", "T"], exit_codes.INVALID, "white space"),
        (["create", "b", "--type", "T", "--description", "@/no/such/file"], exit_codes.INVALID, "/no/such/file"),
        (["list", "--where", "tier >"], exit_codes.INVALID, "position 7"),
        (["list", "--limit", "-1"], exit_codes.INVALID, "0 or more"),
        (["update", "a"], exit_codes.INVALID, "nothing to change"),
        (["update", "a", "--namespace", "n", "--clear_namespace"], exit_codes.INVALID, "contradict"),
        (["dependencies", "a", "--depth", "99"], exit_codes.INVALID, "1 to 20"),
        (["import", "/no/such/file"], exit_codes.INVALID, "/no/such/file"),
        (["list", "--sort", "odd"], exit_codes.USAGE, "invalid choice"),
        (["get"], exit_codes.USAGE, "asset_id"),
    ],
)  # fmt: skip
def test_a_users_error_has_its_code_and_no_traceback(cli, catalog, arguments, code, words) -> None:
    add("a")
    got, out, err = cli(*arguments)
    assert got == code
    assert words in err
    assert "Traceback" not in out + err


def test_every_error_of_the_catalogue_has_a_code() -> None:
    kinds = [exceptions.AssetCatalogError]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        wanted = {
            400: exit_codes.INVALID, 405: exit_codes.INVALID, 413: exit_codes.INVALID, 422: exit_codes.INVALID,
            401: exit_codes.REFUSED, 403: exit_codes.REFUSED, 404: exit_codes.NOT_FOUND, 409: exit_codes.CONFLICT,
            423: exit_codes.LOCKED, 503: exit_codes.UNAVAILABLE,
        }  # fmt: skip
        if kind is not exceptions.AssetCatalogError:
            assert code_of(kind("x")) == wanted[kind.status], kind


def test_a_bug_keeps_its_traceback(cli, catalog, monkeypatch) -> None:
    monkeypatch.setattr(catalog, "get_asset", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli("get", "a")


def test_missing_tables_are_told(cli, catalog) -> None:
    from airflow_assets.catalog import tables

    tables.metadata.drop_all(catalog.engine)
    code, _, err = cli("get", "a")
    assert code == exit_codes.UNAVAILABLE
    assert "airflow db migrate" in err


def test_a_password_is_taken_from_the_environment_or_asked_for(cli, catalog, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(
        "airflow_assets.client.get_client", lambda conn_id, **more: seen.append(more) or 1 / 0
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = cli("get", "a", "--username", "ann")
    assert code == exit_codes.INVALID
    assert "Set AIRFLOW_ASSETS_PASSWORD" in err
    monkeypatch.setenv("AIRFLOW_ASSETS_PASSWORD", "pw")
    with pytest.raises(ZeroDivisionError):
        cli("get", "a", "--username", "ann", "--api_url", "http://h", "--tenant", "t")
    assert seen == [
        {
            "api_url": "http://h",
            "tenant": "t",
            "token": None,
            "username": "ann",
            "password": "pw",
            "patience": 10.0,
        }
    ]


def test_an_interrupt_is_no_traceback(cli, catalog, monkeypatch) -> None:
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(catalog, "get_asset", interrupted)
    code, _, err = cli("get", "a")
    assert (code, err) == (exit_codes.INTERRUPTED, "error: interrupted\n")


@pytest.mark.parametrize("command", [["events", "--id"], ["history"], ["lineage"], ["get"]])
def test_an_asset_that_does_not_exist_is_not_found(cli, catalog, command) -> None:
    add("a")
    get_client().delete_asset("a")
    code, _, err = cli(*command, "nope")
    assert code == exit_codes.NOT_FOUND
    assert "'nope'" in err
    if command != ["get"]:
        assert cli(*command, "a")[0] == 0  # deleted, but it has a past
