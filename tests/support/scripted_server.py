"""A real HTTP server on loopback whose answers a test writes down beforehand."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One answer. ``drop`` closes the connection instead, after the request was read."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    content_type: str = "application/json"

    def bytes(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: tuple[str, int]

    @property
    def token(self) -> str:
        return self.headers["authorization"].removeprefix("Bearer ")


class ScriptedServer:
    """Gives the replies in order and keeps the requests; the last reply is given again when they run out."""

    def __init__(self, *replies: Reply, port: int = 0) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                owner.answer(self)

            def log_message(self, *_: Any) -> None:
                """Quiet: the test's own assertions tell what arrived."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.requests.append(
                Request(handler.command, handler.path, headers, body, handler.client_address)
            )
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply.drop:
            handler.close_connection = True
            return
        content = reply.bytes() if reply.body is not None else b""
        handler.send_response(reply.status)
        handler.send_header("Content-Type", reply.content_type)
        handler.send_header("Content-Length", str(len(content)))
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
