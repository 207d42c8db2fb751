"""What is said about failures."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING

from airflow_assets.authoring.engine.events import Emit, EventType, StepEvent
from airflow_assets.authoring.metadata_values import MetadataValue
from airflow_assets.authoring.retries import FailureReason

if TYPE_CHECKING:
    from airflow_assets.authoring.engine.run import Run

Failures = dict[str, BaseException]
"""Why nodes failed, by node; what is not in it was done. Under the step's own name: a failure after all."""


def say_failed(run: Run, name: str, error: BaseException, emit: Emit) -> None:
    """Say that a node failed: of each of the run's partitions, and then why, of all."""
    key = run.key_of(name) if run.graph.find(name) is not None else None
    for one in key or ():
        emit(StepEvent(EventType.StepFailure, name, one, {"error": MetadataValue.text(shown(error))}))
    emit(StepEvent(EventType.StepFailure, name, None, said_of_failure(error)))


def said_of_failure(error: BaseException) -> dict[str, MetadataValue]:
    """Return what a StepFailure event says about an exception."""
    classes = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    return {
        "error": MetadataValue.text(shown(error)),
        "rivers/failure_reason": MetadataValue.text(FailureReason.of(error).value),
        "rivers/exc_type": MetadataValue.json(json.dumps(classes, separators=(",", ":"))),
        "traceback": MetadataValue.text("".join(traceback.format_exception(error))[-8_000:]),
    }


def said_of_retry(error: BaseException, attempt: int, delay: float) -> dict[str, MetadataValue]:
    """Return what a StepRetry event says about the failure before it."""
    return {
        "error": MetadataValue.text(shown(error)),
        "rivers/attempt": MetadataValue.int(attempt),
        "rivers/failure_reason": MetadataValue.text(FailureReason.of(error).value),
        "rivers/next_delay_ms": MetadataValue.int(round(delay * 1_000)),
    }


def shown(error: BaseException) -> str:
    """Return an exception in one line, as ``failed_assets`` has it.

    >>> shown(KeyError("day"))
    "KeyError: 'day'"
    """
    return f"{type(error).__name__}: {error}"
