"""Airflow policies of this provider."""

from __future__ import annotations
