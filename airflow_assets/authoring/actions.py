"""Verbs that can be run against an asset besides materialize."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.checks import list_of, of_type, optional
from airflow_assets.authoring.errors import AssetDefinitionError
from airflow_assets.authoring.metadata import coerced
from airflow_assets.authoring.retries import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow_assets.authoring.metadata_values import MetadataValue

RESERVED_VERBS = frozenset({"materialize", "observe", "compose"})


class Outcome(str, Enum):
    """What a verb does to the asset's materialization, at most."""

    Unchanged = "unchanged"
    MayMaterialize = "may_materialize"
    """The body tells by an :class:`ActionResult`."""
    Unmaterialize = "unmaterialize"
    """The materialization is cleared; shown as destructive."""
    Observe = "observe"
    """Only of the built-in ``observe``."""


class ActionConcurrency(str, Enum):
    """Whether a verb may run beside a materialize of the same partitions."""

    Shared = "shared"
    Exclusive = "exclusive"


class ActionOrdering(str, Enum):
    """The order of several targets of one run that depend on each other."""

    Unordered = "unordered"
    UpstreamFirst = "upstream_first"
    DownstreamFirst = "downstream_first"


class ActionPartitioning(str, Enum):
    """Whether a verb takes a key on an asset with partitions."""

    Required = "required"
    Keyless = "keyless"
    Optional = "optional"


class ActionResult:
    """What a verb did; made by :meth:`unchanged` or :meth:`materialized`.

    >>> ActionResult.materialized(metadata={"rows": 3}).is_materialized
    True
    """

    __slots__ = ("_data_version", "_materialized", "_metadata")
    _materialized: bool
    _metadata: dict[str, MetadataValue]
    _data_version: str | None

    def __init__(self) -> None:
        raise TypeError("Use ActionResult.unchanged() or ActionResult.materialized()")

    @classmethod
    def unchanged(cls, metadata: Mapping[str, Any] | None = None) -> ActionResult:
        """Return that nothing was materialized; the metadata goes to the ActionCompleted event.

        Raises:
            TypeError: a metadata value that cannot be recorded.
        """
        return cls._of(materialized=False, metadata=metadata, data_version=None)

    @classmethod
    def materialized(
        cls, metadata: Mapping[str, Any] | None = None, data_version: str | None = None
    ) -> ActionResult:
        """Return that the data changed; only a verb with ``Outcome.MayMaterialize`` may.

        Raises:
            TypeError: a metadata value that cannot be recorded, or a data version that is no str.
        """
        return cls._of(materialized=True, metadata=metadata, data_version=data_version)

    @classmethod
    def _of(
        cls, *, materialized: bool, metadata: Mapping[str, Any] | None, data_version: str | None
    ) -> ActionResult:
        made = object.__new__(cls)
        made._materialized = materialized
        made._metadata = coerced(metadata)
        made._data_version = optional(data_version, str, "data_version")
        return made

    @property
    def is_materialized(self) -> bool:
        """Whether the data changed."""
        return self._materialized

    @property
    def metadata(self) -> dict[str, MetadataValue]:
        """What the body reported."""
        return dict(self._metadata)

    @property
    def data_version(self) -> str | None:
        """The version of the new data, where the body gave one."""
        return self._data_version

    def __repr__(self) -> str:
        shown = {"metadata": self._metadata, "data_version": self._data_version}
        members = ", ".join(f"{name}={value!r}" for name, value in shown.items() if value)
        return f"ActionResult.{'materialized' if self._materialized else 'unchanged'}({members})"


