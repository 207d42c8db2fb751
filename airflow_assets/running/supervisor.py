"""The process that stands between Airflow and one script; it runs alone: ``python -I -S supervisor.py``.

It imports nothing but the standard library, starts in a few milliseconds and has one thread, so a child may
set its own limits between fork and exec. It reads a request (one JSON line) on standard input and answers on
standard output: a line with the script's process group when it has started, and a line with the outcome.
Standard input stays open as long as anybody waits for the outcome: when it closes, the script is ended. So
nothing is left when a triggerer is killed.

On Linux it is the reaper of everything the script starts, whatever session that is in: it ends when all of
them have ended. Elsewhere it ends the script's process group.
"""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import resource
import selectors
import signal
import sys
import time
from typing import Any

CHUNK = 64 * 1024
MAX_LINE = 256 * 1024
MAX_LINES = 10_000
MAX_LINES_BYTES = 1024 * 1024
TERM_GRACE = 1.5
KILL_GRACE = 2.0
CLEANUP_GRACE = 1.0
LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Kept:
    """The first and the last bytes of an output of any length, and its variable lines.

    :param room: how many bytes are kept at either end.
    """

    def __init__(self, room: int, marker: bytes) -> None:
        self.started = False
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        self.lines: list[bytes] = []
        self.lines_dropped = False
        self._room = room
        self._marker = marker
        self._rest = b""
        self._in_long_line = False
        self._lines_bytes = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of output."""
        self._find_lines(chunk)
        if not self.started:
            # What stands before the marker is the interpreter's or the engine's, and little.
            self.head += chunk
            place = self.head.find(self._marker)
            if place < 0:
                del self.head[self._room :]
                return
            self.started = True
            chunk = bytes(self.head[place + len(self._marker) :])
            self.head.clear()
        self.total += len(chunk)
        room = self._room - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:]
        if len(self.tail) > 4 * self._room:
            del self.tail[: -self._room]

    def close(self) -> None:
        """Take what came after the last line end as a line."""
        self._take(self._rest)
        self._rest = b""
        del self.tail[: -self._room or None]

    @property
    def dropped(self) -> int:
        """How many bytes are kept nowhere."""
        return max(0, self.total - len(self.head) - len(self.tail)) if self.started else 0

    def _find_lines(self, chunk: bytes) -> None:
        if self._in_long_line:
            _, found, chunk = chunk.partition(b"\n")
            self._in_long_line = not found
        data = self._rest + chunk
        whole, _, self._rest = data.rpartition(b"\n")
        if not self._may_be_ours(self._rest):
            self._rest, self._in_long_line = b"", True
        if b"::{" in whole:
            for line in whole.split(b"\n"):
                self._take(line)

    @staticmethod
    def _may_be_ours(rest: bytes) -> bool:
        begin = rest[:64].lstrip()[:3]
        return len(rest) <= MAX_LINE and b"::{".startswith(begin)

    def _take(self, line: bytes) -> None:
        line = line.strip()
        if not (line.startswith(b"::{") and line.endswith(b"}::")):
            return
        self._lines_bytes += len(line)
        if len(self.lines) >= MAX_LINES or self._lines_bytes > MAX_LINES_BYTES:
            self.lines_dropped = True
        else:
            self.lines.append(line)


class Children:
    """The script's processes."""

    def __init__(self) -> None:
        self.main = 0
        self.exit_code: int | None = None
        self.none_left = False

    def start(self, request: dict[str, Any], folder: str, output: int) -> None:
        """Start the script in a process group of its own, its source on standard input."""
        path = os.path.join(folder, "script")  # noqa: PTH118
        source = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.unlink(path)  # noqa: PTH108
        _write_all(source, request["script"].encode("utf-8", "surrogateescape"))
        os.lseek(source, 0, os.SEEK_SET)
        self.main = os.fork()
        if self.main == 0:
            _become_script(request, folder, source, output)
        os.close(source)
        os.close(output)
        with contextlib.suppress(OSError):  # the child does the same: whoever is first
            os.setpgid(self.main, self.main)

    def reap(self) -> None:
        """Collect who has ended, adopted processes too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.none_left = True
                return
            if pid == 0:
                return
            if pid == self.main:
                code = os.waitstatus_to_exitcode(status)
                self.exit_code = code if code >= 0 else 128 - code

    def end(self) -> None:
        """End every process of the script: TERM, and KILL for those that stay."""
        if self.gone():
            return
        self._signal(signal.SIGTERM)
        self._wait(TERM_GRACE, None)
        self._wait(KILL_GRACE, signal.SIGKILL)

    def _wait(self, seconds: float, kill: signal.Signals | None) -> None:
        deadline = time.monotonic() + seconds
        while not self.gone() and time.monotonic() < deadline:
            if kill is not None:
                self._signal(kill)
            time.sleep(0.01)

    def gone(self) -> bool:
        """Whether nothing is left; where processes cannot be adopted, nothing of the script's group."""
        self.reap()
        if LINUX or not self.none_left:
            return self.none_left
        try:
            os.killpg(self.main, 0)
        except OSError:
            return True
        return False

    def _signal(self, number: signal.Signals) -> None:
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        with contextlib.suppress(OSError):
            os.killpg(self.main, number)


