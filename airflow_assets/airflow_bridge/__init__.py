"""The one place that touches Airflow's internals; runs only where Airflow's database may be used."""
