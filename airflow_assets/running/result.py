"""What came of one script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    r"""The end of a script that began and came to its end by itself.

    Attributes:
        exit_code: 0 to 255; 128 + n when signal n ended it.
        variables: what its ``::{"outputs": {...}}::`` lines said, later lines over earlier ones, not masked;
            None after an exit code other than 0.
        logs: its output (both streams, in order) as text. Bytes that are no UTF-8 are written ``\xff``; what
            is beyond the limit is cut out of the middle, with a notice. Secrets are masked.
        dropped: how many bytes were cut out.
        problems: lines that could not be understood, and processes that could not be ended.
        seconds: how long it took.
    """

    exit_code: int
    variables: dict[str, Any] | None
    logs: str = ""
    dropped: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


class ScriptNotRun(Exception):
    """There is no outcome: the script did not begin, was not done in time, or its engine is not there.

    Attributes:
        reason: one of ``not_started``, ``timeout``, ``no_engine``, ``lost``.
        logs: what was seen until then.
    """

    def __init__(self, reason: str, detail: str, logs: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.logs = logs

    def __str__(self) -> str:
        return f"{self.detail} Its output:\n{self.logs}" if self.logs.strip() else self.detail
