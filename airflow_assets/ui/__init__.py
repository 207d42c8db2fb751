"""The page in Airflow's UI: where its built bundle lies, and the application that serves it.

The sources are in ``ui/``; a build puts the bundle into ``airflow_assets/ui_dist/``, which wheels carry.
"""
