from __future__ import annotations

from tests.support.local_catalog import catalog

__all__ = ["catalog"]
