"""Trying a step again until it is done or no try is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.engine.failures import Failures, said_of_retry

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.authoring.graph.nodes import Step


class Attempt(Protocol):
    """One call of a body.

    ``streamed``: the body is a generator, whose items are stored one by one, so it is never called again.
    """

    streamed: bool
    nodes: Any

    def run(self) -> Failures:
        """Return why nodes failed."""


class TryLater(Exception):
    """A single try failed, and the step is to be tried again ``delay`` seconds from now."""

    def __init__(self, error: BaseException, delay: float) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error, self.delay = error, delay


A = TypeVar("A", bound=Attempt)


def tried(
    step: Step,
    emit: Emit,
    begin: Callable[[], A],
    wait: Callable[[float], None],
    single: int | None = None,
) -> tuple[Failures, A]:
    """Return how the last try ended, and that try.

    :param single: make this try alone, counted from 1.

    Raises:
        TryLater: a single try is to be followed by another.
    """
    number = 0 if single is None else single - 1
    while True:
        number += 1
        attempt = begin()
        failures = attempt.run()
        if not failures or not _again(step, failures, number, streamed=attempt.streamed):
            return failures, attempt
        error = next(iter(failures.values()))
        delay = step.retry.delay(number) if step.retry else 0.0
        for node in attempt.nodes:
            said = said_of_retry(error, number, delay)
            emit(StepEvent(EventType.StepRetry, node.name, None, said))
        if single is not None:
            raise TryLater(error, delay)
        if delay:
            wait(delay)


def _again(step: Step, failures: Failures, number: int, *, streamed: bool) -> bool:
    if step.retry is None or streamed or number > step.retry.max_retries:
        return False
    return all(step.retry.retries(error) for error in failures.values())
