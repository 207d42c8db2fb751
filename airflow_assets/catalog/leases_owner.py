"""Who owns a lock: a Dag run, one task instance of it, or a person."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.actors import Source, SourceKind
from airflow_assets.schemas.lease import LeaseScope, OwnerType
from airflow_assets.schemas.rules import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlalchemy import Connection

    from airflow_assets.schemas.actors import Caller

Run = tuple[str, str]
"""A Dag run: dag_id and run_id."""
RUNS_ENDED = "airflow_assets_runs_ended"
"""Execution option of an engine: ``(connection, runs) -> those of them that have ended or are gone``.

Without it, outside of Airflow, a run never ends and only the ttl counts.
"""
_PERSONS = frozenset({SourceKind.API, SourceKind.UI})


@dataclass(frozen=True, slots=True)
class Owner:
    """Who acquires.

    :param key: 32 bytes that are the same for the same owner, and for nobody else.
    :param task_id: the task that asks, for a run too; with its map index and try. Null for a person.
    """

    key: bytes
    type: OwnerType
    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    map_index: int | None = None
    try_number: int | None = None
    clear_number: int | None = None
    user_name: str | None = None

    @classmethod
    def of(cls, caller: Caller, scope: LeaseScope) -> Owner:
        """Return as whom the caller acquires.

        :raises InvalidRequest: it is neither a task nor a person.
        """
        source = caller.source
        name = _person(source)
        if source.dag_id is not None and source.run_id is not None and source.task_id is not None:
            kind = OwnerType.TASK if scope is LeaseScope.TASK else OwnerType.EXECUTION
            return cls(
                key=_run_key(source) if kind is OwnerType.EXECUTION else _task_key(source),
                type=kind,
                dag_id=source.dag_id,
                run_id=source.run_id,
                task_id=source.task_id,
                map_index=-1 if source.map_index is None else source.map_index,
                try_number=source.try_number,
                clear_number=caller.clear_number,
            )
        if name is None:
            raise InvalidRequest(
                f"A caller of kind {source.kind.value!r} cannot hold a lock.",
                hint="Acquire it in a task, or as a user.",
            )
        return cls(key=_key(OwnerType.USER, name), type=OwnerType.USER, user_name=name)

    def columns(self) -> dict[str, Any]:
        """Return the values of the owner's columns of the table ``lease``."""
        return {
            "owner_key": self.key,
            "owner_type": self.type.value,
            "dag_id": self.dag_id,
            "run_id": self.run_id,
            "task_id": self.task_id,
            "map_index": self.map_index,
            "try_number": self.try_number,
            "clear_number": self.clear_number,
            "user_name": self.user_name,
        }


def keys_of(source: Source) -> frozenset[bytes]:
    """Return the keys of all owners as whom a write of this source counts.

    A task writes as its run, as itself, and as the user as whom it has logged in (``task_auth = user``).
    """
    if source.dag_id is not None and source.run_id is not None:
        keys = {_run_key(source)}
        if source.task_id is not None:
            keys.add(_task_key(source))
        if source.user is not None and source.kind is SourceKind.TASK:
            keys.add(_key(OwnerType.USER, source.user))
        return frozenset(keys)
    name = _person(source)
    return frozenset() if name is None else frozenset({_key(OwnerType.USER, name)})


def described(owner_type: str, row: Any) -> str:
    """Return an owner in words; ``row`` has the columns of the table ``lease``."""
    if owner_type == OwnerType.USER.value:
        return str(row.user_name)
    if owner_type == OwnerType.EXECUTION.value:
        return f"{row.dag_id} / {row.run_id}"
    mapped = f"[{row.map_index}]" if row.map_index is not None and row.map_index >= 0 else ""
    return f"{row.dag_id}.{row.task_id}{mapped} / {row.run_id}"


def ended_runs(conn: Connection, runs: Collection[Run]) -> set[Run]:
    """Return those of the runs that have ended or are gone, as far as anybody here can tell."""
    ask: Callable[[Connection, Collection[Run]], set[Run]] | None
    ask = conn.get_execution_options().get(RUNS_ENDED)
    return ask(conn, runs) if ask is not None and runs else set()


def _person(source: Source) -> str | None:
    """The name of a person; one at the server's command line is not the API's user of the same name."""
    if source.user is None:
        return None
    if source.kind in _PERSONS:
        return source.user
    return f"cli:{source.user}" if source.kind is SourceKind.CLI else None


def _run_key(source: Source) -> bytes:
    return _key(OwnerType.EXECUTION, source.dag_id, source.run_id)


def _task_key(source: Source) -> bytes:
    index = -1 if source.map_index is None else source.map_index
    return _key(OwnerType.TASK, source.dag_id, source.run_id, source.task_id, index)


def _key(kind: OwnerType, *parts: Any) -> bytes:
    return hashlib.sha256(json_text([kind.value, *parts]).encode()).digest()
