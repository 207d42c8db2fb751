"""The catalogue's HTTP API. This package is cheap to import; ``airflow_assets.api.app`` builds the app."""
