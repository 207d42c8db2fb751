"""A Dag param that is an asset: the trigger form offers ids, and the run's value is checked."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param
from airflow.sdk.definitions._internal.types import NOTSET

__all__ = ["AssetParam"]


class _CheckedParam(Param):
    """A Param whose value must name assets of the catalogue when a run uses it."""

    asset_filter: dict[str, Any]

    def resolve(self, value: Any = NOTSET, suppress_exception: bool = False) -> Any:
        """Check the schema as every Param does; in a run also the catalogue, once a process and value."""
        found = super().resolve(value, suppress_exception)
        if found not in (None, [], "") and not suppress_exception:
            from airflow_assets.param_check import check_in_run

            check_in_run([found] if isinstance(found, str) else list(found), self.asset_filter)
        return found

    def __copy__(self) -> _CheckedParam:
        return _make(self.value, self.description, self.schema, self.asset_filter, self.source)

    def __deepcopy__(self, memo: dict[int, Any]) -> _CheckedParam:
        import copy

        return _make(
            copy.deepcopy(self.value, memo) if self.value is not NOTSET else NOTSET,
            self.description,
            copy.deepcopy(self.schema, memo),
            self.asset_filter,
            self.source,
        )


# Airflow serializes a param by the name of its class, and takes any other class for a plain default value.
# What the server needs of ours is exactly what it needs of a Param.
_CheckedParam.__name__ = _CheckedParam.__qualname__ = "Param"
_CheckedParam.__module__ = Param.__module__


def AssetParam(  # noqa: N802 - reads as the class it stands for
    default: Any = NOTSET,
    *,
    multiple: bool = False,
    type: str | None = None,  # noqa: A002 - the contract's name
    namespace: str | None = None,
    metadata: dict[str, Any] | None = None,
    description: str | None = None,
    title: str | None = None,
) -> Param:
    """Return a Dag param whose value is the id of an asset, or a list of ids with ``multiple``.

    The trigger form offers the matching ids, up to 1,000, and takes any text. The offered list is read
    when the Dag is parsed, at most every five minutes on a host, and sorted, so an unchanged catalogue
    makes no new Dag version. If the catalogue cannot be reached the form offers nothing and the Dag still
    parses. Each task of a run checks the value before its body runs: every id must be an asset that
    matches.

    :param default: an id (a list of ids with ``multiple``); a scheduled Dag needs one, or None.
    :param type: the assets' whole type; ``namespace`` and ``metadata`` (equal pairs) narrow further.
    :raises ParamValidationError: in the run, an id is not in the catalogue or does not match; names the ids.

    >>> @dag(params={"table": AssetParam(type="airflow_assets.types.Table", namespace="company.data")})
    """
    asset_filter = {"type": type, "namespace": namespace, "metadata": metadata}
    from airflow_assets.param_check import offered_ids

    offered = offered_ids(asset_filter)
    optional = default is None
    one: dict[str, Any] = {
        "type": ["string", "null"] if optional and not multiple else "string",
        "minLength": 1,
    }
    schema = (
        {"type": ["array", "null"] if optional else "array", "items": one, "uniqueItems": True}
        if multiple
        else one
    )
    if offered:
        schema["examples"] = offered
    if title:
        schema["title"] = title
    return _make(default, description, schema, asset_filter, None)


def _make(
    default: Any, description: str | None, schema: Any, asset_filter: dict[str, Any], source: Any
) -> _CheckedParam:
    param = _CheckedParam(default, description, source=source, schema=schema)
    param.asset_filter = asset_filter
    return param
