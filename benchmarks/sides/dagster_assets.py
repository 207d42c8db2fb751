"""Dagster's side of `assets`: `materialize` in process, recorded in the SQLite files of its instance."""

from __future__ import annotations

import logging
from typing import Any

from assets_bodies import bodies
from dagster import DagsterInstance, asset, materialize, mem_io_manager
from loop import Request, serve

logging.disable(logging.CRITICAL)


def main() -> None:
    """Serve `define` (shape, count) and `materialize`."""
    instance = DagsterInstance.get()
    state: dict[str, Any] = {}

    def work(request: Request) -> Request:
        if request["kind"] == "define":
            state["assets"] = [asset(body) for body in bodies(request["shape"], request["count"])]
        elif request["kind"] == "materialize":
            result = materialize(
                state["assets"],
                instance=instance,
                resources={"io_manager": mem_io_manager},
                raise_on_error=True,
            )
            if not result.success:
                raise RuntimeError("The run failed")
        return {}

    serve(work)


if __name__ == "__main__":
    main()
