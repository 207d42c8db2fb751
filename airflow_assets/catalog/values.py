"""One JSON value as database columns: bytes whose order is the value's order, and a hash for exact equality.

Both are the same on every database, so a comparison never depends on a collation, on a JSON function or on
how a driver reads numbers. Two values are *equal* when tag and :func:`value_hash` are: ``1`` equals ``1.0``,
and ``true``, ``1`` and ``"1"`` are three values; objects compare without regard to the order of their keys.
"""

from __future__ import annotations

from decimal import Decimal
from hashlib import blake2b
from typing import Any

SORT_LENGTH = 255
"""How many bytes of a value or an id are indexed; what is longer is decided by the whole bytes."""

NULL, BOOL, NUMBER, TEXT, ARRAY, OBJECT = "n", "b", "d", "s", "a", "o"
_NESTED = (ARRAY, OBJECT)
_PLAIN = (str, int, float, bool, type(None))
"""Types of which two values are equal when Python says so."""
_ZERO = b"\x80"
_POSITIVE = b"\xc0"
_EXPONENT_BIAS = 1 << 31
_INVERT = bytes(255 - byte for byte in range(256))


def tag(value: Any) -> str:
    """Return the kind of a JSON value: n(ull) b(ool) d (number) s(tring) a(rray) o(bject).

    >>> tag(True), tag(1), tag("1")
    ('b', 'd', 's')
    """
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, (int, float)):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    return OBJECT if isinstance(value, dict) else ARRAY


def sort_bytes(value: Any) -> bytes:
    """Return bytes that compare (``memcmp``) as the value does among values of its tag.

    Numbers: as exact decimals of any size; a float counts as its shortest text (``0.1`` is one tenth). Texts:
    their UTF-8, so by code point. Arrays: the distinct hashes of the elements, 16 bytes each and sorted, so
    that "contains" is a search for :func:`value_hash` of an element. Objects and null have no order and no
    bytes.
    """
    kind = tag(value)
    if kind == TEXT:
        encoded: bytes = value.encode()
        return encoded
    if kind == NUMBER:
        return _number_bytes(value)
    if kind == BOOL:
        return b"\x01" if value else b"\x00"
    if kind == ARRAY:
        return b"".join(sorted({value_hash(item) for item in value}))
    return b""


def value_hash(value: Any) -> bytes:
    """Return the 16 bytes that two JSON values share exactly when they are equal.

    >>> value_hash({"a": 1, "b": [True]}) == value_hash({"b": [True], "a": 1.0})
    True
    """
    kind = tag(value)
    if kind == ARRAY:
        content = b"".join([value_hash(item) for item in value])
    elif kind == OBJECT:
        content = b"".join([_member(key, value[key]) for key in sorted(value)])
    else:
        content = sort_bytes(value)
    return _hash(kind, content)


def _hash(kind: str, content: bytes) -> bytes:
    return blake2b(kind.encode() + content, digest_size=16).digest()


def value_columns(field: str, value: Any) -> dict[str, Any]:
    """Return one top-level metadata member as columns of ``metadata_value`` (without asset and id).

    ``value_rest`` holds the whole bytes where ``value_sort`` could not, else null.
    """
    whole, kind = sort_bytes(value), tag(value)
    return {
        "field": field,
        "tag": kind,
        "value_sort": whole[:SORT_LENGTH],
        "value_hash": value_hash(value) if kind in _NESTED else _hash(kind, whole),
        "value_rest": whole if len(whole) > SORT_LENGTH else None,
    }


def id_sort(stored_id: str) -> bytes:
    """Return the indexed part of an id: its first 255 bytes in UTF-8."""
    return stored_id.encode()[:SORT_LENGTH]


def equal(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are equal by the rule of this module (``True`` is not ``1``).

    >>> equal(1, 1.0), equal(True, 1), equal(2**53, 2**53 + 1)
    (True, False, False)
    """
    kind = type(left)
    if kind is type(right) and kind in _PLAIN:
        return bool(left == right)
    return left is right or (tag(left) == tag(right) and value_hash(left) == value_hash(right))


def _member(key: str, value: Any) -> bytes:
    encoded = key.encode()
    return len(encoded).to_bytes(4, "big") + encoded + value_hash(value)


def _number_bytes(value: Any) -> bytes:
    """Sign, decimal exponent, digits in pairs; a negative number is the complement of its opposite.

    The value is ``0.d1d2d3... * 10**exponent`` with ``d1 != 0`` and no trailing zeros, so a number whose
    digits begin another's is the smaller one, as memcmp has it. The complement needs an end mark for that.
    """
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number:
        return _ZERO
    sign, digits, exponent = number.as_tuple()
    text = bytes(digits).rstrip(b"\0")
    magnitude = len(digits) + int(exponent)
    if len(text) % 2:
        text += b"\0"
    pairs = bytes(10 * high + low + 1 for high, low in zip(text[::2], text[1::2], strict=True))
    encoded = _POSITIVE + (magnitude + _EXPONENT_BIAS).to_bytes(4, "big") + pairs
    return encoded.translate(_INVERT) + b"\xff" if sign else encoded
