"""A Dag run when the outcome of a script matches a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from airflow_assets.running.definition import Definition
from airflow_assets.schemas.polls import PollKind, ScriptPoll, poll_key
from airflow_assets.schemas.subscription import PolledSubscription
from airflow_assets.triggers.base import ScheduleTrigger

if TYPE_CHECKING:
    from airflow.triggers.base import BaseEventTrigger

_SHOWN = 120


@dataclass(frozen=True)
class ScriptTrigger(ScheduleTrigger):
    """Run a Python script at an interval, and start a Dag run when its outcome matches a condition.

    The script runs where the triggerer runs, in a process of its own or in a container:
    docs/script-trigger.md says what each keeps it from. The run finds ``timestamp``, ``condition``,
    ``exitCode`` and ``vars`` in ``trigger`` (templates; ``from airflow_assets import trigger`` in Python).
    Neither the script nor the condition is a template: there is no run yet whose values could be put in.

    Args:
        script: Python source. A line ``::{"outputs": {"rows": 3}}::`` that it prints makes variables.
        exit_condition: ``exit N`` compares the exit code; anything else is a pattern (RE2), or plain text if
            it is none, that is searched in the variables (``{rows=3}``) if the script ended with 0, else in
            what it printed.
        interval: how often, exact, from one second.
        edge: True (default): start a run when the condition matches and did not match at the check before.
            False: at each check that matches.
        image: run the script in a container of this image, through the command ``docker``.
        runner: ``auto`` (a container if ``image`` is given), ``process``, or ``container`` (of
            ``python:3.13-slim`` if no image is given).
        timeout: seconds after which the script is ended; there is no outcome then.
        python: the interpreter, or the folder of a virtual environment, on the triggerer's host.
        network: the container's network, for example ``none``; default ``bridge``.
        when: a Jinja template over ``trigger`` (``{{ trigger.vars.rows > 3 }}``); a firing counts only if it
            renders to something true. See :class:`~airflow_assets.triggers.EventTrigger`.
        stop_after: run states (``success``, ``failed``, ...): once a run of this trigger has reached one, it
            starts no further run.
        allow_concurrent: False (default): no run is started while one of the Dag is active. With ``edge`` the
            firing waits, without it is passed over.
        on_pause: as :class:`~airflow_assets.triggers.EventTrigger`; while every Dag of a trigger is paused
            nothing is checked.
        max_pending: how many queued runs of the Dag may pile up.
        id: what ``triggerId`` says in the run. Default ``trigger_<position in any_of>``.
        position: set by :func:`any_of`.

    A script that did not begin, was not done in time, or whose engine is missing has no outcome: that is
    logged, starts nothing, and what was remembered of the check before stays.

    Raises:
        InvalidRequest: an argument breaks a rule; the message names it and the way out.

    Example:
        >>> ScriptTrigger("raise Exception('boom')", exit_condition="exit 1", interval="PT10S")
    """

    script: str
    exit_condition: str
    interval: str | timedelta = "PT1M"
    edge: bool = True
    image: str | None = None
    runner: str = "auto"
    timeout: float = 60
    python: str | None = None
    network: str | None = None
    when: str | None = None
    stop_after: Sequence[str] | None = None
    allow_concurrent: bool = False
    on_pause: str = "keep"
    max_pending: int | None = None
    id: str | None = None
    position: int = 1

    def definition(self) -> Definition:
        """Return what is run, and the condition."""
        return Definition(
            script=self.script,
            exit_condition=self.exit_condition,
            image=self.image,
            runner=self.runner,
            timeout=self.timeout,
            python=self.python,
            network=self.network,
        )

    def poll(self) -> ScriptPoll:
        """Return what the server needs to know."""
        definition = self.definition()
        poll = ScriptPoll.model_validate(
            {
                "definition_key": "0" * 64,
                "title": _title(definition),
                "interval": self.interval,
                "edge": self.edge,
            }
        )
        whole = {**definition.to_json(), "interval": poll.interval, "edge": poll.edge}
        return poll.model_copy(update={"definition_key": poll_key(PollKind.SCRIPT, whole)})

    def _subscription(self) -> PolledSubscription:
        poll = self.poll()
        return PolledSubscription.model_validate(
            {"kind": PollKind.SCRIPT, "poll_key": poll.key, "title": poll.title, **self._shared()}
        )

    def _watch(self) -> BaseEventTrigger:
        from airflow_assets.triggers.script_poll import ScriptWatch

        return ScriptWatch(self.poll().to_json(), self.definition().to_json())


def _title(definition: Definition) -> str:
    """``script with exit 1``."""
    condition = " ".join(definition.exit_condition.split())
    shown = condition if len(condition) <= _SHOWN else f"{condition[:_SHOWN]}..."
    return f"script with {shown}"
