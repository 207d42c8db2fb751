"""Facets of datasets and runs, from what the catalogue knows."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any

from openlineage.client import facet_v2 as f

from airflow_assets import __version__
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.lineage import TaskState

if TYPE_CHECKING:
    from openlineage.client.generated.base import DatasetFacet, JobFacet, RunFacet

    from airflow_assets.schemas.assets import Asset
    from airflow_assets.schemas.shipping import ShippedEvent

log = logging.getLogger(__name__)
PRODUCER = f"airflow-assets://airflow-provider-assets/{__version__}"
FAILURES = frozenset({TaskState.FAILED, TaskState.UP_FOR_RETRY})
_BY: dict[str, Any] = {"producer": PRODUCER}
_KEYS = {
    "schema": ("columns", "fields"),
    "ownership": ("owners", "owner"),
    "tags": ("tags",),
    "columnLineage": ("columnLineage", "column_lineage"),
    "lifecycleStateChange": ("lifecycleStateChange", "lifecycle"),
}
"""Where the metadata of types that are not mapped say what a facet holds; the first that is there counts."""


def dataset_facets(
    namespace: str, asset: Asset | None, mapped: dict[str, Any], *, written: bool
) -> dict[str, DatasetFacet]:
    """Return the facets of a dataset, whichever event names it; what does not fit a facet is left out.

    :param mapped: parts from the exporter's mappings; they go before what is found without one.
    """
    told = {**_found(asset), **mapped}
    made: dict[str, Any] = {
        "dataSource": f.datasource_dataset.DatasourceDatasetFacet(
            name=namespace, uri=_text(told.get("dataSource")), **_BY
        ),
        "schema": _schema(told.get("schema")),
        "ownership": _ownership(told.get("ownership")),
        "documentation": _documentation(told.get("documentation")),
        "tags": _tags(told.get("tags")),
        "columnLineage": _column_lineage(told.get("columnLineage")) if written else None,
        "lifecycleStateChange": _lifecycle(_told_lifecycle(told, asset)) if written else None,
    }
    return {name: facet for name, facet in made.items() if facet is not None}


def with_creation(
    facets: dict[str, DatasetFacet], asset: Asset | None, event: ShippedEvent
) -> dict[str, DatasetFacet]:
    """Return the facets of a written dataset, with CREATE where this very event made the asset."""
    if asset is None or asset.created != event.created or "lifecycleStateChange" in facets:
        return facets
    return {**facets, "lifecycleStateChange": _lifecycle("CREATE")}


def with_life(
    facets: dict[str, DatasetFacet],
    kind: EventKind,
    now: tuple[str, str],
    before: tuple[str, str] | None,
) -> dict[str, DatasetFacet]:
    """Return the facets of a changed dataset, with CREATE of a new one, RENAME of one with another name.

    :param now: namespace and name of the dataset. :param before: those it had, where it was renamed.
    """
    if kind is EventKind.CREATED:
        return {"lifecycleStateChange": _lifecycle("CREATE"), **facets}
    if before is None or before == now:
        return facets
    life = f.lifecycle_state_change_dataset
    previous = life.PreviousIdentifier(namespace=before[0], name=before[1])
    renamed = life.LifecycleStateChangeDatasetFacet(
        lifecycleStateChange=life.LifecycleStateChange.RENAME, previousIdentifier=previous, **_BY
    )
    return {**facets, "lifecycleStateChange": renamed}


def run_facets(event: ShippedEvent, parent: tuple[str, str, str], engine: str) -> dict[str, RunFacet]:
    """Return the facets of a try.

    :param parent: run id, namespace and name of the Dag's run. :param engine: Airflow's version.
    """
    run_id, namespace, name = parent
    made: dict[str, RunFacet] = {
        "parent": f.parent_run.ParentRunFacet(
            run=f.parent_run.Run(runId=run_id), job=f.parent_run.Job(namespace=namespace, name=name), **_BY
        ),
        "processing_engine": _engine(engine),
    }
    if event.state in FAILURES:
        made["errorMessage"] = f.error_message_run.ErrorMessageRunFacet(
            message="\n".join([_ended(event), *event.warnings]),
            programmingLanguage="PYTHON",
            **_BY,
        )
    return made


def _ended(event: ShippedEvent) -> str:
    if event.error is None:
        return f"The try ended in state {event.state.value}."
    return f"{event.error.type}: {event.error.message}"


def job_facets() -> dict[str, JobFacet]:
    """Return the facets of a task as a job."""
    return {"jobType": _job_type()}


@cache
def _engine(version: str) -> RunFacet:
    kind = f.processing_engine_run.ProcessingEngineRunFacet
    return kind(version=version, name="Airflow", openlineageAdapterVersion=__version__, **_BY)


@cache
def _job_type() -> JobFacet:
    kind = f.job_type_job.JobTypeJobFacet
    return kind(processingType="BATCH", integration="AIRFLOW", jobType="TASK", **_BY)


def _found(asset: Asset | None) -> dict[str, Any]:
    if asset is None:
        return {}
    metadata = asset.metadata
    told = {
        part: next((metadata[key] for key in keys if metadata.get(key) is not None), None)
        for part, keys in _KEYS.items()
    }
    return {**told, "documentation": asset.description, "dataSource": asset.uri}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _schema(value: Any) -> Any:
    """From a list of columns (objects with a name, or names), or from an object: name -> type."""
    if isinstance(value, dict):
        value = [{"name": name, "type": kind} for name, kind in value.items()]
    if not isinstance(value, list):
        return None
    columns = [{"name": column} if isinstance(column, str) else column for column in value]
    fields = [
        f.schema_dataset.SchemaDatasetFacetFields(
            name=column["name"],
            type=_text(column.get("type")),
            description=_text(column.get("description")),
            ordinal_position=place,
        )
        for place, column in enumerate(columns, 1)
        if isinstance(column, dict) and _text(column.get("name"))
    ]
    return f.schema_dataset.SchemaDatasetFacet(fields=fields, **_BY) if fields else None


def _ownership(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    owners = []
    for one in names:
        named = one if isinstance(one, dict) else {"name": one}
        if _text(named.get("name")):
            owners.append(f.ownership_dataset.Owner(name=named["name"], type=_text(named.get("type"))))
    return f.ownership_dataset.OwnershipDatasetFacet(owners=owners, **_BY) if owners else None


def _documentation(value: Any) -> Any:
    text = _text(value)
    if text is None:
        return None
    return f.documentation_dataset.DocumentationDatasetFacet(
        description=text, contentType="text/markdown", **_BY
    )


def _tags(value: Any) -> Any:
    """From a list of names, or from an object: name -> value."""
    pairs = value.items() if isinstance(value, dict) else ((one, "true") for one in _list(value))
    tags = [
        f.tags_dataset.TagsDatasetFacetFields(key=key, value=_plain(content), source="USER")
        for key, content in pairs
        if _text(key)
    ]
    return f.tags_dataset.TagsDatasetFacet(tags=tags, **_BY) if tags else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _column_lineage(value: Any) -> Any:
    """Pass the facet through as it was written, if OpenLineage would understand it."""
    fields = value.get("fields") if isinstance(value, dict) else None
    if not isinstance(fields, dict) or not all(map(_is_column_source, fields.values())):
        if value is not None:
            log.debug("columnLineage is left out: it has no fields with inputFields: %r", value)
        return None
    kind = f.column_lineage_dataset.ColumnLineageDatasetFacet
    return {**value, "_producer": PRODUCER, "_schemaURL": kind(fields={}, **_BY)._schemaURL}  # noqa: SLF001


def _is_column_source(value: Any) -> bool:
    inputs = value.get("inputFields") if isinstance(value, dict) else None
    return isinstance(inputs, list) and all(
        isinstance(one, dict) and all(_text(one.get(key)) for key in ("namespace", "name", "field"))
        for one in inputs
    )


def _told_lifecycle(told: dict[str, Any], asset: Asset | None) -> str | None:
    kind = told.get("lifecycleStateChange")
    if kind in f.lifecycle_state_change_dataset.LifecycleStateChange.__members__:
        return str(kind)
    return "DROP" if asset is not None and asset.deleted else None


def _lifecycle(kind: str | None) -> Any:
    if kind is None:
        return None
    return f.lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
        lifecycleStateChange=f.lifecycle_state_change_dataset.LifecycleStateChange[kind], **_BY
    )
