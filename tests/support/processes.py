"""Start and end child processes, by their ids only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """For `preexec_fn`: have the kernel end this child when a killed test run leaves it behind (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """Return a TCP port on 127.0.0.1 that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], object], timeout: float, what: str, interval: float = 0.1) -> object:
    """Call `condition` until it returns something true, and return that.

    Raises:
        TimeoutError: naming `what`, when `timeout` seconds have gone by.
    """
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout:g} s")
        time.sleep(interval)
    return result


def tree_of(leaders: Iterable[int]) -> list[psutil.Process]:
    """All live processes that descend from the session leaders `leaders` or are in their sessions."""
    leaders = set(leaders)
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.pid in leaders or os.getsid(process.pid) in leaders:
                found[process.pid] = process
                for child in process.children(recursive=True):
                    found[child.pid] = child
    return list(found.values())


def end_all(leaders: Iterable[int], grace: float) -> list[int]:
    """TERM the sessions of `leaders`, KILL what is left after `grace` seconds, and return every pid that was there."""
    leaders = set(leaders)
    seen = {process.pid: process for process in tree_of(leaders)}
    for leader in leaders:
        with contextlib.suppress(ProcessLookupError):
            os.kill(leader, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        seen.update({process.pid: process for process in tree_of(leaders)})
        if not any(is_running(process) for process in seen.values()):
            return list(seen)
        time.sleep(0.1)
    while alive := [process for process in (*seen.values(), *tree_of(leaders)) if is_running(process)]:
        for process in alive:
            seen[process.pid] = process
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=5)
    return list(seen)


def is_running(process: psutil.Process) -> bool:
    """Whether this very process (not another one with its id) still does anything; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def tail(path: Path, lines: int = 60) -> str:
    """The last `lines` lines of a log file, or a note that there is none."""
    if not path.exists():
        return f"(no file {path.name})"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
