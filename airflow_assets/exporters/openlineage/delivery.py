"""Delivery: over HTTP from some threads, each run's events one after the other; else one event at a time.

An event is accepted, refused (then it goes into the dead-letter file), or the delivery fails and with it the
exporter, which then has confirmed nothing of the batch.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests
from openlineage.client import OpenLineageClient

from airflow_assets.exporters.base import ExportFailed
from airflow_assets.exporters.openlineage.quick_http import quick
from airflow_assets.exporters.openlineage.transport import make_client, settle_environment, without_retries

if TYPE_CHECKING:
    from airflow_assets.exporters.openlineage.events import Emitted

log = logging.getLogger(__name__)
THREADS = 8
"""Requests under way at once; each thread keeps one connection."""
ATTEMPTS = 6
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
WAIT = 120.0
"""Seconds that a transport with a queue of its own may need for a batch."""
AGAIN = frozenset({408, 425, 429})
OF_THE_SENDER = frozenset({401, 403, 404, 405, 407})
"""These say that we may not or cannot send here at all, not that the event is wrong."""
Refused = Callable[["Emitted", str], None]


class Stopped(Exception):
    """The delivery was stopped from outside."""


@dataclass
class Patience:
    """How often and how long an event is tried.

    :param pause: waits so many seconds; returns whether to go on.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    attempts: int = ATTEMPTS

    def pause(self, failed: int, asked: float | None) -> None:
        """Wait before the next attempt: twice as long each time, at random in the upper half.

        :raises Stopped: the delivery is given up.
        """
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failed - 1))
        wait = max(random.uniform(longest / 2, longest), min(asked or 0.0, LONGEST_PAUSE))  # noqa: S311
        if self.stop.wait(wait):
            raise Stopped


class Delivery:
    """Sends the events of an exporter.

    :param refused: called, from any thread, with an event that the server does not want, and why.
    :raises ExportFailed: no transport is configured.
    """

    def __init__(self, exporter_id: str, config: dict[str, Any] | None, refused: Refused) -> None:
        self._id = exporter_id
        self._refused = refused
        self._patience = Patience()
        self._client = make_client(exporter_id, config)
        self._http = without_retries(config, self._client)
        self._own = threading.local()
        self._clients: list[OpenLineageClient] = [self._client]
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def send(self, groups: list[list[Emitted]]) -> None:
        """Send groups of events; a group's one after the other, groups side by side over HTTP.

        :raises ExportFailed: not everything could be delivered.
        """
        if self._http is None:
            self._send_in_turn(groups)
        elif self._client.transport.kind == "async_http":
            self._send_queued(groups)
        else:
            self._send_side_by_side(groups)

    def stop(self) -> None:
        """End at once what is under way; waits for requests that have been sent."""
        self._patience.stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def close(self) -> None:
        """Close all connections.

        :raises ExportFailed: the transport could not deliver everything it had taken.
        """
        self.stop()
        done = [client.close(timeout=WAIT) for client in self._clients]
        if not all(done):
            raise ExportFailed(
                f"The transport {self._client.transport.kind} still held events after {WAIT:g} s."
            )

    def _send_side_by_side(self, groups: list[list[Emitted]]) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="openlineage")
        futures = [self._pool.submit(self._send_group, group) for group in groups]
        try:
            for future in futures:
                future.result()
        except BaseException:
            self._patience.stop.set()  # what waits before another attempt need not go on
            for future in futures:
                future.cancel()
            raise

    def _send_group(self, group: list[Emitted]) -> None:
        client = self._client_of_thread()
        for event in group:
            if self._patience.stop.is_set():
                raise Stopped
            self._deliver(client, event)

    def _client_of_thread(self) -> OpenLineageClient:
        found: OpenLineageClient | None = getattr(self._own, "client", None)
        if found is None:
            found = self._own.client = OpenLineageClient(config=self._http)
            found.transport = quick(found.transport)
            settle_environment(found.transport)
            with self._lock:
                self._clients.append(found)
        return found

    def _deliver(self, client: OpenLineageClient, event: Emitted) -> None:
        for failed in range(1, self._patience.attempts + 1):
            try:
                client.emit(event)
                return
            except requests.RequestException as error:
                reason, asked = self._judge(event, error)
                if reason is None:
                    return
                if failed == self._patience.attempts:
                    raise ExportFailed(f"{reason}, after {failed} attempts.") from error
                log.warning("Exporter %r: %s; trying again.", self._id, reason)
            self._patience.pause(failed, asked)

    def _judge(self, event: Emitted, error: requests.RequestException) -> tuple[str | None, float | None]:
        """Return why to try again and how long the server asks to wait; no reason: it is settled.

        :raises ExportFailed: it would be refused again.
        """
        answer = error.response
        if answer is None:
            return f"{type(error).__name__}: {error}", None
        said = f"{answer.url} answered {answer.status_code} {answer.reason}: {answer.text[:500]}".strip()
        if answer.status_code >= 500 or answer.status_code in AGAIN:
            after = answer.headers.get("Retry-After", "")
            return said, float(after) if after.isdigit() else None
        if answer.status_code in OF_THE_SENDER:
            raise ExportFailed(f"{said}. Correct the address or the credentials; nothing is lost.")
        self._refused(event, said)
        return None, None

    def _send_queued(self, groups: list[list[Emitted]]) -> None:
        """Let the transport's own queue do it; which failed it does not say: then all is sent again."""
        transport: Any = self._client.transport
        before = transport.get_stats()["failed"]
        for event in (event for group in groups for event in group):
            self._client.emit(event)
        if not transport.wait_for_completion(timeout=WAIT):
            raise ExportFailed(f"The transport async_http still held events after {WAIT:g} s.")
        failed = transport.get_stats()["failed"] - before
        if failed:
            log.warning(
                "Exporter %r: async_http could not deliver %d events; sending again.", self._id, failed
            )
            self._send_side_by_side(groups)

    def _send_in_turn(self, groups: list[list[Emitted]]) -> None:
        for event in (event for group in groups for event in group):
            for failed in range(1, self._patience.attempts + 1):
                try:
                    self._client.emit(event)
                    break
                except Exception as error:  # each transport has its own
                    kind = self._client.transport.kind
                    if failed == self._patience.attempts:
                        raise ExportFailed(f"The transport {kind} failed {failed} times: {error}") from error
                    log.warning("Exporter %r: the transport %s failed: %s", self._id, kind, error)
                self._patience.pause(failed, None)
        self._flush()

    def _flush(self) -> None:
        """A Kafka producer has delivered when it holds nothing any more."""
        producer = getattr(self._client.transport, "producer", None)
        if producer is not None:
            deadline = time.monotonic() + WAIT
            while left := producer.flush(1.0):
                if time.monotonic() > deadline or self._patience.stop.is_set():
                    raise ExportFailed(f"Kafka has not confirmed {left} events after {WAIT:g} s.")
