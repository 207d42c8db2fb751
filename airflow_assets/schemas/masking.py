"""Secrets never reach a table, a log, an event, an export or a page: they are masked when they come in."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

MASK = "***"
_WORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "secrets", "token", "apikey", "authorization",
     "credential", "credentials", "sig", "signature"}
)  # fmt: skip
_PHRASES = ("api_key", "access_key", "private_key", "service_account", "keyfile_dict")
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)([^/?#@]*(?:@[^/?#@]*)*)@")
_URI_IN_TEXT = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")
_GIVEN = re.compile(
    r"((?<![\w.-])(?P<name>[\w.-]+)['\"]?\s*[=:]\s*)"
    r"(?:(?:Bearer|Basic|Token)\s+)?(?:'[^']*'|\"[^\"]*\"|[^\s,;&'\"{}()\[\]]+)",
    re.IGNORECASE,
)
_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


@lru_cache(maxsize=4096)
def is_sensitive(key: str) -> bool:
    """Tell whether a value under this key is a secret.

    >>> is_sensitive("apiKey"), is_sensitive("db_password"), is_sensitive("tokenizer")
    (True, True, False)
    """
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", key) if word]
    joined = "_".join(words)
    return not _WORDS.isdisjoint(words) or any(phrase in joined for phrase in _PHRASES)


def mask_metadata(value: Any, key: str = "") -> Any:
    """Return ``value`` with every non-empty text under a sensitive key replaced by ``***``, at any depth.

    >>> mask_metadata({"owner": "data", "auth": {"apiToken": "s3cr3t"}})
    {'owner': 'data', 'auth': {'apiToken': '***'}}
    """
    if isinstance(value, dict):
        return {k: mask_metadata(v, k if is_sensitive(k) else key) for k, v in value.items()}
    if isinstance(value, list):
        return [mask_metadata(item, key) for item in value]
    if not isinstance(value, str) or not value:
        return value
    return MASK if key and is_sensitive(key) else scrub_uri(value)


def scrub_uri(text: str) -> str:
    """Mask the password and the secret query parameters of a URI; any other text comes back unchanged.

    >>> scrub_uri("s3://user:pw@bucket/key?token=abc&a=")
    's3://user:***@bucket/key?token=***&a='
    """
    if not _URI.match(text):
        return text
    found = _USERINFO.match(text)
    if found:
        scheme, userinfo = found.groups()
        user, colon, _ = userinfo.partition(":")
        text = f"{scheme}{user}{colon}{MASK if colon else ''}@{text[found.end() :]}"
    head, mark, query = text.partition("?")
    if not mark:
        return text
    query, hash_mark, fragment = query.partition("#")
    pairs = [pair.partition("=") for pair in query.split("&")]
    masked = [
        f"{name}{eq}{MASK if value and is_sensitive(unquote(name)) else value}" for name, eq, value in pairs
    ]
    return f"{head}?{'&'.join(masked)}{hash_mark}{fragment}"


def scrub_text(text: str) -> str:
    """Mask the secrets of URIs inside a text, and what follows a sensitive name and ``=`` or ``:``.

    >>> scrub_text("no answer from postgres://u:pw@db/shop, api_key='abc' given, tries=3")
    "no answer from postgres://u:***@db/shop, api_key=*** given, tries=3"
    """
    text = _URI_IN_TEXT.sub(lambda found: scrub_uri(found[0]), text)
    return _GIVEN.sub(lambda found: found[1] + MASK if is_sensitive(found["name"]) else found[0], text)


def ascii_name(text: str) -> str:
    """Percent-encode what is not printable ASCII: the name of an asset as Airflow's MySQL column holds it.

    >>> ascii_name("bestellungen_größe")
    'bestellungen_gr%C3%B6%C3%9Fe'
    """
    return quote(text, safe="".join(chr(code) for code in range(0x20, 0x7F)))
