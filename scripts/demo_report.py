"""The tables that the demo prints at its end: read from the catalogue's API, like any other client would."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable


SHOWN = 10
_SIDES = ("inputs", "outputs")


def print_report(get: Callable[..., Any], runs: dict[str, list[dict[str, Any]]]) -> None:
    """Print assets, events, runs started by events and lineage.

    :param get: ``get(path, **query)`` asks the catalogue's API. :param runs: Airflow's runs of each Dag.
    """
    console = Console(width=110)
    assets = get("/assets", limit=1000)["items"]
    named = [asset for asset in assets if asset["namespace"] != "demo.burst"]
    table = Table(
        "id", "type", "namespace", "owner", "rows", title=f"{len(assets)} assets", title_justify="left"
    )
    for asset in named:
        facts = asset["metadata"]
        kind = asset["type"].rpartition(".")[2]
        table.add_row(
            asset["id"], kind, asset["namespace"] or "", facts.get("owner", ""), str(facts.get("rows", ""))
        )
    table.add_row(f"... and {len(assets) - len(named)} in demo.burst")
    console.print(table)
    console.print(_events(get))
    console.print(_runs(runs))
    console.print(_lineage(get))


def print_shipped(files: list[str], lines: list[dict[str, Any]], received: list[dict[str, Any]]) -> None:
    """Print what a shipper has written to files, and what an OpenLineage server has received of it.

    :param lines: the lines of the files. :param received: events of OpenLineage, as they came.
    """
    console = Console(width=110)
    table = Table(
        "task", "state", "read", "wrote", title=f"shipped to {', '.join(files)}", title_justify="left"
    )
    for line in lines[-SHOWN:]:
        task = f"{line['task']['dagId']}.{line['task']['taskId']}"
        table.add_row(task, line["state"], *(", ".join(one["name"] for one in line[side]) for side in _SIDES))
    console.print(table)
    runs = [event for event in received if "run" in event]
    title = f"OpenLineage received {len(runs)} events of runs, {len(received) - len(runs)} of datasets"
    table = Table("event", "job", "run", "inputs", "outputs", title=title, title_justify="left")
    for event in runs[-SHOWN:]:
        sides = (", ".join(_dataset(one) for one in event.get(side, [])) for side in _SIDES)
        table.add_row(event["eventType"], event["job"]["name"], event["run"]["runId"][:8], *sides)
    console.print(table)


def _dataset(dataset: dict[str, Any]) -> str:
    return f"{dataset['namespace']} {dataset['name']}"


def _events(get: Callable[..., Any]) -> Table:
    counted: Counter[tuple[str, str]] = Counter()
    cursor: str | None = None
    while True:
        page = get("/events", limit=1000, **({"cursor": cursor} if cursor else {}))
        counted.update((event["asset"]["namespace"] or "", event["event"]) for event in page["items"])
        cursor = page["nextCursor"]
        if cursor is None:
            break
    table = Table("namespace", "event", "count", title=f"{counted.total()} events", title_justify="left")
    for (namespace, event), count in sorted(counted.items()):
        table.add_row(namespace, event, str(count))
    return table


def _runs(runs: dict[str, list[dict[str, Any]]]) -> Table:
    table = Table("Dag", "by events", "succeeded", "by hand", title="runs", title_justify="left")
    for dag_id, found in sorted(runs.items()):
        started = [run for run in found if run["dag_run_id"].startswith("asset_event__")]
        well = sum(run["state"] == "success" for run in started)
        table.add_row(dag_id, str(len(started)), str(well), str(len(found) - len(started)))
    return table


def _lineage(get: Callable[..., Any]) -> Table:
    table = Table("task", "run", "state", "read", "wrote", title="lineage", title_justify="left")
    for entry in get("/lineage", limit=20)["items"]:
        task = entry["task"]
        reads, writes = (", ".join(ref["id"] for ref in entry[side]) for side in ("inputs", "outputs"))
        table.add_row(f"{task['dagId']}.{task['taskId']}", task["runId"][:28], entry["state"], reads, writes)
    return table
