"""Assets written as classes: configuration as attributes, the body as a class method.

Nothing happens when such a class is made. :func:`desugar` makes the same asset of it that a decorator would,
when a repository takes it in.
"""

from __future__ import annotations

import inspect
import re
from copy import copy
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.actions import ActionMethod, AssetAction
from airflow_assets.authoring.assets import Asset, ExternalAsset, GraphAsset, MultiAsset, SingleAsset
from airflow_assets.authoring.deps import AssetDef
from airflow_assets.authoring.described import Described
from airflow_assets.authoring.errors import AssetDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

_VERBS = {Asset: "materialize", MultiAsset: "materialize", GraphAsset: "compose", ExternalAsset: "observe"}
_SHARED = {"name", "tags", "kinds", "group", "partitions_def", "automation_condition"}
_MADE = _SHARED | {"code_version", "io_handler", "deps", "hooks", "retry"}
_TAKES = {
    Asset: _MADE | {"metadata", "backfill_strategy", "pool", "pool_slots", "compute"},
    MultiAsset: _MADE | {"compute"},
    GraphAsset: _MADE | {"metadata", "node_io_handler"},
    ExternalAsset: _SHARED | {"io_handler", "metadata"},
}
_KNOWN = set().union(*_TAKES.values())
_NEAR_MISSES = {
    "kind": "kinds",
    "tag": "tags",
    "partitions": "partitions_def",
    "partition_def": "partitions_def",
    "automation": "automation_condition",
    "pools": "pool",
    "retries": "retry",
    "backfill": "backfill_strategy",
    "action": "actions",
}
_MAKERS: dict[type[Asset], Callable[..., Asset]] = {
    Asset: Asset,
    MultiAsset: Asset.from_multi,
    GraphAsset: Asset.from_graph,
    ExternalAsset: Asset.external,
}
_BASES = (Described, Asset, SingleAsset, MultiAsset, GraphAsset, ExternalAsset)


def is_asset_class(candidate: Any) -> bool:
    """Tell whether it is a class that stands for an asset."""
    return inspect.isclass(candidate) and issubclass(candidate, Asset) and candidate not in _BASES


def desugar(cls: type) -> Asset:
    """Return the asset that a class stands for.

    Raises:
        AssetDefinitionError: the class is a base class, none of ours, has no body, the body of another kind,
            or an attribute that its kind does not take.

    >>> class EnrichedOrders(Asset):
    ...     kinds = "table"
    ...     @classmethod
    ...     def materialize(cls): return 1
    >>> desugar(EnrichedOrders).name
    'enriched_orders'
    """
    if not is_asset_class(cls):
        raise AssetDefinitionError(
            f"{cls!r} is no class-form asset: subclass Asset, MultiAsset, GraphAsset or ExternalAsset"
        )
    kind = next(base for base in (MultiAsset, GraphAsset, ExternalAsset, Asset) if issubclass(cls, base))
    attributes = _attributes(cls)
    _refuse_near_misses(cls, attributes)
    given = _settings(cls, kind, attributes)
    given.setdefault("name", snake_case(cls.__name__))
    actions = _actions(cls)
    if actions and kind is ExternalAsset:
        raise AssetDefinitionError(
            f"{cls.__name__}: an external asset has no actions; it is observed, not changed"
        )
    if actions:
        given["actions"] = actions
    outputs = _outputs(cls, kind)
    if kind is MultiAsset:
        given["output_defs"] = outputs
    return _MAKERS[kind](_body(cls, kind), **given)


def snake_case(name: str) -> str:
    """Return the name of an asset for the name of a class.

    >>> snake_case("HTTPServer"), snake_case("MLModel2Train"), snake_case("ordersV2")
    ('http_server', 'ml_model2_train', 'orders_v2')
    """
    parted = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return parted.lower()


def _attributes(cls: type) -> dict[str, tuple[type, Any]]:
    """Return each attribute with the most derived class that has it; inherited ones first."""
    owners = [owner for owner in cls.__mro__ if owner not in _BASES and owner is not object]
    found: dict[str, tuple[type, Any]] = {}
    for owner in reversed(owners):
        for name, value in vars(owner).items():
            if not (name.startswith("__") and name.endswith("__")):
                found[name] = (owner, value)
    return found


def _refuse_near_misses(cls: type, attributes: dict[str, tuple[type, Any]]) -> None:
    for name, (_, value) in attributes.items():
        meant = _NEAR_MISSES.get(name)
        plain = not isinstance(value, (AssetDef, AssetAction, ActionMethod)) and _function_of(value) is None
        if meant and plain and value is not None:
            raise AssetDefinitionError(f"{cls.__name__}.{name}: did you mean {meant}?")


def _settings(cls: type, kind: type[Asset], attributes: dict[str, tuple[type, Any]]) -> dict[str, Any]:
    given = {}
    for name, (_, value) in attributes.items():
        if value is None or name not in _KNOWN or isinstance(value, (AssetDef, AssetAction, ActionMethod)):
            continue
        if name not in _TAKES[kind]:
            raise AssetDefinitionError(
                f"{cls.__name__}.{name}: a class-form {kind.__name__} does not take {name}"
            )
        given[name] = value
    return given


