"""The body of a graph asset is run once, where it is defined; what it calls is written down here."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_assets.authoring.errors import GraphValidationError, TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

_current: ContextVar[Trace | None] = ContextVar("airflow_assets_graph_body", default=None)


@dataclass(frozen=True)
class InvokedNodeOutput:
    """What a call in a graph body gives: the output of a step that will run later."""

    node_name: str
    output_name: str = "result"

    def map(self, task: Any, *, max_concurrency: int | None = None) -> MappedOutput:
        """Run a task once for each element of this output.

        :param max_concurrency: how many of them run at a time, at most.
        """
        return trace_of("map").mapped(self, task, max_concurrency)

    def __bool__(self) -> bool:
        raise _not_yet("tested")

    def __iter__(self) -> Iterator[Any]:
        raise _not_yet("iterated over; use .map(task)")

    def __getitem__(self, key: Any) -> Any:
        raise _not_yet(f"indexed with {key!r}")


@dataclass(frozen=True)
class MappedOutput:
    """The instances of a task, one for each element."""

    node_name: str

    def collect(self) -> InvokedNodeOutput:
        """Return the list of all results, in the order of the elements."""
        return trace_of("collect").collected(self, streaming=False, ordered=True)

    def collect_stream(self, ordered: bool = False) -> InvokedNodeOutput:
        """Return the results as they come; with ``ordered`` in the order of the elements."""
        return trace_of("collect_stream").collected(self, streaming=True, ordered=ordered)


@dataclass
class Call:
    """One step of a graph body: a task, its wiring by parameter name, and how it is fanned out."""

    name: str
    task: Any
    wired: dict[str, Any] = field(default_factory=dict)
    """Parameter -> :class:`InvokedNodeOutput`, or a constant."""
    over: InvokedNodeOutput | None = None
    max_concurrency: int | None = None
    collects: str | None = None
    ordered: bool = True


class Trace:
    """The calls of one graph body, in their order."""

    def __init__(self, graph: str) -> None:
        self.graph = graph
        self.calls: dict[str, Call] = {}
        self.assets: dict[str, Any] = {}

    def called(self, task: Any, wired: dict[str, Any]) -> InvokedNodeOutput:
        """Write down a call of a task; a second call of the same gets a number."""
        name = self._free(task.name)
        self.calls[name] = Call(name, task, wired)
        return InvokedNodeOutput(name)

    def used(self, asset: Any) -> InvokedNodeOutput:
        """Write down that the body reads an asset; it runs on its own."""
        self.assets[asset.name] = asset
        return InvokedNodeOutput(asset.name, "asset")

    def mapped(self, over: InvokedNodeOutput, task: Any, max_concurrency: int | None) -> MappedOutput:
        """Write down a fan-out."""
        if max_concurrency is not None and max_concurrency < 1:
            raise TaskDefinitionError(f"max_concurrency is 1 or more, not {max_concurrency}")
        name = self._free(task.name)
        self.calls[name] = Call(name, task, {}, over=over, max_concurrency=max_concurrency)
        return MappedOutput(name)

    def collected(self, mapped: MappedOutput, *, streaming: bool, ordered: bool) -> InvokedNodeOutput:
        """Write down that the results of a fan-out are put together."""
        name = f"{mapped.node_name}__collect"
        if name not in self.calls:
            self.calls[name] = Call(name, None, collects=mapped.node_name, ordered=ordered or not streaming)
        return InvokedNodeOutput(name)

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self.calls:
            number += 1
            free = f"{name}_{number}"
        return free


def tracing() -> Trace | None:
    """Return the trace of the graph body that runs now; null outside of one."""
    return _current.get()


def trace_of(method: str) -> Trace:
    """Return the trace of the graph body that runs now.

    Raises:
        GraphValidationError: there is none.
    """
    found = _current.get()
    if found is None:
        raise GraphValidationError(f"{method}() belongs in the body of an Asset.from_graph function")
    return found


@contextmanager
def body_of(graph: str) -> Iterator[Trace]:
    """Write down what is called inside the block."""
    trace = Trace(graph)
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


def _not_yet(how: str) -> TypeError:
    return TypeError(
        f"The output of a step in a graph body has no value yet, so it cannot be {how}; compute inside a task"
    )
