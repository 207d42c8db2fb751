"""A step's retry policy in Airflow's terms: the exact wait, and which failures are worth another try.

Airflow asks the policy in the worker, after the body. It is not asked when the process dies: then the number
of tries counts alone, and Airflow's plain delay.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.definitions.retry_policy import RetryDecision
from airflow.sdk.definitions.retry_policy import RetryPolicy as AirflowRetryPolicy

from airflow_assets.authoring.dags.attempts import attempt_of, reason_of

if TYPE_CHECKING:
    from airflow_assets.authoring.retries import RetryPolicy


class StepRetries(AirflowRetryPolicy):
    """What the step has decided about its try; what it would decide where it could not."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        self._decided: RetryDecision | None = None

    def decide(self, delay: float | None) -> None:
        """Take over the wait that the step has recorded; null: no further try."""
        if delay is None:
            self._decided = RetryDecision.fail("the retry policy of the asset")
        else:
            self._decided = RetryDecision.retry(timedelta(seconds=delay), "the retry policy of the asset")

    def evaluate(self, exception: BaseException, try_number: int, max_tries: int, context: Any = None) -> Any:  # noqa: ARG002
        """Return the decision; made here where the body was cut short, as by its execution time-out."""
        if self._decided is not None:
            return self._decided
        if not self.policy.retries(exception, reason_of(exception)):
            return RetryDecision.fail("the retry policy of the asset")
        failures = attempt_of(try_number, max_tries, self.policy.max_retries)
        return RetryDecision.retry(timedelta(seconds=self.policy.delay(failures)))
