"""One client of a lock, and the thing it protects: a file that counts for itself what the lock allows.

Standard library only: this file is also run by the interpreters of the peers' environments.
"""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import TYPE_CHECKING

from loop import Request, serve

if TYPE_CHECKING:
    from collections.abc import Callable


def serve_locks(claim: Callable[[int], int | None], free: Callable[[int], object]) -> None:
    """Serve requests `{"first": f, "count": n, "guarded": path}`: `count` times claim, write, free.

    `claim` blocks until client `number` holds the lock and returns its fencing number, None where there are
    none. The write is noted in the file `guarded`; `violations` of the answer counts writers that met another
    one inside, and numbers that did not grow.
    """

    def work(request: Request) -> Request:
        violations = 0
        for number in range(request["first"], request["first"] + request["count"]):
            token = claim(number)
            violations += _write(request["guarded"], number, token)
            violations += _write(request["guarded"], None, token)
            free(number)
        return {"count": request["count"], "violations": violations}

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
