"""Script triggers as triggerers run them, with real scripts and the real catalogue on SQLite."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from airflow_assets.catalog import tables
from airflow_assets.triggers import ScriptTrigger
from airflow_assets.triggers.script_poll import ScriptWatch
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from airflow_assets.catalog.service import CatalogService

LOOK = """
import sys
from pathlib import Path
folder = Path(FOLDER)
state = (folder / "state").read_text()
with (folder / "ticks").open("a") as ticks: ticks.write(".")
if state == "hang": import time; time.sleep(60)
print('::{"outputs": {"state": "%s"}}::' % state)
"""


class Scene:
    """Several triggerers that run the same trigger."""

    def __init__(self, catalog: CatalogService, folder: Path) -> None:
        self.engine = catalog.engine
        self.folder = folder
        self.set("off")

    def trigger(self, **arguments: Any) -> ScriptTrigger:
        script = LOOK.replace("FOLDER", repr(str(self.folder)))
        return ScriptTrigger(
            script, **{"exit_condition": "state=on", "interval": "PT1S", "timeout": 1, **arguments}
        )

    def rebuilt(self, trigger: ScriptTrigger) -> ScriptWatch:
        """A new object from what Airflow keeps, as every triggerer makes it."""
        [watcher] = trigger.as_schedule().watchers
        return ScriptWatch(**json.loads(json.dumps(watcher.trigger.serialize()[1])))

    def set(self, state: str) -> None:
        (self.folder / "state.part").write_text(state)
        (self.folder / "state.part").replace(self.folder / "state")

    def firings(self) -> list[dict[str, Any]]:
        with self.engine.connect() as conn:
            return [json.loads(text) for text in conn.scalars(select(tables.firing.c.payload))]

    def poll(self) -> Any:
        with self.engine.connect() as conn:
            return conn.execute(select(tables.poll)).one_or_none()

    async def checks(self, count: int = 2) -> None:
        """Wait until so many further checks count."""
        begun = self.poll().number if self.poll() else 0
        await self.until(lambda: self.poll() and self.poll().number >= begun + count, f"{count} checks")

    async def until(self, condition: Callable[[], object], what: str) -> None:
        await asyncio.to_thread(wait_until, condition, 60, what, 0.05)


@pytest.fixture
def scene(catalog: CatalogService, tmp_path: Path) -> Iterator[Scene]:
    return Scene(catalog, tmp_path)


async def stop(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def run(watch: ScriptWatch) -> None:
    async for _ in watch.run():
        pytest.fail("a polled trigger never yields")


def test_two_triggerers_fire_once_and_a_rebuilt_trigger_remembers(scene: Scene) -> None:
    async def play() -> None:
        trigger = scene.trigger()
        tasks = [asyncio.create_task(run(scene.rebuilt(trigger))) for _ in range(2)]
        await scene.checks()
        assert scene.firings() == []
        scene.set("on")
        await scene.until(scene.firings, "the firing")
        await scene.checks(3)
        assert len(scene.firings()) == 1
        await stop(tasks)
        tasks = [asyncio.create_task(run(scene.rebuilt(trigger)))]
        await scene.checks(3)
        assert len(scene.firings()) == 1, "a rebuilt trigger knows that it matched before"
        scene.set("hang")
        await scene.until(lambda: scene.poll().error, "a check without outcome")
        assert "not done after 1 s" in scene.poll().error
        scene.set("on")
        await scene.until(lambda: scene.poll().error is None, "a check with outcome")
        await scene.checks()
        assert len(scene.firings()) == 1, "no outcome leaves the memory"
        scene.set("off")
        await scene.checks()
        scene.set("on")
        await scene.until(lambda: len(scene.firings()) == 2, "the second firing")
        await stop(tasks)

    asyncio.run(play())
    first, second = scene.firings()
    assert first["vars"] == second["vars"] == {"state": "on"}
    assert (first["condition"], first["exitCode"]) == ("state=on", 0)
    assert first["timestamp"] < second["timestamp"]


def test_without_edge_each_check_that_matches_fires(scene: Scene) -> None:
    async def play() -> None:
        scene.set("on")
        task = asyncio.create_task(run(scene.rebuilt(scene.trigger(edge=False))))
        await scene.until(lambda: len(scene.firings()) >= 3, "three firings")
        await stop([task])

    asyncio.run(play())
    assert len(scene.firings()) == scene.poll().number


def test_a_missing_engine_is_told_and_remembered_nowhere(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(scene.folder))

    async def play() -> None:
        task = asyncio.create_task(run(scene.rebuilt(scene.trigger(image="python:3.13-slim"))))
        await scene.checks()
        await stop([task])

    asyncio.run(play())
    assert "'docker', which is not on the PATH" in scene.poll().error
    assert scene.poll().state is None
    assert scene.firings() == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_triggerer_killed_beside_its_report_loses_and_doubles_nothing(scene: Scene, when: str) -> None:
    trigger = scene.trigger()
    scene.set("on")
    flag = scene.folder / "flag"
    command = [
        sys.executable,
        "-m",
        "tests.support.dying_triggerer",
        str(scene.engine.url.database),
        when,
        str(flag),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as dying:
        assert dying.stdin is not None
        dying.stdin.write(json.dumps(trigger.as_schedule().watchers[0].trigger.serialize()[1]).encode())
        dying.stdin.close()
        wait_until(flag.exists, 120, "the report")
        dying.kill()
    assert len(scene.firings()) == (when == "after")

    async def play() -> None:
        task = asyncio.create_task(run(scene.rebuilt(trigger)))
        await scene.checks(3)
        await stop([task])

    asyncio.run(play())
    assert len(scene.firings()) == 1


async def longest_turn(stop: asyncio.Event) -> float:
    """CPU seconds that this thread spent between two turns of the loop: other programs do not count."""
    longest = 0.0
    while not stop.is_set():
        begun = time.thread_time()
        await asyncio.sleep(0.002)
        longest = max(longest, time.thread_time() - begun)
    return longest


def test_200_triggers_do_not_hold_up_the_loop(scene: Scene) -> None:
    def checked() -> bool:
        with scene.engine.connect() as conn:
            return conn.scalar(select(func.count()).where(tables.poll.c.number >= 1)) == 200

    async def play() -> float:
        over = asyncio.Event()
        triggers = [
            ScriptTrigger(f"print({n})", exit_condition="exit 0", interval="PT1H") for n in range(200)
        ]
        tasks = [asyncio.create_task(run(scene.rebuilt(trigger))) for trigger in triggers]
        turns = asyncio.create_task(longest_turn(over))
        await asyncio.to_thread(wait_until, checked, 240, "200 checks", 0.5)
        over.set()
        longest = await turns
        await stop(tasks)
        return longest

    longest = asyncio.run(play())
    print(f"200 script triggers checked: the longest turn of the loop took {longest * 1000:.1f} ms of CPU")
    assert len(scene.firings()) == 200
    assert longest < 0.1
