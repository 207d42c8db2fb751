"""Scripts of users, run under limits: in a child process, or in a container.

``run`` starts :mod:`~airflow_assets.running.supervisor`, which runs what ``command`` says; ``output`` and
``variables`` read what it printed, ``condition`` decides. Nothing here imports Airflow.
"""
