"""The catalogue's HTTP API. Importing this package costs nothing; :mod:`airflow_assets.api.app` builds the app."""
