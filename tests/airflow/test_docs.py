"""The documentation is true: its Python blocks run against a real Airflow, its commands exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from scripts.docs_check import FENCE, ROOT, pages

if TYPE_CHECKING:
    from tests.support.airflow_process import AirflowProcess

COMMAND = re.compile(r"^\$ (airflow assets-catalog .+?)(?:\s+#.*)?$", re.MULTILINE)


def test_python_blocks_run(airflow: AirflowProcess) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.docs_run"],
        env=airflow.environment, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    ran = re.search(r"^(\d+) blocks ran, 0 failed$", done.stdout, re.MULTILINE)
    assert ran, done.stdout
    assert int(ran.group(1)) >= 5, done.stdout


def test_commands_exist() -> None:
    from airflow.cli.cli_parser import get_parser

    commands = [
        shlex.split(command)[1:]
        for page in pages()
        for match in FENCE.finditer(page.read_text())
        for command in COMMAND.findall(match.group(2))
    ]
    assert commands
    parser = get_parser()
    for command in commands:
        parser.parse_args(command)  # exits with 2, naming the argument, where the command does not exist
