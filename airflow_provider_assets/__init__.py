"""Airflow looks for a provider's example Dags in the module of its distribution's name. There are none here.

Without this module every Airflow with ``[core] load_examples`` on would log an error. The provider itself is
:mod:`airflow_assets`.
"""
