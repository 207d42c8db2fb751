"""A real HTTP server that takes OpenLineage events, checks them, and misbehaves as it is told."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.openlineage_rules import problems

Behaviour = Callable[[dict[str, Any], int], "int | str"]
"""From an event and how often it has come: a status, or ``close`` (no answer), ``hang`` (longer than any
time-out), ``slow``."""


OURS = "airflow-provider-assets"


class Receiver:
    """Takes events at ``url``.

    :param events: accepted, in the order in which they came.
    :param wrong: what is wrong with events that we produced; others' are not our business.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.wrong: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.requests = 0
        self.connections = 0
        self.behave: Behaviour = lambda _event, _times: 201
        self.released = threading.Event()
        self._times: dict[str, int] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.receiver = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, event: dict[str, Any], headers: dict[str, str]) -> int | str:
        key = json.dumps(event, sort_keys=True)
        with self._lock:
            self.requests += 1
            self.headers.append(headers)
            self._times[key] = times = self._times.get(key, 0) + 1
            if OURS in event.get("producer", ""):
                self.wrong += problems(event)
        answer = self.behave(event, times)
        if answer == "slow":
            time.sleep(0.2)
            answer = 201
        if isinstance(answer, int) and answer < 300:
            with self._lock:
                self.events.append(event)
        return answer

    def of(self, task_id: str) -> list[dict[str, Any]]:
        """The accepted events of a task."""
        return [
            event for event in self.events if event.get("job", {}).get("name", "").endswith(f".{task_id}")
        ]

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Receiver]:
        receiver = cls()
        thread = threading.Thread(target=receiver._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.released.set()
            receiver._server.shutdown()
            receiver._server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    receiver: Receiver


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.receiver.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        answer = self.server.receiver.take(json.loads(body), {"path": self.path, **dict(self.headers)})
        if answer == "hang":
            self.server.receiver.released.wait(60)
        if isinstance(answer, str):
            self.close_connection = True
            self.connection.close()
            return
        text = b'{"why": "because"}' if answer >= 400 else b""
        self.send_response(answer)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        return
