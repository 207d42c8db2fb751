"""The one place for ``[airflow_assets] namespaces``: who sees a namespace, and who may name one.

The option is JSON, empty by default (everything is open)::

    {"finance": {"allowed": ["reporting"], "teams": ["controllers"]}}

``teams`` binds under ``[core] multi_team``: the assets of ``finance`` and of its dotted children do not exist
for callers of other teams and of none. ``allowed`` is the contract's rule on *naming* a namespace: a request
that filters by namespace fails when some namespace has an ``allowed`` list that does not cover the one asked
for. A name covers its dotted children everywhere; a namespace always allows itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_assets import config
from airflow_assets.exceptions import InvalidRequest, NamespaceNotAllowed
from airflow_assets.schemas.operations import Action
from airflow_assets.schemas.rules import namespace as checked_namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_assets.schemas.base import Schema
    from airflow_assets.schemas.operations import Operation

_MEMBERS = frozenset({"allowed", "teams"})


@dataclass(frozen=True)
class NamespaceRule:
    """What is configured for one namespace; None: not restricted in that respect."""

    namespace: str
    allowed: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None


def configured_rules() -> tuple[NamespaceRule, ...]:
    """Return the rules of ``[airflow_assets] namespaces``.

    :raises AirflowConfigException: naming the namespace and what is wrong with its rule.
    """
    return tuple(_rule(name, rule) for name, rule in config.namespaces().items())


def check_named(namespace: str | None, rules: tuple[NamespaceRule, ...] | None = None) -> None:
    """Refuse a request that filters by a namespace which a restricting namespace does not allow.

    :param namespace: the namespace filter of the request; None passes.
    :param rules: default: the configured ones.
    :raises NamespaceNotAllowed: "All namespaces are not allowed", with the namespace that restricts.

    >>> check_named("ops", (NamespaceRule("finance", allowed=("reporting",)),))
    Traceback (most recent call last):
    airflow_assets.exceptions.NamespaceNotAllowed: All namespaces are not allowed: ...
    """
    if namespace is None:
        return
    for rule in configured_rules() if rules is None else rules:
        if rule.allowed is None or _covered(namespace, (rule.namespace, *rule.allowed)):
            continue
        raise NamespaceNotAllowed(
            f"All namespaces are not allowed: {rule.namespace!r} restricts its allowed namespaces and does "
            f"not list {namespace!r}.",
            hint="Filter by type or metadata instead, or add the namespace to [airflow_assets] namespaces.",
            field="namespace",
            value=namespace,
        )


def check_filter(operation: Operation, argument: Schema | None) -> None:
    """Apply :func:`check_named` where a namespace filters, in a listing or a purge; in a write it is a value.

    :raises NamespaceNotAllowed: see :func:`check_named`.
    """
    if operation.action is Action.LIST or operation.name == "purge":
        named = getattr(argument, "named_namespaces", None)
        for namespace in named if named is not None else [getattr(argument, "namespace", None)]:
            check_named(namespace)


def hidden_namespaces(
    is_member: Callable[[str], bool], rules: tuple[NamespaceRule, ...] | None = None
) -> tuple[str, ...]:
    """Return the namespaces that do not exist for a caller, for ``Caller.hidden_namespaces``.

    :param is_member: whether the caller belongs to a team; not called when ``[core] multi_team`` is off.
    :param rules: default: the configured ones.
    """
    found = configured_rules() if rules is None else rules
    bound = [rule for rule in found if rule.teams is not None]
    if not bound or not multi_team():
        return ()
    return tuple(rule.namespace for rule in bound if not any(is_member(team) for team in rule.teams or ()))


def multi_team() -> bool:
    """Return whether ``[core] multi_team`` is on."""
    from airflow.configuration import conf

    return bool(conf.getboolean("core", "multi_team", fallback=False))


def _covered(namespace: str, names: tuple[str, ...]) -> bool:
    return any(namespace == name or namespace.startswith(f"{name}.") for name in names)


def _rule(name: str, rule: Any) -> NamespaceRule:
    if not isinstance(rule, dict) or not _MEMBERS.issuperset(rule):
        raise _broken(name, f"must be an object with {' and '.join(sorted(_MEMBERS))}")
    try:
        checked_namespace(name)
        return NamespaceRule(name, *(_names(name, rule, member) for member in ("allowed", "teams")))
    except InvalidRequest as error:
        raise _broken(name, str(error)) from None


def _names(name: str, rule: dict[str, Any], member: str) -> tuple[str, ...] | None:
    values = rule.get(member)
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _broken(name, f"has a {member!r} that is not a list of names")
    return tuple(values)


def _broken(name: str, reason: str) -> Exception:
    from airflow.exceptions import AirflowConfigException

    return AirflowConfigException(f"[{config.SECTION}] namespaces: the rule of {name!r} {reason}.")
