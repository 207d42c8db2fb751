"""What Airflow itself is told of what a step made: events for consumers that know no catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_assets.schemas.declared import native_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow_assets.authoring.engine.events import StepEvent


def keep_materialized(
    operator: Any, context: Mapping[str, Any], made: Mapping[str, Sequence[StepEvent]]
) -> None:
    """Leave as outlets of a running operator what was materialized, with its partitions.

    Airflow makes an event for every outlet of a task that succeeds, also of those that were only observed or
    not selected.

    :param made: the materializations of the try, by node.
    """
    by_name = {native_name(name): events for name, events in made.items()}
    kept = []
    for outlet in operator.outlets:
        events = by_name.get(getattr(outlet, "name", ""))
        if not events:
            continue
        kept.append(outlet)
        said = context["outlet_events"][outlet]
        said.extra = {"data_version": events[-1].data_version}
        keys = [str(event.partition_key) for event in events if event.partition_key is not None]
        if keys and hasattr(said, "add_partitions"):
            said.add_partitions(keys)
    operator.outlets = kept
