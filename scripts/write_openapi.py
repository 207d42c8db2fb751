"""Write docs/openapi.yaml and what is made from it: ``python -m scripts.write_openapi``. Tests see drift."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from scripts import write_ui_client

TARGET = Path(__file__).parents[1] / "docs" / "openapi.yaml"


def text() -> str:
    """Return the document as YAML."""
    from airflow_assets.api.openapi import document

    plain = json.loads(json.dumps(document()))  # shared parts would become YAML anchors
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    write_ui_client.TARGET.write_text(write_ui_client.text(), encoding="utf-8")
