"""Where in a Dag file something of ours is defined."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_OURS = f"{__package__}."


def defined_at() -> tuple[str, int]:
    """Return file and line of the nearest caller outside of this package."""
    frame = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads every source file on the way
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_ours(frame: FrameType) -> bool:
    # "<string>" is the __init__ that a dataclass makes.
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith(_OURS) or frame.f_code.co_filename == "<string>"
