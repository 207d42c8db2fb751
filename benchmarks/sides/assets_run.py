"""Ours and rivers' side of `assets`: the same script, with the module to import as its argument."""

from __future__ import annotations

import importlib
import logging
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from assets_bodies import bodies
from loop import Request, serve

logging.disable(logging.CRITICAL)
MODULE = sys.argv[1]


def main() -> None:
    """Serve `define` (shape, count), `resolve`, `materialize`, and `memory`."""
    library = importlib.import_module(MODULE)
    testing = importlib.import_module(f"{MODULE}.testing")
    folder = tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")
    state: dict[str, Any] = {"stores": 0}

    def work(request: Request) -> Request:
        kind = request["kind"]
        if kind == "define":
            state["assets"] = [library.Asset(body) for body in bodies(request["shape"], request["count"])]
            state["stores"] += 1
            state["storage"] = testing.embedded_storage(str(Path(folder.name) / f"store{state['stores']}"))
        elif kind == "resolve":
            in_process = library.Executor.in_process()
            state["repo"] = library.CodeRepository(assets=state["assets"], default_executor=in_process)
            state["repo"].resolve(state["storage"])
        elif kind == "materialize":
            if not state["repo"].materialize().success:
                raise RuntimeError("The run failed")
        elif kind == "memory":
            return {"mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        return {}

    with folder:
        serve(work)


if __name__ == "__main__":
    main()
