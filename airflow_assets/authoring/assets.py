"""The assets that Python code defines.

``Asset`` is a decorator, a base class for class-form assets, and the type of all of them. An asset is
read-only and compared by identity; nothing of it runs before a repository does.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_assets.authoring.described import Described, Function
from airflow_assets.authoring.errors import AssetDefinitionError
from airflow_assets.authoring.settings import Settings, external_settings, multi_settings, settings
from airflow_assets.authoring.tracing import InvokedNodeOutput, Trace, body_of, tracing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow_assets.authoring.actions import AssetAction
    from airflow_assets.authoring.automation import AutomationCondition
    from airflow_assets.authoring.deps import AssetDef, DepDef
    from airflow_assets.authoring.hooks import Hook
    from airflow_assets.authoring.partitions.definitions import PartitionsDefinition
    from airflow_assets.authoring.partitions.strategy import BackfillStrategy
    from airflow_assets.authoring.retries import Compute, RetryPolicy

A = TypeVar("A", bound="Asset")


class Asset(Described):
    """An asset of one output, or a decorator that makes one of each function it is applied to.

    :param wraps: the function; its parameters are the assets it reads, by name.
    :param name: default the function's name.
    :param kinds: one or several, read back as a list.
    :param io_handler: stores and loads the output: an instance, or the key of a resource.
    :param partitions_def: a definition, or the name of one in ``CodeRepository(partition_defs=...)``.
    :param deps: from :meth:`AssetDef.input` and :meth:`AssetDef.dep`.
    :param pool: pools whose slots a step takes; read back as pairs.
    :param retry: a policy, or the name of one in ``CodeRepository(retries=...)``.

    Raises:
        AssetDefinitionError: a rule is broken; the error names it.
        TypeError: an argument of another type.

    >>> @Asset(kinds="table", group="sales")
    ... def orders(): return [1, 2]
    >>> orders.name, orders.kinds
    ('orders', ['table'])
    """

    def __new__(  # noqa: D102, PLR0913, PLR0917 - the contract's
        cls,
        wraps: Function | None = None,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        group: str | None = None,
        code_version: str | None = None,
        io_handler: Any = None,
        metadata: Mapping[str, str] | None = None,
        partitions_def: PartitionsDefinition | str | None = None,
        deps: Sequence[DepDef] | None = None,
        hooks: Sequence[Hook] | None = None,
        automation_condition: AutomationCondition | None = None,
        backfill_strategy: BackfillStrategy | None = None,
        pool: str | Sequence[str] | None = None,
        pool_slots: int | Mapping[str, int] | None = None,
        retry: RetryPolicy | str | None = None,
        compute: Compute | None = None,
        actions: Sequence[AssetAction] | None = None,
    ) -> SingleAsset:
        if cls is not Asset:
            raise TypeError(
                f"{cls.__name__} is not called: list a class-form asset in CodeRepository(assets=[...]), "
                "and make others with Asset(...), Asset.from_multi, Asset.from_graph or Asset.external"
            )
        given = {key: value for key, value in locals().items() if key not in {"cls", "wraps", "__class__"}}
        return _made(SingleAsset, settings(**given), wraps)

    @staticmethod
    def from_multi(  # noqa: PLR0913, PLR0917 - the contract's
        wraps: Function | None = None,
        output_defs: Sequence[AssetDef] = (),
        name: str | None = None,
        tags: Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        group: str | None = None,
        code_version: str | None = None,
        io_handler: Any = None,
        partitions_def: PartitionsDefinition | str | None = None,
        deps: Sequence[DepDef] | None = None,
        hooks: Sequence[Hook] | None = None,
        automation_condition: AutomationCondition | None = None,
        compute: Compute | None = None,
        retry: RetryPolicy | str | None = None,
        actions: Sequence[AssetAction] | None = None,
    ) -> MultiAsset:
        """Return an asset of several outputs that one function makes, or a decorator for such.

        Tags, kinds, group, code version and handler are what an output has that sets none; partitions given
        here are those of every output; actions are registered on every output.

        Raises:
            AssetDefinitionError: an output without a name, or outputs whose partitions do not fit together.
        """
        given = {key: value for key, value in locals().items() if key != "wraps"}
        return _made(MultiAsset, multi_settings(**given), wraps)

    @staticmethod
    def from_graph(  # noqa: PLR0913, PLR0917 - the contract's
        wraps: Function | None = None,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        group: str | None = None,
        code_version: str | None = None,
        io_handler: Any = None,
        node_io_handler: Any = None,
        metadata: Mapping[str, str] | None = None,
        partitions_def: PartitionsDefinition | str | None = None,
        deps: Sequence[DepDef] | None = None,
        hooks: Sequence[Hook] | None = None,
        automation_condition: AutomationCondition | None = None,
        retry: RetryPolicy | str | None = None,
        actions: Sequence[AssetAction] | None = None,
    ) -> GraphAsset:
        """Return an asset that several tasks make together, or a decorator for such.

        The body runs once, here: calling a task in it writes down a step, ``graph/task``. What it returns
        becomes the asset's output.

        :param node_io_handler: stores what the tasks give each other; default ``io_handler``.
        """
        given = {key: value for key, value in locals().items() if key != "wraps"}
        return _made(GraphAsset, settings(**given), wraps)

    @staticmethod
    def external(  # noqa: PLR0917 - the contract's order
        wraps: Function | None = None,
        name: str | None = None,
        io_handler: Any = None,
        tags: Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        group: str | None = None,
        metadata: Mapping[str, str] | None = None,
        partitions_def: PartitionsDefinition | str | None = None,
        automation_condition: AutomationCondition | None = None,
    ) -> ExternalAsset:
        """Return data that something else writes; a function it decorates observes it.

        :param io_handler: required: how readers load the data.

        Raises:
            AssetDefinitionError: there is no handler.
        """
        given = {key: value for key, value in locals().items() if key != "wraps"}
        return _made(ExternalAsset, external_settings(**given), wraps)

    @property
    def is_single(self) -> bool:
        """Whether it is a :class:`SingleAsset`."""
        return isinstance(self, SingleAsset)

    @property
    def is_multi(self) -> bool:
        """Whether it is a :class:`MultiAsset`."""
        return isinstance(self, MultiAsset)

    @property
    def is_graph(self) -> bool:
        """Whether it is a :class:`GraphAsset`."""
        return isinstance(self, GraphAsset)

    @property
    def is_external(self) -> bool:
        """Whether it is an :class:`ExternalAsset`."""
        return isinstance(self, ExternalAsset)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply a decorator to a function; inside a graph body, read the asset.

        Raises:
            AssetDefinitionError: a decorator that gets anything but one function, or an asset outside of a
                graph body.
        """
        if self._function is not None:
            trace = tracing()
            if trace is None:
                raise AssetDefinitionError(
                    f"{self.name!r} is an asset, not a function: call it only inside an Asset.from_graph body"
                )
            return trace.used(self)
        if kwargs or len(args) != 1 or not callable(args[0]):
            raise AssetDefinitionError(f"The {self._kind} decorator takes exactly one function")
        return _made(type(self), self._settings, args[0])


