"""A thing outside the catalogue that is written under a lock, and counts for itself what locks allow."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_assets.schemas.leases import Lease


@dataclass
class FencedResource:
    """A file that remembers the highest number it has seen, and whose tenure it was.

    It takes a write of that number or a higher one, and refuses an older one: that is fencing. It notes a
    *violation* when the locks themselves have failed: two holders of one number, or a tenure that began
    before the one before it had ended or run out. Times are the database's, as the leases have them.
    """

    path: Path

    def create(self) -> FencedResource:
        """Begin with no writes."""
        self.path.write_text(json.dumps({"highest": 0, "holder": "", "until": "", "left": True}))
        return self

    def enter(self, lease: Lease, holder: str) -> bool:
        """Write for the first time in a tenure; tells whether the write was taken."""
        with self._content() as content:
            if lease.fencing_token < content["highest"]:
                content["refused"] = content.get("refused", 0) + 1
                return False
            begun = lease.acquired.isoformat(timespec="microseconds")
            if lease.fencing_token == content["highest"]:
                self._violation(content, f"number {lease.fencing_token} for {holder} and {content['holder']}")
            elif not content["left"] and begun < content["until"]:
                self._violation(
                    content, f"{holder} began {begun}, {content['holder']} had {content['until']}"
                )
            content |= {
                "highest": lease.fencing_token,
                "holder": holder,
                "until": lease.locked_until.isoformat(timespec="microseconds"),
                "left": False,
            }
            content["writes"] = content.get("writes", 0) + 1
            return True

    def leave(self, token: int, holder: str) -> bool:
        """Write for the last time in a tenure, before the lock is released."""
        with self._content() as content:
            if token < content["highest"]:
                content["refused"] = content.get("refused", 0) + 1
                return False
            if content["holder"] != holder:
                self._violation(content, f"number {token} for {holder} and {content['holder']}")
            content["left"] = True
            return True

    def read(self) -> dict[str, Any]:
        """What it has counted."""
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found

    @staticmethod
    def _violation(content: dict[str, Any], what: str) -> None:
        content["violations"] = [*content.get("violations", []), what]

    @contextmanager
    def _content(self) -> Iterator[dict[str, Any]]:
        with self.path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            content = json.loads(file.read())
            yield content
            file.seek(0)
            file.truncate()
            file.write(json.dumps(content))
            file.flush()
