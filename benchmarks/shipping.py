"""`python -m benchmarks.shipping`: lineage to an OpenLineage server and to files.

Over HTTP: 5,000 events to a server that answers one request in a hundred with 503, beside the transport
`http` of openlineage-python in a loop. To files: the peak memory of 1,000,000 events beside that of 100,000.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.environments import ROOT, SIDES
from benchmarks.harness import ROUNDS, Bound, Report, Row, Worker, alternate, workers

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = 5_000
MANY = 1_000_000
REFUSED = 100
PACKAGES = ["openlineage-python", "requests", "apache-airflow"]


@contextmanager
def sink() -> Iterator[str]:
    """The server, in a process of its own; gives its address."""
    command = [sys.executable, str(SIDES / "openlineage_sink.py"), str(REFUSED)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


class Sending:
    """One side of the HTTP benchmark; raises when anything was lost, doubled or out of order."""

    def __init__(self, worker: Worker, side: str, url: str, events: int) -> None:
        self._worker, self._side, self._url, self._events = worker, side, url, events

    def __call__(self, number: int) -> float:
        tries = self._events // 2
        answer = self._worker.ask(side=self._side, url=self._url, first=number * tries, tries=tries)
        with urllib.request.urlopen(self._url) as told:  # noqa: S310 - our own
            arrived = json.load(told)
        if (arrived["accepted"], arrived["unique"], arrived["out_of_order"]) != (2 * tries, 2 * tries, 0):
            raise RuntimeError(f"{self._side} sent {2 * tries} events, but the server says {arrived}")
        return float(2 * tries / answer.get("sending", answer["seconds"]))


def over_http(report: Report, events: int, rounds: int, env: dict[str, str]) -> None:
    """Delivered events a second of both sides."""
    side = ([sys.executable, "-m", "benchmarks.sides.shipping_events"], env)
    with sink() as url, workers({"peer": side, "ours": side}) as started:
        measures = {name: Sending(worker, name, url, events) for name, worker in started.items()}
        figures = alternate(measures, rounds)
    what = f"{events:,} events, 1 % of 503, 0 lost, 0 double"
    peer = "`http` transport in a loop"
    report.rows.append(Row(what, peer, figures["peer"], figures["ours"], "events/s", (Bound(1.2),)))


def to_files(count: int, env: dict[str, str]) -> dict[str, float]:
    """Ship so many events to files in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="airflow-assets-bench-") as folder:
        command = [sys.executable, "-m", "benchmarks.sides.shipping_files", folder, str(count)]
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Shipping to files failed with {done.returncode}:\n{done.stderr[-2000:]}")
        answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if answer["size"] != count or answer["errors"]:
        raise RuntimeError(f"{count} events were to be shipped: {answer}")
    return answer


def main() -> int:
    """Run the benchmark; 1 when a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--many", type=int, default=MANY, help="events shipped to files; a tenth is the peer")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    wanted = parser.parse_args()
    report = Report("shipping", "Shipping of lineage", "python -m benchmarks.shipping", PACKAGES)
    with tempfile.TemporaryDirectory(prefix="airflow-assets-bench-") as home:
        env = {**os.environ, "AIRFLOW_HOME": home, "PYTHONPATH": str(ROOT)}
        over_http(report, wanted.events, wanted.rounds, env)
        few, many = to_files(wanted.many // 10, env), to_files(wanted.many, env)
    peaks = [few["peak"] / 1024], [many["peak"] / 1024]
    bound = Bound(1.2, at_least=False)
    report.rows.append(
        Row(f"peak memory, {wanted.many:,} events to files", "a tenth of it", *peaks, "MiB", (bound,))
    )
    report.notes.append(
        f"to files: {wanted.many / many['seconds']:,.0f} events/s (catalogue on SQLite, in process)"
    )
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
