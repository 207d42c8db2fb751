"""Files that appear whole or not at all, on whatever ``ObjectStoragePath`` opens."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from airflow_assets import config
from airflow_assets.storage_place import storage_base

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import ObjectStoragePath

_WHOLE_BY_NATURE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "wasb", "wasbs", "oss"})
"""Object stores: what is put there is seen when all of it has arrived, and renaming would copy it."""


def default_folder() -> str:
    """Return the folder ``lineage`` below ``[airflow_assets] storage_path``, or one of this host's own."""
    configured = config.storage_path()
    return f"{configured.rstrip('/')}/lineage" if configured else storage_base("lineage")


def put_whole(local: Path, target: ObjectStoragePath) -> None:
    """Make ``target`` hold what ``local`` holds, in the place of what it held before.

    :raises OSError: the place cannot be written; nothing is left there.
    """
    with local.open("rb") as file:
        os.fsync(file.fileno())
    target.parent.mkdir(parents=True, exist_ok=True)
    fs = target.fs
    if target.protocol in _WHOLE_BY_NATURE:
        fs.put_file(str(local), target.path)
        return
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        fs.put_file(str(local), part.path)
        fs.mv(part.path, target.path)
    except BaseException:
        with suppress(OSError):
            fs.rm_file(part.path)
        raise
