"""Renders templates of ``when`` in a process of its own: see :mod:`airflow_assets.airflow_bridge.conditions`.

One JSON array ``[template, variables]`` a line on standard input, one JSON array ``[text, error]`` a line on
standard output.
"""

from __future__ import annotations

import json
import sys

MAX_MEMORY = 512 * 1024 * 1024
MAX_TEXT = 10_000


def main() -> None:
    """Answer until standard input ends."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    _limit_memory()
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, cache_size=400)
    for line in sys.stdin:
        template, variables = json.loads(line)
        try:
            answer = [environment.from_string(template).render(variables)[:MAX_TEXT], None]
        except Exception as error:  # noqa: BLE001 - whatever a template raises is its answer
            answer = [None, f"{type(error).__name__}: {error}"[:MAX_TEXT]]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system; the time limit remains
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


if __name__ == "__main__":
    main()
