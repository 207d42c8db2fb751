"""What a script printed, as text to store and to log: cut with a notice, masked, any bytes readable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_assets.schemas.masking import MASK, is_sensitive, mask_metadata

Mask = Callable[[str], str]


def readable(data: bytes) -> str:
    r"""Return bytes as text; what is no UTF-8 is written as an escape, NUL too.

    >>> readable(b"caf\xc3\xa9 \xff\x00")
    'café \\xff\\x00'
    """
    return data.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def joined(head: bytes, tail: bytes, dropped: int, slack: int, mask: Mask) -> str:
    """Return head and tail of an output, masked, with a notice between them if something was dropped.

    :param slack: how many bytes beside a cut are looked at for secrets, but not shown: half of a secret, that
        no mask knows, may stand there.
    """
    if not dropped:
        return mask(readable(head + tail))
    cut = dropped + 2 * slack
    first = _same_start(mask(readable(head)), mask(readable(head[:-slack])))
    last = _same_start(mask(readable(tail))[::-1], mask(readable(tail[slack:]))[::-1])[::-1]
    return f"{first}\n... {cut:,} bytes of output are cut out here ...\n{last}"


def _same_start(whole: str, part: str) -> str:
    """Return what two texts begin with: a secret that stands across the cut is masked in the whole alone."""
    same = next((n for n, (a, b) in enumerate(zip(whole, part, strict=False)) if a != b), len(part))
    return part[:same]


def masking(env: Mapping[str, str], mask: Mask) -> Mask:
    """Return a mask that also hides the values of secret variables of the script's environment."""
    secrets = sorted({value for name, value in env.items() if value and is_sensitive(name)}, key=len)[::-1]

    def both(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        return mask(text)

    return both


def mask_values(value: Any, mask: Mask) -> Any:
    """Return JSON with every text masked, and everything under a key that names a secret.

    >>> mask_values({"dsn": "x://u:pw@h", "apiKey": "abc", "n": [1]}, str)
    {'dsn': 'x://u:***@h', 'apiKey': '***', 'n': [1]}
    """
    return _masked(mask_metadata(value), mask)


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, dict):
        return {mask(key): _masked(item, mask) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, mask) for item in value]
    return mask(value) if isinstance(value, str) else value
