"""What templates and tasks ask of the catalogue: ``assets(...)``, and what started the run.

``trigger_asset`` (an event), ``trigger_assets`` (stale assets) and ``trigger`` (a script). All are in every
template of every Dag (``airflow_assets.policy`` adds them), as ``macros.airflow_assets.…``, and importable::

    {{ assets(type="airflow_assets.types.Table") | map(attribute="id") | join(", ") }}
    {{ trigger_asset.id }} was {{ trigger_asset.event }}

    from airflow_assets import assets, trigger_asset
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["MAX_ASSETS", "Macros", "add_to", "assets", "trigger", "trigger_asset", "trigger_assets"]

MAX_ASSETS = 1_000
_FIELDS = (
    "id", "namespace", "type", "displayName", "description", "metadata", "tenantId", "created", "updated",
    "deleted",
)  # fmt: skip


def assets(
    id: str | None = None,  # noqa: A002 - the contract's name
    type: str | None = None,  # noqa: A002
    namespace: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the assets that match every given argument, ordered by id; never deleted ones.

    :param type: the whole type, compared exactly, such as ``airflow_assets.types.Table``.
    :param namespace: the namespace exactly. The site's ``[airflow_assets] namespaces`` may forbid to name
        one.
    :param metadata: pairs of top-level key and value that must all be equal, with their JSON types.
    :returns: dicts with ``id``, ``namespace``, ``type``, ``displayName``, ``description``, ``metadata``,
        ``tenantId``, ``created``, ``updated`` (ISO 8601, UTC) and ``deleted``.
    :raises InvalidQuery: more than 1,000 assets match, or an argument breaks a rule.
    :raises NamespaceNotAllowed: the namespace may not be named.

    >>> assets(id="reports.weekly_csv")[0]["metadata"]["path"]
    """
    from airflow_assets.client import get_client
    from airflow_assets.exceptions import InvalidQuery
    from airflow_assets.schemas.queries import AssetQuery

    query = AssetQuery(**_given(id, type, namespace, metadata), limit=MAX_ASSETS)
    page = get_client().query_assets(query)
    if page.next_cursor is not None:
        raise InvalidQuery(
            f"assets() found more than {MAX_ASSETS:,} assets.",
            hint="Narrow it by type, namespace or metadata, or use ListAssetsOperator, which has no limit.",
            limit=MAX_ASSETS,
        )
    return [_item(asset.to_json()) for asset in page.items]


def _given(
    id: str | None,  # noqa: A002
    type: str | None,  # noqa: A002
    namespace: str | None,
    metadata: dict[str, Any] | None,
) -> dict[str, Any]:
    given: Any = metadata  # templates are not type-checked
    if given is not None and not isinstance(given, dict):
        from airflow_assets.exceptions import InvalidQuery

        raise InvalidQuery(
            f"assets(metadata=...) takes a map, not {metadata!r}.",
            hint="Write metadata={'environment': 'prod'}.",
            field="metadata",
        )
    conditions = [
        {"field": key, "type": "EQUAL_TO", "value": value} for key, value in (metadata or {}).items()
    ]
    return {
        "ids": None if id is None else [id],
        "types": None if type is None else [type],
        "namespace": namespace,
        "metadata_query": conditions,
    }


def _item(asset: dict[str, Any]) -> dict[str, Any]:
    return {name: asset[name] for name in _FIELDS}


_STARTED_BY = {
    "trigger_asset": "an asset event",
    "trigger_assets": "a freshness trigger",
    "trigger": "a script trigger",
}


class _Anywhere:
    """``trigger_asset`` where it was taken before a task ran: looks at the running task when it is used.

    Its truth says whether the run was started by an event. It cannot be ``None`` itself: in Python, import
    ``trigger_asset`` inside the task to get ``None`` without an event. The same for the two other names.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def _found(self) -> Any | None:
        from airflow_assets.event_context import current

        return current(self.__name__)

    def _needed(self) -> Any:
        found = self._found()
        if found is None:
            from airflow_assets.exceptions import NotFound

            name = self.__name__
            raise NotFound(
                f"This run was not started by {_STARTED_BY[name]}, so there is no {name}.",
                hint=f"Ask first: {{% if {name} %}} in a template, `if {name}:` in Python.",
            )
        return found

    def __bool__(self) -> bool:
        return self._found() is not None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._needed(), name)

    def __getitem__(self, name: Any) -> Any:
        return self._needed()[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._needed())

    def __len__(self) -> int:
        return len(self._found() or ())

    def __contains__(self, name: object) -> bool:
        return name in (self._found() or ())

    def __eq__(self, other: object) -> bool:
        return self is other or self._found() == other

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return str(self._found())

    def __repr__(self) -> str:
        return f"<airflow_assets.{self.__name__}>"


trigger_asset = _Anywhere("trigger_asset")
trigger_assets = _Anywhere("trigger_assets")
trigger = _Anywhere("trigger")


class Macros(dict[str, Any]):
    """A Dag's ``user_defined_macros`` in which ``trigger_asset`` and its kin are the run's or ``None``.

    Airflow copies the macros into a new Jinja environment for each task, while the task's context is set. A
    look-up then gives what this run has; at any other time it gives the object that finds out later.
    """

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if not isinstance(found, _Anywhere):
            return found
        from airflow_assets.event_context import in_task_or

        return in_task_or(found, found.__name__)

    # Overridden so that dict.update() and dict() ask __getitem__ instead of copying what is stored.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def copy(self) -> Macros:
        """Return a copy that answers as this one."""
        return Macros(self._stored())

    def __copy__(self) -> Macros:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Macros:
        import copy

        stored = self._stored()
        own = {
            name: value for name, value in stored.items() if isinstance(value, _Anywhere) or value is assets
        }
        rest = copy.deepcopy({name: value for name, value in stored.items() if name not in own}, memo)
        return Macros({**own, **rest})

    def _stored(self) -> dict[str, Any]:
        return {name: super(Macros, self).__getitem__(name) for name in super().__iter__()}


def add_to(dag: Any) -> None:
    """Give a Dag the names; what the Dag defines itself under these names stays."""
    defined = dag.user_defined_macros or {}
    ours = {found.__name__: found for found in (trigger_asset, trigger_assets, trigger)}
    dag.user_defined_macros = Macros({"assets": assets, **ours, **defined})
