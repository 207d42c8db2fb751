"""Running a plan in this process and processes of its own: no Airflow takes part."""
