"""Where ListAssetsOperator keeps a result that does not belong into XCom."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_assets import config
from airflow_assets.json_lines import json_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.schemas.base import Schema

log = logging.getLogger(__name__)


def store(items: Iterator[Schema], task_instance: Any) -> tuple[str, int]:
    """Write items as JSON lines; return the file's URI and the number of lines.

    The file's name says Dag, run, task, map index and try: no two tries write the same file.

    :raises OSError: the place cannot be written; its message names it.
    """
    from airflow.sdk import ObjectStoragePath

    ti = task_instance
    parts = (ti.dag_id, ti.run_id, ti.task_id, str(-1 if ti.map_index is None else ti.map_index))
    folder = ObjectStoragePath(_base()).joinpath(*(quote(part, safe="") for part in parts))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{ti.try_number}.jsonl"
    size = 0
    with path.open("w", encoding="utf-8") as file:  # type: ignore[no-untyped-call]
        for item in items:
            file.write(json_line(item))
            size += 1
    return str(path), size


def _base() -> str:
    configured = config.storage_path()
    if configured:
        return configured
    import os
    from pathlib import Path

    from airflow.configuration import AIRFLOW_HOME

    folder = Path(os.fspath(AIRFLOW_HOME)) / "airflow_assets" / "results"
    log.info(
        "[airflow_assets] storage_path is not set: storing below %s, which only this host can read.", folder
    )
    return folder.as_uri()
