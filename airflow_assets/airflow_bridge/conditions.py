"""Evaluates the ``when`` of triggers, with limits on time and memory that a template cannot escape.

A thread cannot be stopped from outside, so templates are rendered in a child process (sandboxed Jinja, no
Airflow, an empty environment) that is killed when it is late.
"""

from __future__ import annotations

import json
import logging
import select
import subprocess
import sys
import threading
from typing import Any

log = logging.getLogger(__name__)
TIME_LIMIT = 1.0
_START_LIMIT = 20.0
_FALSE = frozenset({"", "0", "false", "no", "none", "null", "off"})


class ConditionFailed(Exception):
    """The template raised, or took too long."""


class Conditions:
    """Renders templates one after the other; the child is started when first needed."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def holds(self, template: str, variables: dict[str, Any]) -> bool:
        """Tell whether the template renders to something other than nothing, false, no, off, 0, none or null.

        Raises:
            ConditionFailed: it raised an error or took longer than a second.
        """
        with self._lock:
            text, error = self._ask(template, variables)
        if error is not None:
            raise ConditionFailed(error)
        return str(text).strip().lower() not in _FALSE

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _ask(self, template: str, variables: dict[str, Any]) -> list[Any]:
        limit = self._time_limit
        if self._child is None or self._child.poll() is not None:
            self._start()
        answer = self._exchange([template, variables], limit)
        if answer is None:
            self._end()
            return [None, f"no result within {limit:g} s or 512 MiB"]
        return answer

    def _start(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "airflow_assets.airflow_bridge.condition_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PYTHONWARNINGS": "ignore"},
        )
        if self._exchange(["ready", {}], _START_LIMIT) is None:
            self._end()
            raise RuntimeError("The process that renders conditions of event triggers does not start.")

    def _exchange(self, question: list[Any], limit: float) -> list[Any] | None:
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            return None
        try:
            child.stdin.write(json.dumps(question).encode() + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            return None
        ready, _, _ = select.select([child.stdout], [], [], limit)
        line = child.stdout.readline() if ready else b""
        answer: list[Any] | None = json.loads(line) if line else None
        return answer

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        child.wait()