class SingleAsset(Asset):
    """What :class:`Asset` makes of a function."""

    def __init_subclass__(cls) -> None:
        raise TypeError("Write a class-form asset as a subclass of Asset, not of SingleAsset")


class MultiAsset(Asset):
    """What :meth:`Asset.from_multi` gives, and the base of class-form assets with several outputs."""

    _kind = "Asset.from_multi"

    @property
    def output_defs(self) -> list[AssetDef]:
        """The outputs, with what the asset gives to all of them."""
        return list(self._settings.output_defs)


class GraphAsset(Asset):
    """What :meth:`Asset.from_graph` gives, and the base of class-form graphs."""

    _kind = "Asset.from_graph"
    _trace: Trace
    _result: Any

    @property
    def trace(self) -> Trace:
        """The calls of the body."""
        return self._trace

    @property
    def result(self) -> Any:
        """What the body returned: the step whose output is the asset's."""
        return self._result


class ExternalAsset(Asset):
    """What :meth:`Asset.external` gives, and the base of class-form external assets."""

    _kind = "Asset.external"

    @property
    def observe_fn(self) -> Function | None:
        """The function that observes it."""
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take the observing function; inside a graph body, read the asset."""
        trace = tracing()
        if trace is not None:
            return trace.used(self)
        if self._function is not None:
            raise AssetDefinitionError(f"{self.name!r} has an observe function already")
        return super().__call__(*args, **kwargs)


def _made(kind: type[A], chosen: Settings, function: Function | None) -> A:
    if function is not None:
        _check_function(kind, chosen, function)
    made = object.__new__(kind)
    members = made.__dict__
    members["_settings"], members["_function"] = chosen, function
    if function is not None and issubclass(kind, GraphAsset):
        members["_trace"], members["_result"] = _traced(made.name, function)
    return made


def _check_function(kind: type[Asset], chosen: Settings, function: Any) -> None:
    if inspect.isclass(function):
        raise AssetDefinitionError(
            f"{function.__name__} is a class: write a class-form asset as a subclass of {kind.__name__}"
        )
    if not callable(function):
        raise AssetDefinitionError(f"The {kind._kind} decorator takes exactly one function, not {function!r}")  # noqa: SLF001
    name = chosen.name or getattr(function, "__name__", None)
    if not name:
        raise AssetDefinitionError(f"{function!r} has no name of its own: give the asset one, name=...")
    parameters = inspect.signature(function).parameters
    for dep in chosen.deps:
        if dep.is_input and dep.name not in parameters:
            raise AssetDefinitionError(
                f"Asset {name!r} has no parameter {dep.name!r} to load AssetDef.input({dep.name!r}) into; "
                "add one, or use AssetDef.dep for an order without data"
            )


def _traced(name: str, function: Function) -> tuple[Trace, Any]:
    """Run a graph's body once, with stand-ins for what its parameters will load."""
    with body_of(name) as trace:
        stand_ins = {
            parameter: InvokedNodeOutput(parameter, "asset")
            for parameter, described in inspect.signature(function).parameters.items()
            if described.default is inspect.Parameter.empty
            and described.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        }
        return trace, function(**stand_ins)
