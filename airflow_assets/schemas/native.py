"""What Airflow itself knows about assets of some names."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from airflow_assets.schemas.base import Schema


class NativeNames(Schema):
    """Names of Airflow's assets, 1 to 1,000 of them."""

    names: Annotated[list[str], Field(min_length=1, max_length=1000)]


class NativeUri(Schema):
    """One URI under which Dags use a name.

    :param active: Airflow runs tasks that use this URI; it activates one a name.
    :param dag_ids: the Dags that use it, sorted. :param files: where they are defined. Both are told only to
        Dag files and to commands on the server: other callers may not read those Dags.
    """

    name: str
    uri: str
    active: bool
    dag_ids: list[str]
    files: list[str]


class NativeUris(Schema):
    """The newest first, by name."""

    items: list[NativeUri]
