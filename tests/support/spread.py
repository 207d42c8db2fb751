"""Which of the processes of a test ring runs which tests.

`--dist loadgroup` of pytest-xdist 3.8 does nothing with pytest 9.2, where it cannot change the ids of tests; so the
processes that collect the tests write down what belongs together, and the one that distributes them reads it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

PLACE = "AIRFLOW_ASSETS_TEST_GROUPS"
"""The variable that names the file; set by the process that distributes, inherited by the others."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """Gives whole groups of tests to processes, those with the most tests first."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self._groups: dict[str, str] | None = None

    def _split_scope(self, nodeid: str) -> str:
        if self._groups is None:
            self._groups = json.loads(Path(os.environ[PLACE]).read_text())
        return self._groups[nodeid]


def write_groups(items: Iterable[pytest.Item]) -> None:
    """Write down the group of each test, if somebody will ask."""
    if PLACE in os.environ:
        place = Path(os.environ[PLACE])
        part = place.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({item.nodeid: group_of(item) for item in items}))
        part.replace(place)


def group_of(item: pytest.Item) -> str:
    """What the test shares with others that is costly or of which there must be one: an Airflow, a server, an API.

    So a ring has one server of each kind and one common Airflow. A mark `xdist_group` names another group; what
    shares nothing goes with its file.
    """
    if mark := item.get_closest_marker("xdist_group"):
        return str(mark.args[0])
    names = set(getattr(item, "fixturenames", ()))
    if "airflow" in names:
        return "airflow"
    if names & {"client", "airflow_db"}:
        return "in process"
    callspec = getattr(item, "callspec", None)
    params = callspec.params.items() if callspec else ()
    servers = {value for name, value in params if "database_url" in name and value != "sqlite"}
    servers |= {name.removesuffix("_url") for name in names & {"postgres_url", "mariadb_url"}}
    return min(servers) if servers else str(item.path)
