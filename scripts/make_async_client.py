"""Write ``airflow_assets/client/aio.py``, the asynchronous twin of ``airflow_assets/client/base.py``.

``python -m scripts.make_async_client`` writes it, ``--check`` only tells whether it is up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "airflow_assets" / "client"
SOURCE, TARGET = CLIENT / "base.py", CLIENT / "aio.py"
REPLACEMENTS = (
    (
        r'\A""".*?"""',
        '"""The client for coroutines; made from ``base.py`` by ``python -m scripts.make_async_client``."""',
    ),
    (r"\bCatalogClient\b", "AsyncCatalogClient"),
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


def twin(source: str) -> str:
    """Return the asynchronous twin of the client's source text."""
    for pattern, replacement in REPLACEMENTS:
        source, count = re.subn(pattern, replacement, source, flags=re.DOTALL if r"\A" in pattern else 0)
        if not count:
            raise SystemExit(f"{SOURCE.name} has nothing that matches {pattern!r}: correct {__file__}")
    return source


def main() -> int:
    """Return 0, or 1 with ``--check`` when the file is out of date."""
    wanted = twin(SOURCE.read_text())
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(wanted)
        return 0
    # The formatter may break lines otherwise than the replacements do.
    if TARGET.exists() and ast.dump(ast.parse(TARGET.read_text())) == ast.dump(ast.parse(wanted)):
        return 0
    print(f"{TARGET} is out of date: run `python -m scripts.make_async_client`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
