"""Compiling a graph to Airflow Dags, and running its steps in their tasks.

What is imported here knows no Airflow; the modules that do are imported when Dags are made.
"""
