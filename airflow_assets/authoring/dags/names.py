"""Ids that Airflow takes for names that it would not."""

from __future__ import annotations

import hashlib
import re

_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")
MAX_LENGTH = 200
"""Airflow takes 250; what stands before and after an id here needs room too."""


def safe(name: str, *, dots: bool = True) -> str:
    """Return an id of ASCII letters, digits, ``_``, ``-`` and ``.``; the name itself where it is one.

    Another name keeps what reads well of it and gets a part of its hash, so that two names never share an id.

    :param dots: dots are allowed; not in the id of a task group.

    >>> safe("sales.orders"), safe("sales/orders"), safe("sales.orders", dots=False)
    ('sales.orders', 'sales_orders-648dd810', 'sales_orders-9070a83f')
    """
    found = _OTHER.sub("_", name)
    if not dots:
        found = found.replace(".", "_")
    if found == name and name and len(name) <= MAX_LENGTH:
        return name
    return f"{found[: MAX_LENGTH - 9]}-{digest(name)}"


def digest(name: str) -> str:
    """Return what tells a name from others: eight digits of its hash."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]
