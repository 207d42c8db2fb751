"""Seattle's weather, 2012 to 2015: one Dag loads it into DuckDB, another one follows every load.

``demo_load_weather`` writes the table ``weather.daily`` and says so in its outlets. The catalogue stores the
table with its metadata and appends an event; ``demo_weather_report`` is scheduled on exactly these events and
gets one run for each, with the table as it was then in ``trigger_asset``.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone

from airflow.sdk import DAG, task

from airflow_assets.triggers import EventTrigger
from airflow_assets.types import Dataset, Table

DATABASE = os.environ.get("AIRFLOW_ASSETS_DEMO_DUCKDB", "demo.duckdb")
START = datetime(2026, 1, 1, tzinfo=timezone.utc)

weather_csv = Dataset(
    "vega.seattle-weather", namespace="demo.weather", system="package", location="vega_datasets", format="csv"
)
weather = Table(
    "weather.daily",
    namespace="demo.weather",
    system="duckdb",
    schema="main",
    description="Daily weather of Seattle, 2012 to 2015.",
    metadata={"owner": "data-team", "environment": "demo", "rows": "{{ result }}"},
)
monthly = Table(
    "weather.monthly",
    namespace="demo.weather",
    system="duckdb",
    schema="main",
    metadata={"owner": "data-team", "environment": "demo", "months": "{{ result }}"},
)

with DAG("demo_load_weather", start_date=START, schedule=None, catchup=False, tags=["airflow_assets"]):

    @task(inlets=[weather_csv], outlets=[weather])
    def load() -> int:
        import duckdb
        from vega_datasets import local_data

        with duckdb.connect(DATABASE) as db:
            db.execute(
                "CREATE OR REPLACE TABLE daily AS SELECT * FROM read_csv_auto(?)",
                [local_data.seattle_weather.filepath],
            )
            return db.execute("SELECT count(*) FROM daily").fetchone()[0]

    load()

on_load = EventTrigger(asset_id="weather.daily", events=["CREATED", "UPDATED"])

with DAG(
    "demo_weather_report",
    start_date=START,
    schedule=on_load.as_schedule(),
    catchup=False,
    max_active_runs=1,
    tags=["airflow_assets"],
):

    @task(inlets=[weather], outlets=[monthly])
    def report() -> int:
        import duckdb

        from airflow_assets import trigger_asset

        print(f"{trigger_asset.id} has {trigger_asset.metadata['rows']} rows: {trigger_asset.event}")
        with duckdb.connect(DATABASE) as db:
            db.execute(
                "CREATE OR REPLACE TABLE monthly AS "
                "SELECT date_trunc('month', date) AS month, sum(precipitation) AS rain, "
                "max(temp_max) AS hottest FROM daily GROUP BY 1 ORDER BY 1"
            )
            return db.execute("SELECT count(*) FROM monthly").fetchone()[0]

    report()
