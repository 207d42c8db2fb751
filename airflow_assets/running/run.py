"""Run one script from an event loop, or from ordinary code, and say what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from binascii import a2b_base64
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airflow_assets.exceptions import InvalidAsset
from airflow_assets.running.command import SLACK, NoEngine, request_of
from airflow_assets.running.output import joined, masking
from airflow_assets.running.result import Outcome, ScriptNotRun
from airflow_assets.running.variables import variables_of

if TYPE_CHECKING:
    from airflow_assets.running.limits import Script
    from airflow_assets.running.output import Mask

SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
END_LIMIT = 5.0
"""Seconds from the end of a script's time until nothing of it is left."""
_MAX_ANSWER = 8 * 1024 * 1024


async def run_script(script: Script, *, mask: Mask = str) -> Outcome:
    """Run a script and return its outcome; its variables are not masked, its logs are.

    Nothing here blocks the event loop: a small process (:mod:`airflow_assets.running.supervisor`) reads the
    output and keeps the time. When the caller is cancelled, or killed, the script is ended within 5 seconds.

    Args:
        script: what to run.
        mask: hides the secrets of a text, for example Airflow's ``redact``. Values of variables in
            ``script.env`` whose names tell a secret are hidden in any case.

    Raises:
        ScriptNotRun: there is no outcome.
    """
    mask = masking(script.env, mask)
    try:
        request = request_of(script)
    except OSError as error:
        reason = "no_engine" if isinstance(error, NoEngine) else "not_started"
        raise ScriptNotRun(reason, f"{error}.") from None
    answer = await _ask(request)
    logs = ""
    if "head" in answer:
        head, tail = a2b_base64(answer["head"]), a2b_base64(answer["tail"])
        logs = joined(head, tail, answer["dropped"], SLACK, mask)
    _check(script, answer, logs)
    return _outcome(answer, logs)


def run_script_now(script: Script, *, mask: Mask = str) -> Outcome:
    """Do what :func:`run_script` does, where no event loop runs."""
    return asyncio.run(run_script(script, mask=mask))


def _outcome(answer: dict[str, Any], logs: str) -> Outcome:
    problems = []
    if answer["left"]:
        problems.append("Processes of the script could not be ended within the limit.")
    if answer["lines_dropped"]:
        problems.append(
            "The script printed more than 10,000 ::{...}:: lines or 1 MiB of them: later ones are lost."
        )
    if answer["exit_code"]:
        return Outcome(answer["exit_code"], None, logs, answer["dropped"], problems, answer["seconds"])
    try:
        variables, wrong = variables_of(map(a2b_base64, answer["lines"]))
    except InvalidAsset as error:
        detail = str(error).replace("metadata", "variables")
        raise ScriptNotRun("variables", f"The script's variables cannot be stored: {detail}", logs) from None
    return Outcome(0, variables, logs, answer["dropped"], problems + wrong, answer["seconds"])


def _check(script: Script, answer: dict[str, Any], logs: str) -> None:
    if answer["state"] == "failed":
        raise ScriptNotRun("not_started", f"The script could not be started: {answer['error']}.")
    if answer["state"] == "timeout":
        seconds = f"{script.limits.timeout:g}"
        raise ScriptNotRun("timeout", f"The script was not done after {seconds} s and has been ended.", logs)
    if answer["started"]:
        return
    if script.image is None:
        raise ScriptNotRun("not_started", "The Python interpreter did not begin.", logs)
    raise ScriptNotRun("no_engine", f"A container of image {script.image!r} did not begin.", logs)


async def _ask(request: dict[str, Any]) -> dict[str, Any]:
    try:
        conversation = _Conversation(_supervisor(), request)
    except OSError as error:
        raise ScriptNotRun("not_started", f"No process could be started: {error}.") from None
    try:
        return await conversation.answer()
    finally:
        await asyncio.shield(conversation.end())


def _supervisor() -> subprocess.Popen[bytes]:
    """Return when the program has replaced the child, which is vforked: after about a millisecond."""
    kept = ("PATH", "LANG", "LD_LIBRARY_PATH")
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-S", SUPERVISOR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in kept if name in os.environ},
        cwd="/",
        start_new_session=True,
    )


class _Conversation:
    """Pipes to one supervisor. Its end is seen by the end of its output: no thread, no signal handler."""

    def __init__(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
        self._process = process
        self._request = request
        self._group = 0
        self._reader: asyncio.ReadTransport | None = None
        self._writer: asyncio.WriteTransport | None = None

    async def answer(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        said = asyncio.StreamReader(limit=_MAX_ANSWER)
        self._reader, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(said), self._process.stdout
        )
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self._writer.write(json.dumps(self._request).encode() + b"\n")
        late = self._request["timeout"] + 2 * END_LIMIT
        try:
            answer = await asyncio.wait_for(self._read(said), late)
        except (TimeoutError, asyncio.TimeoutError):
            answer = None
        if answer is None:
            raise ScriptNotRun("lost", "The process that watches the script was lost or killed.")
        return answer

    async def _read(self, said: asyncio.StreamReader) -> dict[str, Any] | None:
        while line := await said.readline():
            message: dict[str, Any] = json.loads(line)
            if "group" not in message:
                return message
            self._group = message["group"]
        return None

    async def end(self) -> None:
        """Let the supervisor end the script, and collect it; kill both if it does not come to an end."""
        _close(self._writer or self._process.stdin)
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(self._ended(), 2 * END_LIMIT)
        if self._process.returncode != 0:
            self._kill(self._group)
            self._kill(self._process.pid if self._process.returncode is None else 0)
            await self._ended()
            await asyncio.to_thread(shutil.rmtree, self._request["folder"], ignore_errors=True)
        _close(self._reader or self._process.stdout)

    async def _ended(self) -> None:
        wait = 0.001
        while self._process.poll() is None:
            await asyncio.sleep(wait)
            wait = min(0.1, 2 * wait)

    @staticmethod
    def _kill(group: int) -> None:
        if group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


def _close(pipe: asyncio.BaseTransport | IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()
