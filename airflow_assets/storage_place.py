"""Where results go that belong neither into XCom nor into the catalogue."""

from __future__ import annotations

import logging

from airflow_assets import config

log = logging.getLogger(__name__)


def storage_base(kind: str) -> str:
    """Return ``[airflow_assets] storage_path``, else the URI of a folder ``kind`` of this host's own."""
    configured = config.storage_path()
    if configured:
        return configured
    import os
    from pathlib import Path

    from airflow.configuration import AIRFLOW_HOME

    folder = Path(os.fspath(AIRFLOW_HOME)) / "airflow_assets" / kind
    log.info(
        "[airflow_assets] storage_path is not set: storing below %s, which only this host can read.", folder
    )
    return folder.as_uri()
