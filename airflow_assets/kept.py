"""A small JSON value kept for this host and user: every parse of a Dag file is a new process."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


class Kept:
    """A file under the temporary folder that belongs to this user and this ``AIRFLOW_HOME``.

    :param key: any JSON value; another key is another file.
    """

    def __init__(self, key: Any) -> None:
        from airflow.configuration import AIRFLOW_HOME

        text = json.dumps([key, str(AIRFLOW_HOME)], sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        self._path = Path(tempfile.gettempdir()) / f"airflow_assets-{os.getuid()}" / f"{name}.json"

    def get(self, newer_than: float = float("inf")) -> Any:
        """Return the value if it was kept less than ``newer_than`` seconds ago; None if not."""
        try:
            if time.time() - self._path.stat().st_mtime > newer_than or self._is_foreign():
                return None
            return json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def keep(self, value: Any) -> None:
        """Keep a JSON value; where that is not possible, it is not kept, and a warning says so."""
        try:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            if self._is_foreign():
                raise PermissionError(f"{self._path.parent} belongs to somebody else")
            with tempfile.NamedTemporaryFile(
                "w", dir=self._path.parent, delete=False, encoding="utf-8"
            ) as file:
                json.dump(value, file)
            Path(file.name).replace(self._path)
        except OSError as error:
            log.warning("What the catalogue said cannot be kept, and is asked with each parse: %s", error)

    def _is_foreign(self) -> bool:
        return self._path.parent.stat().st_uid != os.getuid()
