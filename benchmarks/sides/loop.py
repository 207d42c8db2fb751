"""The line protocol between the harness and a worker process.

Standard library only: this file is also run by the interpreters of the peers' environments.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Request = dict[str, Any]


def serve(work: Callable[[Request], Request]) -> None:
    """Answer every JSON line of standard input with one JSON line, until the input ends.

    The first line written is `{"ready": true}`, after everything has been imported and connected.
    An answer is what `work` returned plus `seconds`, the wall time it took. What libraries print goes
    to standard error, so that it cannot break the protocol. An exception ends the process.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        answer = work(request)
        answer["seconds"] = time.perf_counter() - started
        print(json.dumps(answer), file=answers)


def serve_records(record: Callable[[int], object]) -> None:
    """Serve requests `{"first": f, "count": n, "writers": w}` by calling `record(f) … record(f + n - 1)`.

    Each of the w threads takes one contiguous share, so that the writers meet on the same assets. With
    `"rate": r` one thread begins at most r a second, and `latencies` has the seconds that each took.
    """

    def work(request: Request) -> Request:
        first, count = request["first"], request["count"]
        if "rate" in request:
            return {"count": count, "latencies": _paced(record, first, count, request["rate"])}
        writers = request["writers"]
        bounds = [first + count * writer // writers for writer in range(writers + 1)]

        def share(writer: int) -> None:
            for number in range(bounds[writer], bounds[writer + 1]):
                record(number)

        if writers == 1:
            share(0)
        else:
            with ThreadPoolExecutor(writers) as pool:
                list(pool.map(share, range(writers)))
        return {"count": count}

    serve(work)


def _paced(record: Callable[[int], object], first: int, count: int, rate: float) -> list[float]:
    latencies = []
    due = time.perf_counter()
    for number in range(first, first + count):
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        record(number)
        latencies.append(time.perf_counter() - began)
        due = max(due + 1 / rate, began)
    return latencies
