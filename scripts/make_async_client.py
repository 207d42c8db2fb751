"""Write ``aio.py`` and ``asset_runs_aio.py`` in ``airflow_assets/client/``: the client for coroutines.

``python -m scripts.make_async_client`` writes them, ``--check`` only tells whether they are up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "airflow_assets" / "client"
_CLASS_OF_RUNS = (r"\bAssetRunCalls\b", "AsyncAssetRunCalls")
REPLACEMENTS = (
    (
        r'\A""".*?"""',
        '"""The client for coroutines; made from ``base.py`` by ``python -m scripts.make_async_client``."""',
    ),
    (r"\bCatalogClient\b", "AsyncCatalogClient"),
    (r"client\.asset_runs import", "client.asset_runs_aio import"),
    _CLASS_OF_RUNS,
    (r"get_client\b", "get_async_client"),
    (r"\bTransport\b", "AsyncTransport"),
    (r"import Callable, Iterator", "import AsyncIterator, Awaitable, Callable"),
    (r"\bIterator\[", "AsyncIterator["),
    (r"\bdef _walk\((.*), query", r"def _walk(\n        \1, query"),
    (r"\bdef (?!__)", "async def "),
    (r"self\._call\(", "await self._call("),
    (r"return self\._transport\.call\(", "return await self._transport.call("),
    (r"yield from page\.items", "for item in page.items:\n                yield item"),
    (r"yield from self\._walk\((.*)\)", r"async for item in self._walk(\1):\n            yield item"),
    (r"Callable\[\[_Query\], Page\[_Item\]\]", "Callable[[_Query], Awaitable[Page[_Item]]]"),
    (r"page = fetch\(", "page = await fetch("),
    (r"= self\.purge\(", "= await self.purge("),
    (r">>> for done in client\.iter_purge", ">>> async for done in client.iter_purge"),
    (r"several threads and after a fork", "several tasks of its event loop"),
    (r">>> client\.", ">>> await client."),
    (r">>> await client\.query_assets\((.*)\)\.items", r">>> (await client.query_assets(\1)).items"),
)


REPLACEMENTS_OF_RUNS = (
    (
        r'\A""".*?"""',
        '"""Part of the client for coroutines; made by ``python -m scripts.make_async_client``."""',
    ),
    _CLASS_OF_RUNS,
    (r"\bdef (?!__)", "async def "),
    (r"self\._call\(", "await self._call("),
)
TWINS = (
    (CLIENT / "base.py", CLIENT / "aio.py", REPLACEMENTS),
    (CLIENT / "asset_runs.py", CLIENT / "asset_runs_aio.py", REPLACEMENTS_OF_RUNS),
)


def twin(path: Path, replacements: tuple[tuple[str, str], ...]) -> str:
    """Return the asynchronous twin of a source file."""
    source = path.read_text()
    for pattern, replacement in replacements:
        source, count = re.subn(pattern, replacement, source, flags=re.DOTALL if r"\A" in pattern else 0)
        if not count:
            raise SystemExit(f"{path.name} has nothing that matches {pattern!r}: correct {__file__}")
    return source


def main() -> int:
    """Return 0, or 1 with ``--check`` when a file is out of date."""
    stale = 0
    for source, target, replacements in TWINS:
        wanted = twin(source, replacements)
        if "--check" not in sys.argv[1:]:
            target.write_text(wanted)
        # The formatter may break lines otherwise than the replacements do.
        elif not target.exists() or ast.dump(ast.parse(target.read_text())) != ast.dump(ast.parse(wanted)):
            print(f"{target} is out of date: run `python -m scripts.make_async_client`", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    raise SystemExit(main())
