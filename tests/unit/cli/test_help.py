"""The help texts are part of the interface: a change shows in the files of `help/`.

`UPDATE_GOLDEN=1 python -m pytest tests/unit/cli/test_help.py` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_assets.cli import exit_codes, get_cli_commands

GOLDEN = Path(__file__).parent / "help"
(GROUP,) = get_cli_commands()
COMMANDS = [command.name for command in GROUP.subcommands]


def check(name: str, text: str) -> None:
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help(cli, monkeypatch, name) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = cli(*([name] if name else []), "--help")
    assert code == 0
    check(name or "assets-catalog", out)


def test_no_file_is_left_over() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == {"assets-catalog", *COMMANDS}


def test_the_commands_of_the_issue_are_there() -> None:
    wanted = "list get create update delete rename events replay lineage dependencies history export import rotate-secret doctor lock unlock locks purge"
    assert sorted(COMMANDS) == sorted(wanted.split())


def test_every_command_has_its_function() -> None:
    from airflow_assets.cli import commands

    for command in GROUP.subcommands:
        assert command.func.__name__ == command.name.replace("-", "_") + "_command"
        assert callable(getattr(commands, command.func.__name__))


def test_names_of_options_are_snake_case() -> None:
    for command in GROUP.subcommands:
        for arg in command.args:
            for flag in arg.flags:
                assert flag.lstrip("-").replace("_", "").isalnum(), (command.name, flag)


def test_every_exit_code_is_in_the_table() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    listed = {int(line.split()[0]) for line in exit_codes.TABLE.splitlines()[1:] if line.strip()}
    assert codes == listed


def test_the_page_about_the_commands_has_all_of_them_and_every_exit_code() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    for name in COMMANDS:
        assert f"`{name}" in page, name
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert {int(row.split("|")[1]) for row in page.splitlines() if row[:4].strip("| ").isdigit()} == codes
