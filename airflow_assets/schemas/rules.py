"""The rules an asset obeys. Each is written here once; everything that accepts input calls them.

All functions return the value in its stored form or raise :class:`~airflow_assets.exceptions.InvalidAsset`
naming field, limit and value. None of them touches a database.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from typing import Any

from airflow_assets.exceptions import InvalidAsset, InvalidRequest
from airflow_assets.schemas.masking import scrub_uri

MAX_ID = 1_500
MAX_NAMESPACE = 150
MAX_TYPE = 250
MAX_DISPLAY_NAME = 1_500
MAX_DESCRIPTION_BYTES = 64 * 1024
MAX_METADATA_BYTES = 256 * 1024
MAX_METADATA_KEYS = 500
MAX_METADATA_KEY = 250
MAX_METADATA_DEPTH = 20
MAX_INTEGER_DIGITS = 1_000
MAX_URI = 1_500
DEFAULT_TENANT = "main"
EXTERNAL_TYPE = "airflow_assets.types.External"
"""The placeholder type of an input nobody has described yet; it never replaces a real type."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_INTEGER_LIMIT = 10**MAX_INTEGER_DIGITS
_RESERVED_IDS = frozenset({"self", "context", ".", ".."})
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9._-]*")
_INVISIBLE = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})


def asset_id(value: object) -> str:
    """Return the stored form of an asset id: NFC, 1 to 1,500 printable characters.

    Control characters, outer white space and the words ``self``, ``context``, ``.`` and ``..`` are refused.
    A password in a URI-like id is masked, so that it reaches no table and no log.

    >>> asset_id("s3://user:pw@bucket/orders")
    's3://user:***@bucket/orders'
    """
    text = _text("id", value, MAX_ID)
    text = unicodedata.normalize("NFC", scrub_uri(text))
    if len(text) > MAX_ID:
        raise _too_long("id", MAX_ID, text)
    if text in _RESERVED_IDS:
        raise InvalidAsset(f"The id {text!r} is reserved.", hint="Choose another id.", field="id", value=text)
    return text


def identity(tenant: str, stored_id: str) -> bytes:
    """Return the 32 bytes that identify an asset on every database, whatever its collation.

    :param stored_id: an id as returned by :func:`asset_id`.
    """
    return hashlib.sha256(f"{tenant}\0{stored_id}".encode()).digest()


def namespace(value: object) -> str:
    """Return a namespace: 1 to 150 characters, lower case letters, digits, ``.``, ``_`` and ``-``."""
    text = _text("namespace", value, MAX_NAMESPACE)
    if not _NAMESPACE.fullmatch(text):
        raise InvalidAsset(
            f"The namespace {text!r} has characters that are not allowed.",
            hint="Use lower case letters, digits, '.', '_' and '-', and begin with a letter or digit.",
            field="namespace",
            value=text,
        )
    return text


def asset_type(value: object) -> str:
    """Return a type: any text of 1 to 250 printable characters, compared whole and case-sensitively."""
    return _text("type", value, MAX_TYPE)


def display_name(value: object) -> str:
    """Return a display name of 1 to 1,500 printable characters."""
    return _text("displayName", value, MAX_DISPLAY_NAME)


def uri(value: object) -> str:
    """Return a URI of 1 to 1,500 characters with its password and secret parameters masked."""
    return scrub_uri(_text("uri", value, MAX_URI))


def description(value: object) -> str:
    """Return a description (Markdown) of at most 64 KiB in UTF-8."""
    if not isinstance(value, str):
        raise _wrong_kind("description", "text", value)
    if "\0" in value:
        raise _nul("description")
    size = len(_utf8("description", value))
    if size > MAX_DESCRIPTION_BYTES:
        raise InvalidAsset(
            f"The description has {size:,} bytes; at most {MAX_DESCRIPTION_BYTES:,} are allowed.",
            hint="Shorten it, or link to a document.",
            field="description",
            limit=MAX_DESCRIPTION_BYTES,
            value=size,
        )
    return value


