"""`python -m benchmarks.imports`: what importing ours adds, where it is imported most.

* `import airflow_assets.operators` after `import airflow.sdk`: what a Dag file pays. Every public name is
  taken from the module, so that laziness hides nothing.
* a script that defines an asset and materializes it, after `import sqlalchemy`; it may not import Airflow.

A fresh interpreter per measurement. The second step is timed inside the process that has just done the first,
because the difference of two imports of two seconds would drown 50 ms in noise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.environments import ROOT
from benchmarks.harness import ROUNDS, Bound, Report, Row

OPERATORS_LIMIT_MS = 50.0
SCRIPT_LIMIT_MS = 500.0
TWO_STEPS = """
import time
started = time.perf_counter()
{first}
between = time.perf_counter()
{second}
print((between - started) * 1e3, (time.perf_counter() - between) * 1e3)
"""
OPERATORS = """
import airflow_assets.operators as operators
for name in operators.__all__:
    getattr(operators, name)
"""
SCRIPT = """
import airflow_assets as aa
@aa.Asset
def one(): return 1
assert aa.CodeRepository(assets=[one]).materialize().success
import sys
assert not [name for name in sys.modules if name == "airflow" or name.startswith("airflow.")]
"""


def measure(home: str, first: str, second: str) -> tuple[float, float]:
    """Milliseconds of the first step, and of the second after it, in a fresh interpreter."""
    env = {**os.environ, "AIRFLOW_HOME": home, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", TWO_STEPS.format(first=first, second=second)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The imports failed with {done.returncode}:\n{done.stderr[-2000:]}")
    before, added = done.stdout.split()
    return float(before), float(added)


def row(home: str, name: str, first: str, second: str, limit: float) -> Row:
    """What the second step adds to the first; the first measurement warms up."""
    measure(home, first, second)
    figures = [measure(home, first, second) for _ in range(ROUNDS)]
    before, added = [before for before, _ in figures], [added for _, added in figures]
    bound = Bound(limit, at_least=False, of_ratio=False)
    return Row(name, f"`{first}`", before, added, "ms", (bound,))


def main() -> int:
    """Run the benchmark; 1 when an import costs more than it may."""
    report = Report("imports", "Imports", "python -m benchmarks.imports", ["apache-airflow", "sqlalchemy"])
    with tempfile.TemporaryDirectory(prefix="airflow-assets-bench-") as home:
        report.rows += [
            row(home, "operators, added", "import airflow.sdk", OPERATORS, OPERATORS_LIMIT_MS),
            row(home, "script that materializes, added", "import sqlalchemy", SCRIPT, SCRIPT_LIMIT_MS),
        ]
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