def _body(cls: type, kind: type[Asset]) -> Any:
    wanted = _VERBS[kind]
    for verb in sorted({*_VERBS.values()} - {wanted}):
        if _declared(cls, verb) is not None:
            raise AssetDefinitionError(f"{cls.__name__}.{verb}: {_why_foreign(kind, verb, wanted)}")
    declared = _declared(cls, wanted)
    if declared is None:
        if kind is ExternalAsset:
            return None
        raise AssetDefinitionError(
            f"{cls.__name__} has no {wanted}, so it is a mixin and no asset: give it one, or list a subclass"
        )
    if not isinstance(declared, (classmethod, staticmethod)):
        raise AssetDefinitionError(
            f"{cls.__name__}.{wanted} must be a class method: put @classmethod above it"
        )
    return getattr(cls, wanted)


def _why_foreign(kind: type[Asset], verb: str, wanted: str) -> str:
    if kind is ExternalAsset and verb == "materialize":
        return "an external asset is observed, not produced; its verb is observe"
    if kind is GraphAsset and verb == "materialize":
        return "a graph asset is composed of tasks; its verb is compose"
    return f"the verb of a class-form {kind.__name__} is {wanted}"


def _declared(cls: type, name: str) -> Any:
    for owner in cls.__mro__:
        if owner not in _BASES and name in vars(owner):
            return vars(owner)[name]
    return None


def _outputs(cls: type, kind: type[Asset]) -> list[AssetDef]:
    found: dict[int, str] = {}
    outputs = []
    for name, value in _output_attributes(cls):
        if kind is not MultiAsset:
            raise AssetDefinitionError(
                f"{cls.__name__}.{name} is an AssetDef, which only a class-form MultiAsset has"
            )
        if id(value) in found:
            raise AssetDefinitionError(
                f"{cls.__name__}: {name} and {found[id(value)]} are one AssetDef; make two"
            )
        found[id(value)] = name
        output = copy(value)
        output.name = value.name or name
        outputs.append(output)
    if kind is MultiAsset and not outputs:
        raise AssetDefinitionError(
            f"{cls.__name__} has no output: give it an attribute like orders = AssetDef()"
        )
    return outputs


def _output_attributes(cls: type) -> list[tuple[str, AssetDef]]:
    found: dict[str, AssetDef] = {}
    for owner in reversed(cls.__mro__):
        for name, value in vars(owner).items():
            if isinstance(value, AssetDef):
                found[name] = value
            elif name in found:
                del found[name]  # a subclass that sets None, or anything else, takes the output away
    return list(found.items())


def _actions(cls: type) -> list[AssetAction]:
    """The verbs of a class; for each the most derived declaration counts, by whatever form it was made."""
    found: dict[str, AssetAction] = {}
    by_attribute: dict[str, str] = {}
    listed: set[str] = set()
    for owner in reversed(cls.__mro__):
        if owner in _BASES or owner is object:
            continue
        own = _own_actions(cls, owner, by_attribute)
        if "actions" in vars(owner):
            for verb in listed:
                found.pop(verb, None)
            listed = {action.name for action in vars(owner)["actions"] or ()}
        for attribute, action in own:
            earlier = by_attribute.get(attribute) if attribute else None
            if earlier is not None:
                found.pop(earlier, None)
            if attribute:
                by_attribute[attribute] = action.name
            found[action.name] = action
    return list(found.values())


def _own_actions(cls: type, owner: type, inherited: dict[str, str]) -> list[tuple[str, AssetAction]]:
    """Attribute (empty for the list's) and action of each verb that one class declares."""
    own: list[tuple[str, AssetAction]] = []
    for name, value in vars(owner).items():
        action = _as_action(cls, name, value)
        if action is not None:
            own.append((name, action))
        elif name in inherited and name != "actions":
            raise AssetDefinitionError(
                f"{owner.__name__}.{name} hides the action {inherited[name]!r}; name it differently"
            )
    for action in vars(owner).get("actions") or ():
        if not isinstance(action, AssetAction):
            raise AssetDefinitionError(f"{owner.__name__}.actions holds {action!r}, which is no AssetAction")
        own.append(("", action))
    verbs = [action.name for _, action in own]
    twice = next((verb for verb in verbs if verbs.count(verb) > 1), None)
    if twice:
        raise AssetDefinitionError(f"{owner.__name__} declares the action {twice!r} twice")
    return own


def _as_action(cls: type, name: str, value: Any) -> AssetAction | None:
    if isinstance(value, AssetAction):
        return value
    marked = value.__func__ if isinstance(value, classmethod) else value
    if not isinstance(marked, ActionMethod):
        return None
    method = value if isinstance(value, classmethod) else marked.method
    if not isinstance(method, (classmethod, staticmethod)):
        raise AssetDefinitionError(f"{cls.__name__}.{name}: an action is a class method; add @classmethod")
    function = marked.method if isinstance(value, classmethod) else method.__func__
    body = function if isinstance(method, staticmethod) else function.__get__(cls, type(cls))
    return marked.to_action(name).with_body(body)


def _function_of(value: Any) -> Any:
    if isinstance(value, (classmethod, staticmethod)):
        return value.__func__
    return value if inspect.isfunction(value) or inspect.isdatadescriptor(value) else None
