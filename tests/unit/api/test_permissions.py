"""What a request needs beyond the action of its route, and what each kind of caller may do."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from airflow_assets.airflow_bridge.task_instances import TaskTry
from airflow_assets.api.identities import ReaderIdentity, TaskIdentity
from airflow_assets.api.permissions import AIRFLOW_METHODS, actions_of
from airflow_assets.exceptions import NotPermitted
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.lineage import TaskRun
from airflow_assets.schemas.operations import OPERATIONS, Action
from airflow_assets.schemas.queries import Batch

if TYPE_CHECKING:
    from collections.abc import Callable

ASSET = {"id": "a", "type": "t"}


@pytest.mark.parametrize(
    ("items", "needed"),
    [
        ([], {Action.UPDATE}),
        ([{"action": "create", "asset": ASSET}], {Action.UPDATE, Action.CREATE}),
        ([{"action": "upsert", "asset": ASSET}], {Action.UPDATE, Action.CREATE}),
        ([{"action": "update", "id": "a", "changes": {}}], {Action.UPDATE}),
        ([{"action": "delete", "id": "a"}], {Action.UPDATE, Action.DELETE}),
        (
            [{"action": "delete", "id": "a"}, {"action": "create", "asset": ASSET}],
            {Action.UPDATE, Action.DELETE, Action.CREATE},
        ),
    ],
)
def test_a_batch_needs_what_its_items_need(items: list[object], needed: set[Action]) -> None:
    assert actions_of(OPERATIONS["batch"], Batch.model_validate({"items": items})) == needed


def test_an_upsert_may_create() -> None:
    found = actions_of(OPERATIONS["upsert_asset"], AssetInput(id="a", type="t"))
    assert found == {Action.CREATE, Action.UPDATE}


def test_every_other_operation_needs_its_own_action() -> None:
    for name in set(OPERATIONS) - {"batch", "upsert_asset"}:
        assert actions_of(OPERATIONS[name], None) == {OPERATIONS[name].action}


def test_every_action_of_people_has_a_right_in_airflow() -> None:
    assert set(AIRFLOW_METHODS) == set(Action) - {Action.RECORD, Action.REPORT}


def task(state: str | None, ended: timedelta | None = None) -> TaskIdentity:
    end = None if ended is None else datetime.now(timezone.utc) - ended
    return TaskIdentity(TaskTry("id", "dag", "run", "task", -1, 1, state, end))


def allowed(identity: TaskIdentity | ReaderIdentity) -> set[Action]:
    return {action for action in Action if not refuses(identity, action)}


def refuses(identity: TaskIdentity | ReaderIdentity, action: Action) -> bool:
    try:
        identity.check(action)
    except NotPermitted as error:
        return bool(error.members["action"] == action.value)
    return False


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (lambda: task("running"), set(Action) - {Action.REPORT}),
        (lambda: task("deferred"), set(Action) - {Action.REPORT}),
        (lambda: task("success", timedelta(minutes=5)), {Action.LIST, Action.VIEW, Action.RECORD}),
        (lambda: task("success", timedelta(minutes=11)), {Action.LIST, Action.VIEW}),
        (lambda: task("queued"), {Action.LIST, Action.VIEW}),
        (lambda: task(None), {Action.LIST, Action.VIEW}),
        (lambda: ReaderIdentity.trigger("1", lambda: "dag"), {Action.LIST, Action.VIEW, Action.REPORT}),
        (lambda: ReaderIdentity.dag_file("dags/a.py"), {Action.LIST}),
    ],
)
def test_what_tasks_triggers_and_dag_files_may(
    known: Callable[[], TaskIdentity | ReaderIdentity], expected: set[Action]
) -> None:
    """Made when the test runs: minutes may pass after the tests have been collected."""
    assert allowed(known()) == expected


def test_only_the_task_itself_records() -> None:
    run = TaskRun(dag_id="dag", run_id="run", task_id="task", try_number=1)
    assert task("running").recorder(run) == task("running").source
    for other in (ReaderIdentity.trigger("1", lambda: "dag"), ReaderIdentity.dag_file("a.py")):
        with pytest.raises(NotPermitted):
            other.recorder(run)
    with pytest.raises(NotPermitted, match="try 2"):
        task("running").recorder(run.model_copy(update={"try_number": 2}))
