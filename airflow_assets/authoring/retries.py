"""When a failed step is tried again, after how long, and with which resources."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_assets.authoring.checks import of_type, optional
from airflow_assets.authoring.errors import ConfigurationError


class FailureReason(str, Enum):
    """Why a try ended; the value is what events say."""

    ERROR = "error"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    INFRASTRUCTURE = "infrastructure"
    CANCELLED = "cancelled"
    """Never retried."""

    @classmethod
    def of(cls, error: BaseException) -> FailureReason:
        """Return the reason that an exception of a body stands for.

        >>> FailureReason.of(MemoryError())
        <FailureReason.OUT_OF_MEMORY: 'out_of_memory'>
        """
        told = getattr(error, "failure_reason", None)
        if isinstance(told, cls):
            return told
        if isinstance(error, MemoryError):
            return cls.OUT_OF_MEMORY
        return cls.TIMEOUT if isinstance(error, TimeoutError) else cls.ERROR


Cause = type[BaseException] | FailureReason


class RetryOn:
    """Ready-made lists for ``RetryPolicy(retry_on=...)``."""

    ALL: tuple[Cause, ...] | None = None
    """Every failure but a cancellation; the default."""
    TRANSIENT: tuple[Cause, ...] | None = (
        FailureReason.OUT_OF_MEMORY,
        FailureReason.TIMEOUT,
        FailureReason.INFRASTRUCTURE,
    )


@dataclass(frozen=True)
class Backoff:
    """How long to wait after the n-th failure, in seconds; made by one of the class methods.

    The wait is cut at ``max_delay`` and then multiplied by a random number from ``1 - jitter`` to
    ``1 + jitter``.

    >>> Backoff.exponential(2, factor=3).delay(3)
    18.0
    """

    schedule: tuple[float, ...] = ()
    initial: float = 0.0
    step: float = 0.0
    factor: float = 1.0
    jitter: float = 0.0
    max_delay: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.jitter <= 1:
            raise ConfigurationError(f"jitter must be from 0 to 1, not {self.jitter!r}")
        if self.factor <= 0 or not math.isfinite(self.factor):
            raise ConfigurationError(f"factor must be greater than 0, not {self.factor!r}")

    @classmethod
    def constant(cls, delay: float, *, jitter: float = 0.0, max_delay: float | None = None) -> Backoff:
        """Wait ``delay`` each time."""
        return cls(initial=_seconds(delay), jitter=jitter, max_delay=max_delay)

    @classmethod
    def linear(
        cls, step: float, *, initial: float = 0.0, jitter: float = 0.0, max_delay: float | None = None
    ) -> Backoff:
        """Wait ``initial + step * n``."""
        return cls(initial=_seconds(initial), step=_seconds(step), jitter=jitter, max_delay=max_delay)

    @classmethod
    def exponential(
        cls, initial: float, *, factor: float = 2.0, jitter: float = 0.0, max_delay: float | None = None
    ) -> Backoff:
        """Wait ``initial * factor ** (n - 1)``."""
        return cls(initial=_seconds(initial), factor=factor, jitter=jitter, max_delay=max_delay)

    @classmethod
    def fixed(cls, schedule: Sequence[float], *, jitter: float = 0.0) -> Backoff:
        """Wait the n-th delay of the list, then always its last.

        Raises:
            ConfigurationError: the list is empty.
        """
        if not schedule:
            raise ConfigurationError("Backoff.fixed needs at least one delay, for example [1, 5, 30]")
        return cls(schedule=tuple(map(_seconds, schedule)), jitter=jitter)

    def delay(self, failures: int) -> float:
        """Return the wait after so many failures (1, 2, ...), in seconds."""
        if self.schedule:
            base = self.schedule[min(failures, len(self.schedule)) - 1]
        else:
            base = (self.initial + self.step * failures) * self._power(failures - 1)
        if self.max_delay is not None:
            base = min(base, _seconds(self.max_delay))
        return base * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - not a secret

    def _power(self, exponent: int) -> float:
        try:
            return float(self.factor**exponent)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class ComputeEscalation:
    """More memory (and processors) for the next try after one that ran out of memory.

    :param max_memory: Kubernetes quantity that is never exceeded, for example ``"16Gi"``.
    :param factor: what the memory is multiplied by at each try.
    :param on: the reasons that escalate, and that are retried therefore.
    """

    max_memory: str
    factor: float = 2.0
    cpu_factor: float | None = None
    max_cpu: str | None = None
    on: Sequence[FailureReason] = (FailureReason.OUT_OF_MEMORY,)

    def __init__(
        self,
        *,
        max_memory: str,
        factor: float = 2.0,
        cpu_factor: float | None = None,
        max_cpu: str | None = None,
        on: Sequence[FailureReason] | None = None,
    ) -> None:
        set_to = object.__setattr__
        set_to(self, "max_memory", of_type(max_memory, str, "max_memory"))
        set_to(self, "factor", of_type(factor, (int, float), "factor"))
        set_to(self, "cpu_factor", optional(cpu_factor, (int, float), "cpu_factor"))
        set_to(self, "max_cpu", optional(max_cpu, str, "max_cpu"))
        chosen = (FailureReason.OUT_OF_MEMORY,) if on is None else tuple(on)
        set_to(self, "on", tuple(of_type(reason, FailureReason, "on") for reason in chosen))


@dataclass(frozen=True)
class Compute:
    """What a step asks for under Kubernetes, as quantities; other executors warn and ignore it.

    >>> Compute(cpu="500m", memory="2Gi").memory
    '2Gi'
    """

    cpu: str | None = None
    memory: str | None = None
    gpu: str | None = None

    def __init__(self, *, cpu: str | None = None, memory: str | None = None, gpu: str | None = None) -> None:
        for name, value in (("cpu", cpu), ("memory", memory), ("gpu", gpu)):
            object.__setattr__(self, name, optional(value, str, name))


class RetryPolicy:
    """How often a failed step is tried again, and which failures are worth it.

    :param max_retries: tries after the first.
    :param backoff: null: no wait.
    :param retry_on: exception classes (with their subclasses) and :class:`FailureReason`; null: all failures.
    :param escalate: its reasons are retried too.

    Raises:
        ValueError: ``max_retries`` is negative.
        TypeError: an element of ``retry_on`` is neither.

    >>> policy = RetryPolicy(2, backoff=Backoff.constant(30), retry_on=[ConnectionError])
    >>> policy.retries(ConnectionResetError()), policy.retries(KeyError("x"))
    (True, False)
    """

    def __init__(
        self,
        max_retries: int = 1,
        *,
        backoff: Backoff | None = None,
        retry_on: Sequence[Cause] | None = None,
        escalate: ComputeEscalation | None = None,
    ) -> None:
        if of_type(max_retries, int, "max_retries") < 0:
            raise ValueError(f"max_retries must be 0 or more, not {max_retries}")
        self.max_retries = max_retries
        self.backoff = optional(backoff, Backoff, "backoff")
        self.retry_on = None if retry_on is None else tuple(map(_cause, retry_on))
        self.escalate = optional(escalate, ComputeEscalation, "escalate")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RetryPolicy) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.max_retries, self.retry_on))

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if value is not None}
        return f"RetryPolicy({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def retries(self, error: BaseException, reason: FailureReason | None = None) -> bool:
        """Tell whether this failure is one to try again after, whatever the number of tries so far."""
        reason = reason or FailureReason.of(error)
        if reason is FailureReason.CANCELLED:
            return False
        if self.retry_on is None or (self.escalate and reason in self.escalate.on):
            return True
        return any(
            reason is cause if isinstance(cause, FailureReason) else isinstance(error, cause)
            for cause in self.retry_on
        )

    def delay(self, failures: int) -> float:
        """Return the wait in seconds after so many failures."""
        return self.backoff.delay(failures) if self.backoff else 0.0


def _cause(value: Any) -> Cause:
    if isinstance(value, FailureReason) or (isinstance(value, type) and issubclass(value, BaseException)):
        return value
    raise TypeError(f"retry_on takes exception classes and FailureReason, not {value!r}")


def _seconds(value: float) -> float:
    """Return a wait as a number of seconds; a negative one is none."""
    return max(0.0, float(of_type(value, (int, float), "a delay in seconds")))
