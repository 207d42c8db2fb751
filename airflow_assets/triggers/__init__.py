"""Schedules that start a Dag run for each event of the catalogue.

>>> from airflow_assets.triggers import EventTrigger, any_of
>>> orders = EventTrigger(asset_id="analytics.orders", events=["CREATED", "UPDATED"])
>>> with DAG("follow_orders", schedule=orders.as_schedule()): ...
"""

from __future__ import annotations

from airflow_assets.triggers.event import EventTrigger, any_of

__all__ = ["EventTrigger", "any_of"]
