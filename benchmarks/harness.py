"""Rounds, alternation, medians, ratios, and the section of `RESULTS.md` that a benchmark writes."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROUNDS = 5
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
Measure = Callable[[int], float]


class Worker:
    """A process that serves the protocol of `sides/loop.py`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.command = list(command)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        errors = None if os.environ.get("BENCH_DEBUG") else subprocess.DEVNULL
        self._process = subprocess.Popen(self.command, env=dict(env), stderr=errors, **pipes)
        self._answer()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its answer.

        :raises RuntimeError: the process ended; run again with BENCH_DEBUG=1 to see what it wrote.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            name = " ".join(self.command)
            raise RuntimeError(f"`{name}` ended with {code}; BENCH_DEBUG=1 shows what it wrote")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process by closing its input; kill it when it has not ended after 30 s."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def workers(commands: Mapping[str, tuple[Sequence[str], Mapping[str, str]]]) -> Iterator[dict[str, Worker]]:
    """Start one worker a side (name -> command, environment) and end them all at the end."""
    with ExitStack() as stack:
        started = {}
        for name, (command, env) in commands.items():
            started[name] = Worker(command, env)
            stack.callback(started[name].close)
        yield started


def alternate(sides: Mapping[str, Measure], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Measure every side once a round and return its figures in the order of the rounds.

    Round 0 warms up and is dropped. The order is reversed every other round, so that no side always
    runs on what another left behind. A measure gets the number of its round.
    """
    figures: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        names = list(sides) if number % 2 else list(sides)[::-1]
        for name in names:
            figure = sides[name](number)
            print(f"  round {number} {name}: {figure:.4g}", file=sys.stderr, flush=True)
            if number:
                figures[name].append(figure)
    return figures


@dataclass(frozen=True)
class Bound:
    """What was asked for: `at_least` or `at_most` `value`, of the ratio ours ÷ peer or of our own figure."""

    value: float
    at_least: bool = True
    of_ratio: bool = True

    def holds(self, row: Row) -> bool:
        """Whether the row's median or ratio keeps the bound."""
        figure = row.ratio if self.of_ratio else statistics.median(row.ours)
        return figure >= self.value if self.at_least else figure <= self.value

    def text(self, unit: str) -> str:
        """The bound as a cell of the table."""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.value:g} ×" if self.of_ratio else f"ours {sign} {self.value:g} {unit}".rstrip()


@dataclass(frozen=True)
class Row:
    """One line of the table: our figures of all rounds against a peer's, and what was asked for."""

    what: str
    peer_name: str
    peer: Sequence[float]
    ours: Sequence[float]
    unit: str
    bounds: tuple[Bound, ...] = ()

    @property
    def ratio(self) -> float:
        """Median of ours divided by the median of the peer's."""
        return statistics.median(self.ours) / statistics.median(self.peer)

    @property
    def met(self) -> bool:
        """Whether every bound holds."""
        return all(bound.holds(self) for bound in self.bounds)

    def line(self) -> str:
        """The row in Markdown."""
        asked = ", ".join(bound.text(self.unit) for bound in self.bounds) or "-"
        verdict = ("met" if self.met else "**OPEN**") if self.bounds else "-"
        cells = [self.what, self.peer_name, spread(self.peer), spread(self.ours), self.unit]
        return "| " + " | ".join([*cells, f"**{self.ratio:.3g}**", asked, verdict]) + " |"


def spread(figures: Sequence[float]) -> str:
    """`median (lowest–highest)`."""
    low, mid, high = min(figures), statistics.median(figures), max(figures)
    return f"{mid:.4g} ({low:.4g}–{high:.4g})" if len(figures) > 1 else f"{mid:.4g}"


@dataclass
class Report:
    """Collects the rows and remarks of one benchmark and writes its section of `RESULTS.md`."""

    name: str
    title: str
    command: str
    packages: Sequence[str] = ()
    facts: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._load = os.getloadavg()[0]

    def text(self) -> str:
        """The section in Markdown."""
        now = dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        facts = {"run": now, "commit": _commit(), **machine(), "load before": f"{self._load:.2f}"}
        facts |= {"versions": _versions(self.packages), **self.facts}
        lines = [f"## {self.title}", "", f"`{self.command}`", ""]
        lines += ["; ".join(f"{key}: {value}" for key, value in facts.items() if value) + ".", ""]
        lines += ["| work | peer | peer's median (range) | ours | unit | ours ÷ peer | asked | |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        lines += [row.line() for row in self.rows]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def write(self) -> int:
        """Print the section, put it into `RESULTS.md`; the exit status is 1 when a bound is not met."""
        text = self.text()
        print(text)
        begin, end = f"<!-- {self.name} -->\n", f"<!-- /{self.name} -->\n"
        old = RESULTS.read_text() if RESULTS.exists() else "# Results of the benchmarks\n"
        section = begin + text + end
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        new, found = re.subn(pattern, lambda _: section, old, flags=re.DOTALL)
        RESULTS.write_text(new if found else f"{old.rstrip()}\n\n{section}")
        return int(not all(row.met for row in self.rows))


def machine() -> dict[str, str]:
    """What the figures depend on: processor, cores, memory, system."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "machine": f"{models[0] if models else platform.processor()}, {cores} cores, {memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
    }


def percentile(figures: Sequence[float], share: float) -> float:
    """The smallest figure that `share` (0–1) of all figures do not exceed."""
    ordered = sorted(figures)
    return ordered[max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1)]


def _versions(packages: Sequence[str]) -> str:
    return ", ".join(f"{package} {_version(package)}" for package in packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    command = ["git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"
