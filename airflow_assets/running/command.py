"""The request for one script: command line, environment and limits, for a child process or a container."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.running.limits import Limits, Script

DOCKER = "docker"
SLACK = 4096
"""Bytes kept beside a cut beyond what is shown, so that no half of a secret stands there unmasked."""
_PROCESSES = 256

# The source comes on standard input, so that a container needs no folder of the host. The marker tells a
# script that has begun from an interpreter or an engine that has not. The contract has true, false and null.
_BOOT = """\
import builtins, linecache, os, sys
source = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.close(null)
builtins.true, builtins.false, builtins.null = True, False, None
os.write(1, (sys.argv.pop() + "\\n").encode())
sys.argv[0] = "script.py"
linecache.cache["script.py"] = (len(source), None, source.splitlines(True), "script.py")
code = compile(source, "script.py", "exec", dont_inherit=True)
for name in ("builtins", "linecache", "os", "sys", "source", "null", "name"): globals().pop(name, None)
exec(globals().pop("code"))
"""


class NoEngine(OSError):
    """There is no command that runs containers."""


def request_of(script: Script) -> dict[str, Any]:
    """Return what the supervisor is asked to run.

    Raises:
        NoEngine: the script wants a container, and there is no engine's command.
        FileNotFoundError: the interpreter that was named is not there.
    """
    name = uuid.uuid4().hex
    marker = f"::script {name}::"
    limits = script.limits
    asked: dict[str, Any] = {
        "folder": str(Path(tempfile.gettempdir()) / f"airflow-assets-script-{name}"),
        "marker": f"{marker}\n",
        "script": script.source,
        "timeout": limits.timeout,
        "room": limits.output // 2 + SLACK,
    }
    part = _container(script, f"airflow-assets-{name}") if script.image else _process(script, asked["folder"])
    part["command"] += ["-I", "-u", "-c", _BOOT, marker]
    return {**asked, **part}


def _process(script: Script, folder: str) -> dict[str, Any]:
    limits = script.limits
    own = {"HOME": folder, "TMPDIR": folder}
    return {
        "command": [interpreter(script.python)],
        "env": {**_base(), **own, **script.env},
        "cleanup": [],
        "limits": {
            "RLIMIT_AS": limits.memory,
            "RLIMIT_NOFILE": limits.files,
            "RLIMIT_FSIZE": limits.file_size,
            "RLIMIT_CORE": 0,
        },
    }


def _container(script: Script, name: str) -> dict[str, Any]:
    if shutil.which(DOCKER) is None:
        raise NoEngine(
            f"image={script.image!r} needs the command {DOCKER!r}, which is not on the PATH: "
            "install it where triggers run, or leave image out"
        )
    engine = {key: value for key, value in os.environ.items() if key.startswith(("DOCKER_", "XDG_"))}
    home = os.environ.get("HOME")
    options = _container_options(script.limits, name, script.network)
    # The values of the script's variables go by the command's environment: its arguments are public.
    passed = [f"--env={variable}" for variable in sorted(script.env)]
    return {
        "command": [DOCKER, "run", *options, *passed, str(script.image), "python"],
        "env": {**_base(), **engine, **({"HOME": home} if home else {}), **script.env},
        "cleanup": [DOCKER, "rm", "--force", name],
        "limits": {},
    }


def _container_options(limits: Limits, name: str, network: str) -> list[str]:
    return [
        "--rm", "--interactive", "--init", f"--name={name}", "--label=airflow_assets.script",
        f"--network={network}", f"--memory={limits.memory}", f"--memory-swap={limits.memory}",
        f"--pids-limit={_PROCESSES}", f"--ulimit=nofile={limits.files}", f"--ulimit=fsize={limits.file_size}",
        "--ulimit=core=0", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only",
        f"--tmpfs=/work:rw,size={limits.file_size},mode=1777", "--workdir=/work",
        "--env=HOME=/work", "--env=TMPDIR=/work", "--log-driver=none",
    ]  # fmt: skip


def _base() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": os.environ.get("LANG", "C.UTF-8")}


def interpreter(python: str | None) -> str:
    """Return the interpreter of a path that names one or a virtual environment's folder; None: Airflow's own.

    Raises:
        FileNotFoundError: nothing that could be started is there.
    """
    if python is None:
        return sys.executable
    path = Path(python)
    path = path / "bin" / "python" if path.is_dir() else path
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"python={python!r}: there is no interpreter at {path}")
    return str(path)
