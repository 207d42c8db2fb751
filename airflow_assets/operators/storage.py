"""Where ListAssetsOperator keeps a result that does not belong into XCom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_assets.json_lines import json_line
from airflow_assets.storage_place import storage_base

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.schemas.base import Schema


def store(items: Iterator[Schema], task_instance: Any) -> tuple[str, int]:
    """Write items as JSON lines; return the file's URI and the number of lines.

    The file's name says Dag, run, task, map index and try: no two tries write the same file.

    :raises OSError: the place cannot be written; its message names it.
    """
    from airflow.sdk import ObjectStoragePath

    ti = task_instance
    parts = (ti.dag_id, ti.run_id, ti.task_id, str(-1 if ti.map_index is None else ti.map_index))
    folder = ObjectStoragePath(storage_base("results")).joinpath(*(quote(part, safe="") for part in parts))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{ti.try_number}.jsonl"
    size = 0
    with path.open("w", encoding="utf-8") as file:  # type: ignore[no-untyped-call]
        for item in items:
            file.write(json_line(item))
            size += 1
    return str(path), size
