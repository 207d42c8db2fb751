from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from airflow.cli.cli_parser import get_parser

from tests.support.local_catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["catalog"]


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `airflow assets-catalog ARGUMENTS` in this process; gives exit code, standard output, standard error."""
    parser = get_parser()
    for name in ("AIRFLOW_ASSETS_TOKEN", "AIRFLOW_ASSETS_PASSWORD"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            args = parser.parse_args(["assets-catalog", *arguments])
            args.func(args)
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run
