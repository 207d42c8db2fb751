"""The operator that reads assets."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.operators.base import CONNECTION_FIELDS, CatalogOperator, check_constants

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow.sdk import Context

    from airflow_assets.schemas.assets import Asset

FETCH_TYPES = ("STORE", "FETCH", "FETCH_ONE", "NONE")
MAX_PAGE = 1_000
"""That of the queries, whose import a Dag file need not pay for."""


class ListAssetsOperator(CatalogOperator):
    """Find assets. All given filters must hold; assets are ordered by id, deleted ones left out.

    :param namespace: the namespace exactly.
    :param types: whole types, compared exactly; any of them.
    :param metadata_query: conditions ``{"field": ..., "type": "EQUAL_TO", "value": ...}``, all of which must
        hold; the operators are in :class:`airflow_assets.schemas.metadata_query.Operator`.
    :param page: only this page, from 1; None goes through all pages.
    :param size: assets a page, 1 to 1,000.
    :param fetch_type: what the task returns, beside ``size``, the number of assets found:

        =============  ====================================================================
        ``STORE``      ``uri``: a file of JSON lines, one asset a line, below
                       ``[airflow_assets] storage_path``; read it with ``ObjectStoragePath``
        ``FETCH``      ``assets``: the list, in XCom
        ``FETCH_ONE``  ``asset``: the first; fails if there is none
        ``NONE``       nothing more
        =============  ====================================================================

    Each result is also an XCom of its own: ``list_tables.output["assets"]``.

    >>> ListAssetsOperator(
    ...     task_id="list_tables", types=["airflow_assets.types.Table"], fetch_type="FETCH",
    ...     metadata_query=[{"field": "owner", "type": "EQUAL_TO", "value": "{{ params.owner }}"}],
    ... )
    """

    template_fields: Sequence[str] = (
        "namespace", "types", "metadata_query", "page", "size", "fetch_type", *CONNECTION_FIELDS,
    )  # fmt: skip
    template_fields_renderers: ClassVar[dict[str, str]] = {"metadata_query": "json", "types": "json"}

    def __init__(
        self,
        *,
        namespace: str | None = None,
        types: list[str] | None = None,
        metadata_query: list[dict[str, Any]] | None = None,
        page: int | str | None = None,
        size: int | str = 100,
        fetch_type: str = "STORE",
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.namespace = namespace
        self.types = types
        self.metadata_query = metadata_query
        self.page = page
        self.size = size
        self.fetch_type = fetch_type
        from airflow_assets.schemas import rules

        check_constants(
            {
                rules.namespace: namespace,
                _types: types,
                _conditions: metadata_query,
                _page: page,
                _size: size,
                _fetch_type: fetch_type,
            }
        )

    def execute(self, context: Context) -> dict[str, Any]:
        """Find the assets and return them as ``fetch_type`` says."""
        fetch_type = _fetch_type(self.fetch_type)
        found = self._assets(first_only=fetch_type == "FETCH_ONE")
        if fetch_type == "STORE":
            from airflow_assets.operators.storage import store

            uri, size = store(found, context["ti"])
            self.log.info("Stored %d assets in %s.", size, uri)
            return {"uri": uri, "size": size}
        if fetch_type == "FETCH":
            assets = [asset.to_json() for asset in found]
            return {"assets": assets, "size": len(assets)}
        if fetch_type == "FETCH_ONE":
            return {"asset": self._first(found).to_json(), "size": 1}
        return {"size": sum(1 for _ in found)}

    def _assets(self, *, first_only: bool) -> Iterator[Asset]:
        from airflow_assets.schemas.queries import AssetQuery

        page = _page(self.page) if self.page not in (None, "") else None
        query = AssetQuery(
            namespace=self.namespace or None,
            types=_types(self.types) if self.types else None,
            metadata_query=_conditions(self.metadata_query) if self.metadata_query else [],
            limit=1 if first_only and page is None else _size(self.size),
        )
        found = self.client().iter_assets(query)
        # Counted here: a page of the server may hold fewer assets than were asked for and not be the last.
        return found if page is None else islice(found, (page - 1) * query.limit, page * query.limit)

    def _first(self, found: Iterator[Asset]) -> Asset:
        from airflow_assets.exceptions import AssetNotFound

        asset = next(found, None)
        if asset is None:
            raise AssetNotFound(
                f"No asset matches namespace={self.namespace!r}, types={self.types!r}, "
                f"metadata_query={self.metadata_query!r}, page={self.page!r}, and FETCH_ONE needs one.",
                hint="Widen the filter, or use FETCH, whose list may be empty.",
            )
        return asset


def _types(value: Any) -> list[str]:
    from airflow_assets.exceptions import InvalidQuery
    from airflow_assets.schemas import rules

    if not isinstance(value, (list, tuple)):
        raise InvalidQuery(f"types must be a list of types, not {value!r}.", field="types", value=repr(value))
    return [rules.asset_type(item) for item in value]


def _conditions(value: Any) -> list[Any]:
    from airflow_assets.exceptions import InvalidQuery
    from airflow_assets.schemas.metadata_query import MetadataCondition

    if not isinstance(value, (list, tuple)) or not all(isinstance(item, dict) for item in value):
        raise InvalidQuery(
            f"metadata_query must be a list of conditions, not {value!r}.",
            hint='Write [{"field": "owner", "type": "EQUAL_TO", "value": "data"}].',
            field="metadata_query",
        )
    return [_condition(item, MetadataCondition) for item in value]


def _condition(item: dict[str, Any], kind: Any) -> Any:
    from pydantic import ValidationError

    from airflow_assets.exceptions import InvalidQuery

    try:
        return kind.model_validate(item)
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidQuery(
            f"The condition {item!r} is wrong at {'.'.join(map(str, first['loc']))}: {first['msg']}.",
            hint="A condition has field, type and value.",
            field="metadata_query",
        ) from None


def _page(value: Any) -> int:
    return _number("page", value, None)


def _size(value: Any) -> int:
    return _number("size", value, MAX_PAGE)


def _number(field: str, value: Any, limit: int | None) -> int:
    """Accept a number and, as templates give it, the text of one."""
    from airflow_assets.exceptions import InvalidQuery

    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1 or (limit and number > limit):
        allowed = f"from 1 to {limit:,}" if limit else "from 1"
        raise InvalidQuery(
            f"{field} must be a whole number {allowed}, not {value!r}.", field=field, limit=limit
        )
    return number


def _fetch_type(value: Any) -> str:
    from airflow_assets.exceptions import InvalidQuery

    if value not in FETCH_TYPES:
        raise InvalidQuery(
            f"fetch_type must be one of {', '.join(FETCH_TYPES)}, not {value!r}.", field="fetch_type"
        )
    return str(value)
