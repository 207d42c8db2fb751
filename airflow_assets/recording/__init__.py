"""What tasks read and wrote: declared in inlets and outlets, emitted while running, recorded once a try."""

from __future__ import annotations

from airflow_assets.recording.emitting import emit
from airflow_assets.recording.settings import configure

__all__ = ["configure", "emit"]
