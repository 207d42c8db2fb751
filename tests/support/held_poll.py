"""A polled schedule that can be held up between what it has found and its report, and after the report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.polls import PollKind, ScriptPoll, poll_key
from airflow_assets.schemas.subscription import PolledSubscription
from airflow_assets.triggers.marker import marker_of
from airflow_assets.triggers.polled import Finding, PolledTrigger

if TYPE_CHECKING:
    from airflow.sdk import Asset

    from airflow_assets.schemas.polls import CheckResult

BEFORE, AFTER = "before", "after"


class HeldPoll(PolledTrigger):
    """Matches while the file ``state`` in its folder holds ``on``.

    While the file ``hold`` says ``before`` or ``after`` it stops there, writing ``held`` first. Each report
    adds a character to ``reported``.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.folder = folder

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "tests.support.held_poll.HeldPoll", {"folder": self.folder}

    @property
    def poll(self) -> ScriptPoll:
        return ScriptPoll(definition_key=poll_key(PollKind.SCRIPT, {"folder": self.folder}), interval="PT1S")

    async def check(self) -> Finding:
        matched = (Path(self.folder) / "state").read_text() == "on"
        if matched:
            await self._hold(BEFORE)
        return Finding(matched=matched, payload={})

    async def _round(self, due: CheckResult | None) -> CheckResult:
        done = await super()._round(due)
        with (Path(self.folder) / "reported").open("a") as file:
            file.write(".")
        if done.firing_id is not None:
            await self._hold(AFTER)
        return done

    async def _hold(self, where: str) -> None:
        hold = Path(self.folder) / "hold"
        while hold.exists() and hold.read_text() == where:
            (Path(self.folder) / "held").write_text(where)
            await asyncio.sleep(0.05)

    def as_schedule(self) -> Asset:
        """The asset to schedule a Dag on."""
        subscription = PolledSubscription(
            kind=PollKind.SCRIPT, poll_key=self.poll.key, title="a held poll", allow_concurrent=True
        )
        return marker_of(subscription, self)
