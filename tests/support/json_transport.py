"""A transport that does what HTTP does to arguments, answers and errors, without a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from airflow_assets.exceptions import AssetCatalogError, from_problem
from airflow_assets.schemas.actors import Caller, Source, SourceKind

if TYPE_CHECKING:
    from airflow_assets.catalog.service import CatalogService
    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.operations import Operation


class JsonTransport:
    """Everything passes through JSON text, in both directions."""

    def __init__(self, service: CatalogService, hidden_namespaces: tuple[str, ...] = ()) -> None:
        self._service = service
        source = Source(kind=SourceKind.API, user="somebody")
        self._caller = Caller(source=source, hidden_namespaces=hidden_namespaces)

    def call(self, operation: Operation, path_id: str | None, payload: Schema | None) -> Any:
        model = operation.body or operation.query
        arguments: list[Any] = [path_id] if path_id is not None else []
        if model is not None and payload is not None:
            arguments.append(model.model_validate(json.loads(json.dumps(payload.to_json()))))
        try:
            answer = getattr(self._service, operation.name)(self._caller, *arguments)
        except AssetCatalogError as error:
            raise from_problem(json.loads(json.dumps(error.to_problem()))) from None
        if operation.response is None:
            return None
        return TypeAdapter(operation.response).validate_python(json.loads(json.dumps(answer.to_json())))
