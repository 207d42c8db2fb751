"""What each parameter of a body gets."""

from __future__ import annotations

import inspect
import typing
from dataclasses import replace
from typing import Any

from airflow_assets.authoring.contexts import ActionContext, AssetExecutionContext, TaskExecutionContext
from airflow_assets.authoring.deps import SelfDependency
from airflow_assets.authoring.errors import GraphValidationError
from airflow_assets.authoring.graph.nodes import Gets, Parameter

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

_CONTEXTS = (AssetExecutionContext, TaskExecutionContext, ActionContext)
_VARIABLE = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def classified(
    owner: str,
    function: Callable[..., Any],
    nodes: Container[str],
    resources: Container[str],
    wired: Mapping[str, Parameter] | None = None,
) -> list[Parameter]:
    """Return the parameters of a body that get something, in their order.

    A parameter is, in this order: the context (the first one, by its annotation or by the name ``context``);
    ``self`` with ``SelfDependency``; wired by a graph body; left to its default; a node; a resource.

    Raises:
        GraphValidationError: naming the asset and the parameter that nothing provides, a context that is not
            the first parameter, or a parameter that is the asset itself.
    """
    found: list[Parameter] = []
    skipped = False
    for name, parameter, hint, known in _annotated(function):
        by_name = skipped or parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if _is_context(hint) or (name == "context" and hint is None):
            if found:
                raise GraphValidationError(
                    f"Asset {owner!r}: the context {name!r} must be the first parameter of its function"
                )
            found.append(Parameter(name, Gets.CONTEXT, hint=known, by_name=by_name))
        elif name == "self" and _origin(hint) is SelfDependency:
            found.append(Parameter(name, Gets.SELF, owner, _inner(hint), by_name))
        elif wired and name in wired:
            found.append(replace(wired[name], by_name=by_name))
        elif parameter.default is inspect.Parameter.empty:
            gets = _provider(owner, name, nodes, resources)
            found.append(Parameter(name, gets, name, known, by_name))
        else:
            skipped = True
    return found


def body_parameters(
    owner: str, function: Callable[..., Any], resources: Container[str], *, always_context: bool = False
) -> list[Parameter]:
    """Return what the parameters of an action's body or an observe function get: the context, and resources.

    :param always_context: the first parameter is the context, whatever it is called.

    Raises:
        GraphValidationError: naming the parameter that nothing provides, or a context that is not the first.
    """
    found: list[Parameter] = []
    skipped = False
    for name, parameter, hint, known in _annotated(function):
        by_name = skipped or parameter.kind is inspect.Parameter.KEYWORD_ONLY
        named = name == "context" and hint is None
        if not found and not skipped and (always_context or named or _is_context(hint)):
            _check_is_context(owner, name, hint, resources)
            found.append(Parameter(name, Gets.CONTEXT, hint=known, by_name=by_name))
        elif name in resources:
            found.append(Parameter(name, Gets.RESOURCE, name, known, by_name))
        elif parameter.default is inspect.Parameter.empty:
            raise GraphValidationError(_unprovided(owner, name, hint))
        else:
            skipped = True
    return found


def _annotated(function: Callable[..., Any]) -> Iterator[tuple[str, inspect.Parameter, Any, Any]]:
    """Each named parameter with its annotation, and that again, null where it is only a text."""
    hints = type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in _VARIABLE:
            hint = hints.get(name)
            yield name, parameter, hint, None if isinstance(hint, str) else hint


def _check_is_context(owner: str, name: str, hint: Any, resources: Container[str]) -> None:
    if name in resources and not _is_context(hint):
        raise GraphValidationError(
            f"The {owner}: its first parameter {name!r} gets the context, and is called like a resource; put "
            "a context before it"
        )


def _unprovided(owner: str, name: str, hint: Any) -> str:
    if _is_context(hint):
        return f"The {owner}: the context {name!r} must be its first parameter"
    return f"The {owner}: nothing provides its parameter {name!r}: it gets the context first, then resources"


def _provider(owner: str, name: str, nodes: Container[str], resources: Container[str]) -> Gets:
    if name == owner:
        raise GraphValidationError(
            f"Asset {owner!r} depends on itself; its parameter 'self: SelfDependency[T]' gets its last output"
        )
    if name in nodes:
        return Gets.NODE
    if name in resources:
        return Gets.RESOURCE
    raise GraphValidationError(
        f"Asset {owner!r}: nothing provides its parameter {name!r}: no asset and no resource is called "
        "so; list it in the repository, or give the parameter a default"
    )


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function with texts resolved; those that cannot be stay texts.

    >>> def body(x: "int"): ...
    >>> type_hints(body)
    {'x': <class 'int'>}
    """
    target = inspect.unwrap(function)
    target = getattr(target, "__func__", target)
    try:
        return typing.get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        # Something is imported for the type checker only: take one by one what can be resolved.
        return {
            name: _resolved(text, target) for name, text in getattr(target, "__annotations__", {}).items()
        }


def _resolved(text: Any, function: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return eval(text, getattr(function, "__globals__", {}))  # noqa: S307 - the author's own annotation
    except Exception:  # noqa: BLE001 - whatever it raises, its text is all there is
        return text


def _origin(hint: Any) -> Any:
    """The class of an annotation, also of a text that names one of ours."""
    if isinstance(hint, str):
        name = hint.partition("[")[0].rpartition(".")[2].strip()
        return next((kind for kind in (*_CONTEXTS, SelfDependency) if kind.__name__ == name), None)
    return typing.get_origin(hint) or hint


def _inner(hint: Any) -> Any:
    arguments = typing.get_args(hint)
    return arguments[0] if arguments else None


def _is_context(hint: Any) -> bool:
    origin = _origin(hint)
    return inspect.isclass(origin) and issubclass(origin, _CONTEXTS)
