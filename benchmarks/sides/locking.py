"""One client of a lock, and the thing it protects: a file that counts for itself what the lock allows.

Standard library only: this file is also run by the interpreters of the peers' environments.
"""

from __future__ import annotations

import fcntl
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from loop import Request, serve

if TYPE_CHECKING:
    from collections.abc import Callable


PAUSE = 0.002
"""How long, in seconds, who has been refused waits before asking again."""
Claimed = tuple[bool, "int | None"]


def serve_locks(
    claim: Callable[[int, int], Claimed], free: Callable[[int], object], give_up: Callable[[int], object]
) -> None:
    """Serve requests `{"first": f, "seconds": s, "guarded": path}`: for that long claim, write, free.

    `claim(number, attempt)` tells whether client `number` holds the lock now, and its fencing number, None
    where there are none; who does not asks again. When the time is over, `give_up(number)`. The write is
    noted in the file `guarded`; `violations` of the answer counts writers that met another one inside, and
    numbers that did not grow.
    """

    def work(request: Request) -> Request:
        violations = count = 0
        until = time.perf_counter() + request["seconds"]
        number = request["first"]
        attempt = 0
        while time.perf_counter() < until:
            held, token = claim(number, attempt)
            if not held:
                attempt += 1
                time.sleep(PAUSE)
                continue
            violations += _write(request["guarded"], number, token)
            violations += _write(request["guarded"], None, token)
            free(number)
            count += 1
            number += 1
            attempt = 0
        if attempt:
            give_up(number)
        return {"count": count, "violations": violations}

    serve(work)


def _write(path: str, inside: int | None, token: int | None) -> int:
    """Enter as client `inside`, or leave (None); return the violations that the file sees."""
    with Path(path).open("r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        state = json.loads(file.read() or '{"inside": null, "highest": 0}')
        met = inside is not None and state["inside"] is not None
        old = token is not None and (
            token <= state["highest"] if inside is not None else token < state["highest"]
        )
        file.seek(0)
        file.truncate()
        json.dump({"inside": inside, "highest": max(token or 0, state["highest"])}, file)
    return int(met) + int(old)
