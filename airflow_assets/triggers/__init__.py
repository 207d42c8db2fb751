"""Schedules that start Dag runs from what happens in the catalogue, or from what a poll finds.

>>> from airflow_assets.triggers import EventTrigger, FreshnessTrigger, any_of
>>> orders = EventTrigger(asset_id="analytics.orders", events=["CREATED", "UPDATED"])
>>> with DAG("follow_orders", schedule=orders.as_schedule()): ...
"""

from __future__ import annotations

from airflow_assets.triggers.combine import any_of
from airflow_assets.triggers.event import EventTrigger
from airflow_assets.triggers.freshness import FreshnessTrigger
from airflow_assets.triggers.script import ScriptTrigger

__all__ = ["EventTrigger", "FreshnessTrigger", "ScriptTrigger", "any_of"]
