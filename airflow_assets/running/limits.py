"""What one script may use, and what it is run by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024
DEFAULT_IMAGE = "python:3.13-slim"
"""The image of the contract."""
RUNNERS = ("auto", "process", "container")


@dataclass(frozen=True)
class Limits:
    """The limits of one script.

    Args:
        timeout: seconds from its start to its end; an image that must be pulled counts.
        memory: bytes of address space of each process (of all together in a container).
        output: bytes of output that are kept, half of them from its beginning and half from its end.
        files: open files of each process.
        file_size: bytes of the largest file it may write.
    """

    timeout: float = 60.0
    memory: int = 1024 * MIB
    output: int = 64 * 1024
    files: int = 256
    file_size: int = 256 * MIB


@dataclass(frozen=True)
class Script:
    """One script and how it is run.

    Args:
        source: Python source.
        limits: see :class:`Limits`.
        env: the whole environment of the script beside ``PATH``, ``LANG``, ``HOME`` and ``TMPDIR``.
        python: the interpreter (a path), or a virtual environment (its folder). Default: Airflow's own.
        image: run in a container of this image instead.
        network: the container's network, as ``docker run --network`` takes it; ``none`` for none.
    """

    source: str
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    image: str | None = None
    network: str = "bridge"
