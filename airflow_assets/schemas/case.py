"""The one converter between Python's ``snake_case`` and the JSON contract's ``camelCase``."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """``display_name`` -> ``displayName``; a name without underscores comes back unchanged."""
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """``displayName`` -> ``display_name``; the inverse of :func:`camel` for every field of ours."""
    return _WORD_START.sub("_", name).lower()
