"""``emit()``: what a task found out while running, and where it is kept until the body has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.schemas.lineage import Bundle

MAX_BUNDLES = 10_000


class Collector:
    """The bundles of one running task, in the order in which they were emitted."""

    def __init__(self) -> None:
        self.bundles: list[Bundle] = []

    def add(self, bundle: Bundle) -> None:
        """Keep a bundle.

        :raises airflow_assets.exceptions.InvalidRequest: the task has emitted 10,000 already.
        """
        if len(self.bundles) >= MAX_BUNDLES:
            from airflow_assets.exceptions import InvalidRequest

            raise InvalidRequest(
                f"This task has emitted {MAX_BUNDLES:,} bundles; more are not recorded.",
                hint="Put several outputs that have the same inputs into one emit().",
                field="bundles",
                limit=MAX_BUNDLES,
            )
        self.bundles.append(bundle)


# Not a ContextVar: threads that a body starts must find it too, and a process runs one body at a time (a body
# that runs dag.test() is the exception the stack is for).
_running: list[Collector] = []


@contextmanager
def collecting(collector: Collector) -> Iterator[None]:
    """Let :func:`emit` find ``collector`` while the body runs."""
    _running.append(collector)
    try:
        yield
    finally:
        _running.remove(collector)


def emit(*, inputs: Any = (), outputs: Any = ()) -> None:
    """Record that the running task read ``inputs`` and wrote ``outputs``; each call is one bundle.

    Lineage goes from every input to every output of one bundle, never across bundles. What is emitted is
    taken as it is (nothing in it is a template) and sent when the body has ended: outputs are stored if it
    ended well.

    :param inputs: an asset or a list of them: our types, native assets, ids, or JSON objects with an ``id``.
    :param outputs: likewise.
    :raises airflow_assets.exceptions.InvalidAsset: an item breaks a rule; names its path, as
    ``outputs[0].id``.
    :raises airflow_assets.exceptions.InvalidRequest: no task is running in this process.

    >>> for source, target in pairs:
    ...     emit(inputs=[source], outputs=[Table(target, metadata={"rows": count(target)})])
    """
    if not _running:
        from airflow_assets.exceptions import InvalidRequest

        raise InvalidRequest(
            "emit() was called where no task is running.",
            hint='Call it in the body of a task; in a script, print a line ::{"assets": {...}}:: instead.',
        )
    _running[-1].add(bundle_of(_items(inputs), _items(outputs)))


def bundle_of(inputs: Iterable[Any], outputs: Iterable[Any], *, at: str = "") -> Bundle:
    """Return one bundle of items that are taken as they are; ``at`` leads the paths in errors."""
    from airflow_assets.recording.items import declared_of, merged, output_at, ref_at
    from airflow_assets.schemas.lineage import Bundle

    read = [ref_at(declared_of(item, path), path) for item, path in _with_paths(inputs, f"{at}inputs")]
    written = [
        output_at(declared_of(item, path), path) for item, path in _with_paths(outputs, f"{at}outputs")
    ]
    return Bundle(inputs=merged(read), outputs=merged(written))


def _with_paths(items: Iterable[Any], name: str) -> Iterator[tuple[Any, str]]:
    return ((item, f"{name}[{index}]") for index, item in enumerate(items))


def _items(given: Any) -> Iterable[Any]:
    return given if isinstance(given, (list, tuple, set, frozenset, Iterator)) else [given]
