"""What a step asks of Kubernetes, as Airflow's ``executor_config``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.authoring.retries import Compute


def executor_config(compute: Compute | None) -> dict[str, Any] | None:
    """Return the pod of a step; null where it asks for nothing.

    The Kubernetes executor takes it, others ignore it. Requests are limits. Without the ``kubernetes``
    package no executor could honour it, which a warning says.
    """
    if compute is None:
        return None
    asked = {"cpu": compute.cpu, "memory": compute.memory, "nvidia.com/gpu": compute.gpu}
    quantities = {name: value for name, value in asked.items() if value is not None}
    if not quantities:
        return None
    try:
        from kubernetes.client import models  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        warnings.warn(f"The kubernetes package is missing: {compute} is ignored", UserWarning, stacklevel=2)
        return None
    resources = models.V1ResourceRequirements(requests=quantities, limits=dict(quantities))
    container = models.V1Container(name="base", resources=resources)
    return {"pod_override": models.V1Pod(spec=models.V1PodSpec(containers=[container]))}
