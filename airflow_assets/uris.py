"""One name, one URI: Airflow activates the first URI it meets under a name and fails tasks with another."""

from __future__ import annotations

import sys
import warnings

_known: dict[str, tuple[str, str]] = {}
_OURS = f"{__package__}."


class AssetUriConflict(UserWarning):
    """Two definitions give one asset name different URIs; Airflow would not run the tasks of one of them."""


def remember_uri(name: str, uri: str) -> None:
    """Note where ``name`` got ``uri``; warn if it got another one elsewhere in this process.

    :param name: the native name. :param uri: the URI as Airflow stores it.
    """
    file, line = _place()
    known, known_place = _known.setdefault(name, (uri, f"{file}:{line}"))
    if known != uri:
        warnings.warn_explicit(
            f"The asset {name!r} has the URI {uri!r} at {file}:{line}, but {known!r} at {known_place}. "
            "Airflow runs only tasks with the one it met first. Give both the same uri=.",
            AssetUriConflict,
            file,
            line,
        )


def known_uri(name: str) -> str | None:
    """Return the URI that a definition in this process gives to ``name``."""
    found = _known.get(name)
    return found[0] if found else None


def _place() -> tuple[str, int]:
    frame = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads every source file on the way
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
