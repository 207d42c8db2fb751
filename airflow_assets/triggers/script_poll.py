"""What runs in the triggerer for a script trigger, which reports to the server, and for a deferred sensor."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_assets.running.condition import matches
from airflow_assets.running.definition import Definition, airflow_mask
from airflow_assets.running.output import mask_values, masking
from airflow_assets.running.result import ScriptNotRun
from airflow_assets.running.run import run_script
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.polls import MAX_ERROR, ScriptPoll
from airflow_assets.triggers.polled import Finding, PolledTrigger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

log = logging.getLogger(__name__)
_slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


class ScriptWatch(PolledTrigger):
    """Runs a script at its interval.

    :param poll: the JSON of a :class:`~airflow_assets.schemas.polls.ScriptPoll`.
    :param definition: the members of a :class:`~airflow_assets.running.definition.Definition`.
    """

    def __init__(self, poll: dict[str, Any], definition: dict[str, Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._poll = poll
        self._definition = definition

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments for Airflow's table ``trigger``."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {"poll": self._poll, "definition": self._definition}

    @cached_property
    def poll(self) -> ScriptPoll:
        """See :class:`PolledTrigger`."""
        return ScriptPoll.model_validate(self._poll)

    async def check(self) -> Finding:
        """Run the script once."""
        async with _slot():
            return await found_by(Definition(**self._definition), self._name)


class ScriptWait(BaseTrigger):
    """Runs a deferred sensor's script at an interval until it matches.

    :param definition: the members of a :class:`~airflow_assets.running.definition.Definition`.
    :param interval: seconds from the end of one check to the next. :param name: the sensor, in the log.
    """

    def __init__(self, definition: dict[str, Any], interval: float, name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._definition = definition
        self._interval = interval
        self._name = name

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments for Airflow's table ``trigger``."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {"definition": self._definition, "interval": self._interval, "name": self._name}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, look, and yield the payload of the first match."""
        while True:
            await asyncio.sleep(self._interval)
            async with _slot():
                finding = await found_by(Definition(**self._definition), self._name)
            if finding.get("matched"):
                yield TriggerEvent(finding["payload"])  # type: ignore[no-untyped-call]
                return


def _slot() -> asyncio.Semaphore:
    """Keep the triggers of one triggerer from running all their scripts at once."""
    from airflow_assets.config import script_slots

    loop = asyncio.get_running_loop()
    if loop not in _slots:
        _slots.clear()
        _slots[loop] = asyncio.Semaphore(script_slots())
    return _slots[loop]


async def found_by(definition: Definition, name: str) -> Finding:
    """Run a script once and return whether it matched, with the payload, or why there is no answer.

    :param name: who it is run for, in the log.
    """
    script = definition.configured()
    mask = masking(script.env, airflow_mask)
    try:
        outcome = await run_script(script, mask=mask)
    except ScriptNotRun as error:
        log.warning("%s has no answer: %s", name, error)
        return Finding(error=str(error)[:MAX_ERROR])
    for problem in outcome.problems:
        log.warning("%s: %s", name, problem)
    matched = matches(definition.exit_condition, outcome)
    log.debug("%s: exit code %d after %.1f s, matched: %s", name, outcome.exit_code, outcome.seconds, matched)
    payload = {
        "timestamp": iso(datetime.now(timezone.utc)),
        "condition": mask(definition.exit_condition.strip()),
        "exitCode": outcome.exit_code,
        "vars": mask_values(outcome.variables, mask),
    }
    return Finding(matched=matched, payload=payload)