class AssetAction:
    """A verb; called with a function it gives the same verb bound to that body.

    :param name: how ``repo.run_action`` calls it; unique per asset.
    :param retry: a policy, or the name of one in ``CodeRepository(retries=...)``; never the asset's.
    :param partitioning: what an omitted one means is ``ActionPartitioning.Required``.

    Raises:
        AssetDefinitionError: a reserved or empty name, ``Outcome.Observe``, or a second body.

    >>> vacuum = AssetAction("vacuum", Outcome.Unchanged)(lambda ctx: None)
    >>> vacuum.is_bound, vacuum.exclusive
    (True, False)
    """

    def __init__(  # noqa: PLR0917 - the contract's order
        self,
        name: str,
        outcome: Outcome,
        concurrency: ActionConcurrency | None = None,
        ordering: ActionOrdering | None = None,
        retry: RetryPolicy | str | None = None,
        description: str | None = None,
        partitioning: ActionPartitioning | None = None,
    ) -> None:
        self.name = _verb(name)
        self.outcome = of_type(outcome, Outcome, "outcome")
        if outcome is Outcome.Observe:
            raise AssetDefinitionError(f"Action {name!r}: Outcome.Observe belongs to the built-in observe")
        self.concurrency = optional(concurrency, ActionConcurrency, "concurrency") or ActionConcurrency.Shared
        self.ordering = optional(ordering, ActionOrdering, "ordering") or ActionOrdering.Unordered
        self.partitioning = (
            optional(partitioning, ActionPartitioning, "partitioning") or ActionPartitioning.Required
        )
        self.retry = checked_retry(retry, f"action {name!r}")
        self.description = optional(description, str, "description")
        self.body: Callable[..., Any] | None = None

    @property
    def exclusive(self) -> bool:
        """Whether it never runs beside a materialize of the same partitions."""
        return self.concurrency is ActionConcurrency.Exclusive

    @property
    def is_bound(self) -> bool:
        """Whether it has a body."""
        return self.body is not None

    def __call__(self, body: Callable[..., Any]) -> AssetAction:
        """Return this verb with a body; the one at hand stays without."""
        if self.body is not None:
            raise AssetDefinitionError(
                f"Action {self.name!r} has a body already; bind the action it was made from"
            )
        if not callable(body):
            raise AssetDefinitionError(f"Action {self.name!r} takes a function as its body, not {body!r}")
        return self.with_body(body)

    def with_body(self, body: Callable[..., Any] | None, name: str | None = None) -> AssetAction:
        """Return a copy with another body, under another name if one is given."""
        made = object.__new__(AssetAction)
        made.__dict__.update(vars(self), body=body, name=self.name if name is None else _verb(name))
        return made

    def __repr__(self) -> str:
        return f"AssetAction(name={self.name!r}, outcome={self.outcome.name}, exclusive={self.exclusive})"


class ActionMethod:
    """A class method that :func:`action` has marked; the class-form asset it is in makes an action of it."""

    def __init__(self, method: Any, name: str | None, **settings: Any) -> None:
        self.method, self.name, self.settings = method, name, settings

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Be the method itself wherever it is called."""
        return self.method.__get__(instance, owner)

    def to_action(self, attribute: str) -> AssetAction:
        """Return the verb, without its body."""
        return AssetAction(self.name or attribute, **self.settings)


def action(
    *,
    outcome: Outcome,
    concurrency: ActionConcurrency | None = None,
    ordering: ActionOrdering | None = None,
    retry: RetryPolicy | str | None = None,
    description: str | None = None,
    name: str | None = None,
    partitioning: ActionPartitioning | None = None,
) -> Callable[[Any], Any]:
    """Declare a verb in the body of a class-form asset; above or below ``@classmethod``.

    :param name: the verb; default the method's name.

    >>> class Orders:
    ...     @action(outcome=Outcome.Unmaterialize)
    ...     @classmethod
    ...     def purge(cls, ctx): ...
    """
    settings: dict[str, Any] = {
        "outcome": outcome,
        "concurrency": concurrency,
        "ordering": ordering,
        "retry": retry,
        "description": description,
        "partitioning": partitioning,
    }
    AssetAction(name or "verb", **settings)  # a mistake is told here, where it is

    def mark(method: Any) -> Any:
        return ActionMethod(method, name, **settings)

    return mark


def bound_actions(actions: Any, owner: str) -> list[AssetAction]:
    """Return the actions of an asset or output.

    Raises:
        AssetDefinitionError: one without a body, or a verb twice.
        TypeError: one that is no action.
    """
    if actions is None:
        return []
    found: dict[str, AssetAction] = {}
    for verb in list_of(actions, AssetAction, "actions"):
        if not verb.is_bound:
            raise AssetDefinitionError(
                f"Action {verb.name!r} of {owner} has no body: apply it to a function first, {verb.name}(fn)"
            )
        if verb.name in found:
            raise AssetDefinitionError(f"Action {verb.name!r} is twice in the actions of {owner}")
        found[verb.name] = verb
    return list(found.values())


def checked_retry(retry: Any, owner: str) -> RetryPolicy | str | None:
    """Return a policy or the name of one.

    Raises:
        AssetDefinitionError: anything else.
    """
    if retry is None or isinstance(retry, (RetryPolicy, str)):
        return retry
    raise AssetDefinitionError(
        f"retry of {owner} takes a RetryPolicy or the name of a registered one, not {retry!r}"
    )


def _verb(name: Any) -> str:
    if not of_type(name, str, "the name of an action").strip():
        raise AssetDefinitionError("The name of an action is never empty")
    if name in RESERVED_VERBS:
        raise AssetDefinitionError(f"{name!r} is a built-in verb; name the action differently")
    return str(name)
