"""`python -m benchmarks.assets`: running assets that do nothing, and resolving many.

Beside rivers and Dagster, each in one process that records in files of its own: ours and Dagster in SQLite,
rivers in its embedded store. A step is an asset that passes on what it reads; what it takes is what the
library does around it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environments import ROOT, SIDES, peer_python
from benchmarks.harness import ROUNDS, Bound, Report, Row, alternate, workers
from benchmarks.record import _dagster_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.harness import Worker

CHAIN, FAN, MANY = 100, 1_000, 10_000
NOT_MORE = Bound(1, at_least=False)
A_FIFTH = Bound(0.2, at_least=False)


def sides_of(folder: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Command and environment of each side."""
    home = folder / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    run = str(SIDES / "assets_run.py")
    env = {**os.environ, "RUST_LOG": "off"}
    return {
        "rivers": ([str(peer_python("rivers")), run, "rivers"], env),
        "dagster": (
            [str(peer_python("dagster")), str(SIDES / "dagster_assets.py")],
            {**env, "DAGSTER_HOME": str(home)},
        ),
        "ours": ([sys.executable, run, "airflow_assets"], {**env, "PYTHONPATH": str(ROOT)}),
    }


def per_step(sides: Mapping[str, Worker], shape: str, count: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds a step of runs of one shape."""
    for name, side in sides.items():
        side.ask(kind="define", shape=shape, count=count)
        if name != "dagster":
            side.ask(kind="resolve")
    steps = count + (shape == "fan")

    def one(side: Worker, _: int) -> float:
        return float(side.ask(kind="materialize")["seconds"]) * 1e3 / steps

    return alternate({name: partial(one, side) for name, side in sides.items()}, rounds)


def resolving(sides: Mapping[str, Worker], count: int, rounds: int) -> dict[str, list[float]]:
    """Seconds to resolve so many assets; definitions and stores are new each time, and not counted."""

    def one(side: Worker, _: int) -> float:
        side.ask(kind="define", shape="many", count=count)
        return float(side.ask(kind="resolve")["seconds"])

    return alternate({name: partial(one, side) for name, side in sides.items()}, rounds)


def main() -> int:
    """Run the benchmark; 1 when a ratio is above what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assets", description=__doc__)
    for name, value in (("chain", CHAIN), ("fan", FAN), ("many", MANY), ("rounds", ROUNDS)):
        parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
    asked = parser.parse_args()
    command = " ".join(["python -m benchmarks.assets", *sys.argv[1:]])
    report = Report("assets", "Running assets, in process", command, ["sqlalchemy"])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airflow-assets-bench-")))
        sides = sides_of(folder)
        rivers, dagster = "rivers 0.6.2", f"Dagster {_dagster_version()}"
        started = stack.enter_context(workers(sides))
        for shape, count in (("chain", asked.chain), ("fan", asked.fan)):
            figures = per_step(started, shape, count, asked.rounds)
            what = f"{shape} of {count}, a step"
            report.rows += [
                Row(what, rivers, figures["rivers"], figures["ours"], "ms", (NOT_MORE,)),
                Row(what, dagster, figures["dagster"], figures["ours"], "ms", (A_FIFTH,)),
            ]
        fresh = {f"{name} resolving": sides[name] for name in ("rivers", "ours")}
        resolvers = stack.enter_context(workers(fresh))
        figures = resolving(resolvers, asked.many, asked.rounds)
        peer, ours = resolvers["rivers resolving"], resolvers["ours resolving"]
        mib = [[float(side.ask(kind="memory")["mib"])] for side in (peer, ours)]
        report.rows += [
            Row(
                f"resolve {asked.many} assets",
                rivers,
                figures["rivers resolving"],
                figures["ours resolving"],
                "s",
                (NOT_MORE,),
            ),
            Row(f"peak memory after it ({asked.rounds + 1} times)", rivers, mib[0], mib[1], "MiB"),
        ]
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
