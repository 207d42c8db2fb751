"""Notes of task instances in Airflow's UI."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from sqlalchemy import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

MAX_NOTE = 1_000
"""Airflow's limit, in characters."""


def append_note(session: Session, ti_id: str, lines: Sequence[str]) -> None:
    """Append lines to the note of a task instance, each once; what does not fit is cut, what is there stays.

    Does nothing for a task instance that Airflow does not have (any more).
    """
    from airflow.models.taskinstance import TaskInstance, TaskInstanceNote

    key = uuid.UUID(ti_id)
    if session.scalar(select(TaskInstance.id).where(TaskInstance.id == key)) is None:
        return
    note = session.get(TaskInstanceNote, key, with_for_update=True)
    before = (note.content or "") if note is not None else ""
    after = before
    for line in lines:
        if line not in after:
            after = f"{after}\n{line}" if after else line
    after = after if len(after) <= MAX_NOTE else max(before, after[: MAX_NOTE - 1] + "…", key=len)
    if after == before:
        return
    if note is None:
        note = TaskInstanceNote(content=after)  # type: ignore[no-untyped-call]
        note.ti_id = key
        session.add(note)
    else:
        note.content = after
