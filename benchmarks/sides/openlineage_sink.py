"""An OpenLineage server for benchmarks: answers 503 to one request in a hundred, counts what it has accepted.

Prints its port. `GET /` tells `accepted`, `unique`, `refused`, `out_of_order`, and begins anew.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any


class Sink(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, every: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.every = every
        self.lock = Lock()
        self.begin()

    def begin(self) -> None:
        self.accepted = self.requests = self.out_of_order = 0
        self.seen: set[tuple[str, str]] = set()

    def take(self, event: dict[str, Any]) -> int:
        run, kind = event["run"]["runId"], event["eventType"]
        with self.lock:
            self.requests += 1
            if self.requests % self.every == 0:
                return 503
            self.accepted += 1
            self.out_of_order += kind != "START" and (run, "START") not in self.seen
            self.seen.add((run, kind))
            return 201

    def told(self) -> dict[str, int]:
        with self.lock:
            told = {
                "accepted": self.accepted,
                "unique": len(self.seen),
                "refused": self.requests - self.accepted,
                "out_of_order": self.out_of_order,
            }
            self.begin()
            return told


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Sink

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(self.server.take(event), b"")

    def do_GET(self) -> None:
        self.answer(200, json.dumps(self.server.told()).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


if __name__ == "__main__":
    sink = Sink(int(sys.argv[1]))
    print(sink.server_address[1], flush=True)
    sink.serve_forever()
