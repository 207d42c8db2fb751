"""The catalogue itself, on any SQLAlchemy URL. Nothing here imports Airflow."""
