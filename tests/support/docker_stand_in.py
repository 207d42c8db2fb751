"""A stand-in of the command ``docker``: no container engine can run where the tests run.

It records its arguments and environment, does what a test has told it, and runs a container's command as a plain
process. What a real engine keeps a script from is therefore not tested, only what it is asked for.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = """#!{python}
import json, os, sys
calls = {calls!r}
with open(calls, "a") as log:
    log.write(json.dumps({{"args": sys.argv[1:], "env": dict(os.environ)}}) + "\\n")
answer = json.loads({answer!r})
if sys.argv[1] == "run" and answer is None:
    place = sys.argv.index("python")
    if {stubborn!r}:
        import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.execv({python!r}, [{python!r}, *sys.argv[place + 1:]])
elif sys.argv[1] == "run":
    sys.stderr.write(answer[1]); sys.exit(answer[0])
"""


@dataclass
class DockerStandIn:
    """The command in ``folder``; put that on the PATH."""

    folder: Path

    def install(self, answer: tuple[int, str] | None = None, *, stubborn: bool = False) -> DockerStandIn:
        """Write the command.

        Args:
            answer: exit code and message of ``docker run``, instead of running anything.
            stubborn: ignore TERM.
        """
        self.folder.mkdir(exist_ok=True)
        path = self.folder / "docker"
        text = _PROGRAM.format(
            python=sys.executable, calls=str(self._calls), answer=json.dumps(answer), stubborn=stubborn
        )
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return self

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What it was called with: ``args`` and ``env`` of each call."""
        return [json.loads(line) for line in self._calls.read_text().splitlines()]

    @property
    def path(self) -> str:
        """The PATH that finds it first."""
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    @property
    def _calls(self) -> Path:
        return self.folder / "calls.jsonl"
