"""The gauges of the catalogue in the OpenMetrics text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from airflow_assets.airflow_bridge.vitals import Vitals
from airflow_assets.catalog.gauges import Inventory
from airflow_assets.schemas.queries import FacetResult

MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
MAX_TYPES = 100


def render(
    types: FacetResult, vitals: Vitals, counts: Inventory, *, waiting: int = 0, look_ups: int = 0
) -> str:
    """Return the exposition: families in a fixed order, closed by ``# EOF``.

    :param waiting: requests that wait in this process.
    :param look_ups: those made for such requests since the process began.

    >>> print(render(types, vitals, counts))
    # TYPE airflow_assets_assets gauge
    # HELP airflow_assets_assets Assets by type, without deleted ones.
    airflow_assets_assets{type="airflow_assets.types.Table"} 12
    ...
    # EOF
    """
    lines = [
        *_family("assets", "gauge", "Assets by type, without deleted ones.", "type", _by_type(types)),
        *_family("stale_assets", "gauge", "Assets that are stale by their own expectation.", None,
                 [("", counts.stale)]),
        *_family("locks_held", "gauge", "Locks that are held.", None, [("", counts.locked)]),
        *_family("events_last_minute", "gauge", "Events of the last minute.", None, [("", counts.events)]),
        *_family("log_entries", "counter", "Entries the log ever had: events and lineage rows.", None,
                 [("", vitals.log_position)]),
        *_family("dispatcher_lag_seconds", "gauge", "Age of the oldest event not yet dispatched.", None,
                 [("", vitals.oldest_unread)]),
        *_family("dispatcher_unread_entries", "gauge", "Log entries not yet looked at for a Dag.", "dag_id",
                 vitals.unread.items()),
        *_family("pending_runs", "gauge", "Queued runs of a Dag that events made.", "dag_id",
                 vitals.pending.items()),
        *_shippers(vitals),
        *_family("job_running", "gauge", "Whether a process holds the lease of a background job.", "job",
                 ((job.name, int(job.alive)) for job in vitals.jobs)),
        *_family("waiting_requests", "gauge", "Requests that wait in this process.", None, [("", waiting)]),
        *_family("wait_look_ups", "counter", "Look-ups that this process made for waiting requests.", None,
                 [("", look_ups)]),
        "# EOF",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _shippers(vitals: Vitals) -> Iterator[str]:
    every = vitals.shippers
    yield from _family(
        "shipper_unread_entries",
        "gauge",
        "Log entries that an exporter of a shipper has not confirmed.",
        "exporter",
        ((one.name, one.backlog) for one in every),
    )
    yield from _family(
        "shipper_confirmed_timestamp_seconds",
        "gauge",
        "When an exporter of a shipper last confirmed.",
        "exporter",
        ((one.name, one.confirmed.timestamp()) for one in every if one.confirmed),
    )
    yield from _family(
        "shipper_failed",
        "gauge",
        "Whether the last run of an exporter of a shipper failed.",
        "exporter",
        ((one.name, int(one.failed)) for one in every),
    )


def _by_type(types: FacetResult) -> Iterator[tuple[str, int]]:
    facet = types.facets[0]
    for value in facet.values:
        yield str(value.value), value.count
    if facet.other:
        yield "(other)", facet.other


def _family(
    name: str, kind: str, text: str, label: str | None, samples: Iterable[tuple[str, float]]
) -> Iterator[str]:
    name = f"airflow_assets_{name}"
    yield f"# TYPE {name} {kind}"
    yield f"# HELP {name} {text}"
    sample_name = f"{name}_total" if kind == "counter" else name
    for value, number in samples:
        labels = f'{{{label}="{_escaped(value)}"}}' if label else ""
        yield f"{sample_name}{labels} {number:.3f}".removesuffix(".000")


_ESCAPES: Mapping[int, str] = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}


def _escaped(value: str) -> str:
    return value.translate(_ESCAPES)
