"""The triggerer's part of a freshness trigger: it asks the server to look."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from airflow_assets.schemas.polls import FreshnessPoll
from airflow_assets.triggers.polled import Finding, PolledTrigger


class FreshnessWatch(PolledTrigger):
    """Reports checks that the server itself makes, by its own clock.

    :param poll: the JSON of a :class:`~airflow_assets.schemas.polls.FreshnessPoll`.
    """

    def __init__(self, poll: dict[str, Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._definition = poll

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments for Airflow's table ``trigger``."""
        return (f"{type(self).__module__}.{type(self).__qualname__}", {"poll": self._definition})

    @cached_property
    def poll(self) -> FreshnessPoll:
        """See :class:`PolledTrigger`."""
        return FreshnessPoll.model_validate(self._definition)

    async def check(self) -> Finding:
        """Nothing to do here."""
        return Finding()
