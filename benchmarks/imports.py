"""`python -m benchmarks.imports`: what `import airflow_assets.operators` adds to `import airflow.sdk`.

A fresh interpreter per measurement. The second import is timed inside the process that has just done the
first, because the difference of two imports of two seconds would drown 50 ms in noise. Every public name
is then taken from the module, so that laziness hides nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.environments import ROOT
from benchmarks.harness import ROUNDS, Bound, Report, Row

LIMIT_MS = 50.0
TWO_STEPS = """
import time
started = time.perf_counter()
import airflow.sdk
between = time.perf_counter()
import airflow_assets.operators as operators
for name in operators.__all__:
    getattr(operators, name)
print((between - started) * 1e3, (time.perf_counter() - between) * 1e3)
"""


def measure(home: str) -> tuple[float, float]:
    """Milliseconds of `import airflow.sdk`, and of our import after it, in a fresh interpreter."""
    env = {**os.environ, "AIRFLOW_HOME": home, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", TWO_STEPS]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The imports failed with {done.returncode}:\n{done.stderr[-2000:]}")
    first, second = done.stdout.split()
    return float(first), float(second)


def main() -> int:
    """Run the benchmark; 1 when the import costs more than it may."""
    report = Report("imports", "Import of the operators", "python -m benchmarks.imports", ["apache-airflow"])
    with tempfile.TemporaryDirectory(prefix="airflow-assets-bench-") as home:
        measure(home)
        figures = [measure(home) for _ in range(ROUNDS)]
    sdk, added = [first for first, _ in figures], [second for _, second in figures]
    bound = Bound(LIMIT_MS, at_least=False, of_ratio=False)
    report.rows.append(Row("import, added by ours", "`import airflow.sdk`", sdk, added, "ms", (bound,)))
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