def _become_script(request: dict[str, Any], folder: str, source: int, output: int) -> None:
    """In the forked child: never returns."""
    try:
        os.setpgid(0, 0)
        if LINUX:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.dup2(source, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        for name, most in request["limits"].items():
            _limit(getattr(resource, name), most)
        os.umask(0o077)
        os.execvpe(request["command"][0], request["command"], request["env"])  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - a forked child has nobody above to tell
        os.write(2, f"{request['command'][0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    # macOS knows some limits by name only.
    with contextlib.nullcontext() if LINUX else contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (most, most))


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _descendants(root: int) -> list[int]:
    """All live descendants by /proc; empty where there is none."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdecimal():
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                    parent = stat.read().rpartition(b")")[2].split()[1]
                    children.setdefault(int(parent), []).append(int(name))
    found, pending = [], [root]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


class Watch:
    """Waits for output, the end of the script, the end of its time, and the end of whoever asked."""

    def __init__(self, output: int, kept: Kept) -> None:
        self.output = output
        self.kept = kept
        self.at_end = False
        self._wake, write_end = os.pipe()
        for descriptor in (self._wake, write_end, output):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector = selectors.DefaultSelector()
        for descriptor in (0, self._wake, output):
            self._selector.register(descriptor, selectors.EVENT_READ)

    def until_over(self, children: Children, deadline: float) -> str:
        """Return how it ended: ``ended``, ``timeout``, or ``stopped`` by whoever asked."""
        while True:
            children.reap()
            if children.exit_code is not None:
                return "ended"
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            ready = {key.fd for key, _ in self._selector.select(left)}
            if self._wake in ready:
                os.read(self._wake, 4096)
            if 0 in ready and not os.read(0, 4096):
                return "stopped"
            if self.output in ready:
                self._read()

    def drain(self, seconds: float) -> None:
        """Read what is left in the pipe."""
        deadline = time.monotonic() + seconds
        while not self.at_end and time.monotonic() < deadline:
            if not self._read():
                return

    def _read(self) -> bool:
        try:
            chunk = os.read(self.output, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.at_end = True
            self._selector.unregister(self.output)
        self.kept.feed(chunk)
        return True


def _run(request: dict[str, Any], folder: str) -> dict[str, Any]:
    output, write_end = os.pipe()
    kept = Kept(request["room"], request["marker"].encode())
    watch = Watch(output, kept)
    children = Children()
    begun = time.monotonic()
    children.start(request, folder, write_end)
    _say({"group": children.main})
    state = watch.until_over(children, begun + request["timeout"])
    watch.drain(0.2)
    if state != "ended":
        _clean_up(request["cleanup"], request["env"])
    children.end()
    watch.drain(0.5)
    kept.close()
    return {
        "state": state,
        "exit_code": children.exit_code if state == "ended" else None,
        "started": kept.started,
        "seconds": round(time.monotonic() - begun, 3),
        "head": _base64(kept.head),
        "tail": _base64(kept.tail),
        "dropped": kept.dropped,
        "lines": [_base64(line) for line in kept.lines],
        "lines_dropped": kept.lines_dropped,
        "left": not children.gone(),
    }


def _clean_up(command: list[str], environment: dict[str, str]) -> None:
    """Run the command that ends what is not a process of ours: a container."""
    if not command:
        return
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.execvpe(command[0], command, environment)  # noqa: S606
        finally:
            os._exit(127)
    deadline = time.monotonic() + CLEANUP_GRACE
    while time.monotonic() < deadline:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(0.01)


def _remove(folder: str) -> None:
    import shutil

    for parent, names, _ in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(parent, name), 0o700)  # noqa: PTH101, PTH118
    shutil.rmtree(folder, ignore_errors=True)


def _base64(data: bytes | bytearray) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _say(answer: dict[str, Any]) -> None:
    # Whoever asked may be gone, which is no reason to leave processes behind.
    with contextlib.suppress(BrokenPipeError):
        _write_all(1, json.dumps(answer).encode() + b"\n")


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _request() -> dict[str, Any]:
    data = bytearray()
    while not data.endswith(b"\n"):
        chunk = os.read(0, CHUNK)
        if not chunk:
            sys.exit("the request did not arrive")
        data += chunk
    found: dict[str, Any] = json.loads(data)
    return found


def main() -> None:
    """Serve one request."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    request = _request()
    folder = request["folder"]
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
        answer = _run(request, folder)
    except OSError as error:
        answer = {"state": "failed", "error": str(error)}
    finally:
        _remove(folder)
    _say(answer)


if __name__ == "__main__":
    main()