def metadata(value: object) -> dict[str, Any]:
    """Return metadata as plain JSON: at most 500 keys, 256 KiB, 20 levels; no NaN, Infinity or NUL.

    Top-level ``null`` values are kept (an upsert reads them as "remove this key").
    Values are not masked here: see :func:`airflow_assets.schemas.masking.mask_metadata`.
    """
    if not isinstance(value, dict):
        raise _wrong_kind("metadata", "an object", value)
    if len(value) > MAX_METADATA_KEYS:
        raise InvalidAsset(
            f"The metadata has {len(value)} keys; at most {MAX_METADATA_KEYS} are allowed.",
            hint="Nest keys that belong together.",
            field="metadata",
            limit=MAX_METADATA_KEYS,
            value=len(value),
        )
    for key in value:
        _text("metadata key", key, MAX_METADATA_KEY)
    checked = {key: _json_value(item, f"metadata.{key}", 1) for key, item in value.items()}
    size = len(json_text(checked).encode())
    if size > MAX_METADATA_BYTES:
        raise InvalidAsset(
            f"The metadata has {size:,} bytes as JSON; at most {MAX_METADATA_BYTES:,} are allowed.",
            hint="Keep large documents elsewhere and store where they are.",
            field="metadata",
            limit=MAX_METADATA_BYTES,
            value=size,
        )
    return checked


def json_text(value: Any) -> str:
    """Return the stored text of a JSON value: compact, any Unicode, integers exact."""
    return _encode(value)


def _json_value(value: Any, path: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _number(value, path)
    if isinstance(value, str):
        if "\0" in value:
            raise _nul(path)
        _utf8(path, value)
        return value
    return _json_container(value, path, depth)


def _number(value: float, path: str) -> float:
    if isinstance(value, int):
        # Python refuses to write or read integers of more than 4,300 digits as text.
        if abs(value) < _INTEGER_LIMIT:
            return value
        raise InvalidAsset(
            f"{path} is an integer of more than {MAX_INTEGER_DIGITS:,} digits.",
            hint="Store it as text.",
            field=path,
            limit=MAX_INTEGER_DIGITS,
        )
    if math.isfinite(value):
        return value
    raise InvalidAsset(
        f"{path} is {value}, which JSON cannot hold.",
        hint="Use null, or a text such as 'unknown'.",
        field=path,
        value=str(value),
    )


def _json_container(value: Any, path: str, depth: int) -> Any:
    if depth >= MAX_METADATA_DEPTH:
        raise InvalidAsset(
            f"{path} is nested deeper than {MAX_METADATA_DEPTH} levels.",
            hint="Flatten it.",
            field=path,
            limit=MAX_METADATA_DEPTH,
        )
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise _wrong_kind(f"{path} key", "text", key)
            _json_value(key, f"{path} key", depth)
        return {key: _json_value(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise InvalidAsset(
        f"{path} is a {type(value).__name__}, which JSON cannot hold.",
        hint="Convert it first, for example a time with .isoformat() or a path with str().",
        field=path,
        value=repr(value),
    )


def _text(field: str, value: object, limit: int) -> str:
    if not isinstance(value, str):
        raise _wrong_kind(field, "text", value)
    if not value:
        raise InvalidAsset(f"The {field} is empty.", hint="Give at least one character.", field=field)
    if len(value) > limit:
        raise _too_long(field, limit, value)
    if value != value.strip():
        raise InvalidAsset(
            f"The {field} {value!r} begins or ends with white space.",
            hint="Remove it.",
            field=field,
            value=value,
        )
    for char in "" if value.isprintable() else value:
        if unicodedata.category(char) in _INVISIBLE:
            raise InvalidAsset(
                f"The {field} contains the character U+{ord(char):04X}, which cannot be printed.",
                hint="Remove it.",
                field=field,
                value=value.encode("utf-8", "backslashreplace").decode(),
            )
    return value


def _utf8(field: str, value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InvalidAsset(
            f"{field} contains half of a surrogate pair, which UTF-8 cannot hold.",
            hint="Decode the text with errors='replace' first.",
            field=field,
        ) from None


def _too_long(field: str, limit: int, value: str) -> InvalidAsset:
    return InvalidAsset(
        f"The {field} has {len(value):,} characters; at most {limit:,} are allowed.",
        hint="Shorten it.",
        field=field,
        limit=limit,
        value=value,
    )


def _wrong_kind(field: str, wanted: str, value: object) -> InvalidAsset:
    hint = f"Write its name: '{value.__module__}.{value.__qualname__}'." if isinstance(value, type) else None
    return InvalidAsset(
        f"The {field} must be {wanted}, not {type(value).__name__}.",
        hint=hint,
        field=field,
        value=repr(value),
    )


def _nul(field: str) -> InvalidAsset:
    return InvalidAsset(
        f"{field} contains the character U+0000, which databases cannot hold.",
        hint="Remove it.",
        field=field,
    )


def positive(field: str, value: int, limit: int) -> int:
    """Return ``value`` if it is in ``1..limit``; otherwise raise :class:`InvalidRequest`."""
    if not 1 <= value <= limit:
        raise InvalidRequest(
            f"{field} must be between 1 and {limit:,}, not {value:,}.", field=field, limit=limit, value=value
        )
    return value
