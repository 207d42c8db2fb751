"""``::{"assets": ...}::`` lines in the output of scripts, read when ``enable_auto`` is on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_assets.exceptions import AssetCatalogError
from airflow_assets.script_line import content_of, said_in

if TYPE_CHECKING:
    from airflow_assets.schemas.lineage import Bundle

MAX_LINES = 10_000
MAX_BYTES = 1024 * 1024
_SUBPROCESS_LOGGER = "airflow.providers.standard.utils.python_virtualenv"

log = logging.getLogger(__name__)


class ScriptLines:
    """Collects bundles from lines of output, up to 10,000 asset lines and 1 MiB of them."""

    def __init__(self) -> None:
        self.bundles: list[Bundle] = []
        self.problems: list[str] = []
        self._lines = 0
        self._bytes = 0
        self._closed = False

    def read(self, line: str) -> None:
        """Look at one line of output; a line that is not ours is passed over."""
        if content_of(line) is None or self._over_limit(line):
            return
        try:
            said = said_in(line)
        except ValueError as error:
            self.problems.append(f"script line {self._lines}: it is no JSON: {error}.")
            return
        if isinstance(said, dict) and said.get("assets") is not None:
            self._take(said["assets"])

    def _take(self, assets: Any) -> None:
        from airflow_assets.recording.emitting import bundle_of

        inputs, outputs = _both(assets)
        try:
            self.bundles.append(bundle_of(inputs, outputs, at=f"script line {self._lines}: "))
        except AssetCatalogError as error:
            self.problems.append(str(error))

    def _over_limit(self, line: str) -> bool:
        if self._closed:
            return True
        self._lines += 1
        self._bytes += len(line.encode("utf-8", "replace"))
        self._closed = self._lines > MAX_LINES or self._bytes > MAX_BYTES
        if self._closed:
            self.problems.append(
                f"script line {self._lines}: the script printed more than {MAX_LINES:,} asset lines or "
                f"{MAX_BYTES:,} bytes of them; this and later ones are not recorded. Put more into one line."
            )
        return self._closed


def _both(assets: Any) -> tuple[list[Any], list[Any]]:
    """``{inputs, outputs}``, or the older shape: one asset, or a list of assets, that were written."""
    if isinstance(assets, Mapping) and ("inputs" in assets or "outputs" in assets):
        return _list(assets.get("inputs")), _list(assets.get("outputs"))
    return [], _list(assets)


def _list(given: Any) -> list[Any]:
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


@contextmanager
def reading(task: Any, read: Callable[[str], None]) -> Iterator[bool]:
    """Pass every line that the task's script prints to ``read`` while the body runs.

    Yields whether this operator's output can be read at all. What the operator logs stays as it is.
    """
    names = {f"{kind.__module__}.{kind.__name__}" for kind in type(task).__mro__}
    if "airflow.providers.standard.operators.bash.BashOperator" in names:
        with _tapped(task.subprocess_hook, read):
            yield True
    elif "airflow.providers.standard.operators.python._BasePythonVirtualenvOperator" in names:
        with _handled(logging.getLogger(_SUBPROCESS_LOGGER), read):
            yield True
    else:
        yield False


class _TappedLog:
    """A hook's logger that shows each line of output to ``read`` as well."""

    def __init__(self, inner: Any, read: Callable[[str], None]) -> None:
        self._inner = inner
        self._read = read

    def info(self, event: str, *arguments: Any, **members: Any) -> Any:
        """Log, and read what is a line of output."""
        if event == "%s" and len(arguments) == 1:
            self._read(str(arguments[0]))
        return self._inner.info(event, *arguments, **members)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@contextmanager
def _tapped(hook: Any, read: Callable[[str], None]) -> Iterator[None]:
    # The hook hands each line to its own structlog logger and nowhere else.
    inner = hook.log
    hook._log = _TappedLog(inner, read)  # noqa: SLF001 - LoggingMixin keeps the logger here and has no setter
    try:
        yield
    finally:
        hook._log = inner  # noqa: SLF001


class _Handler(logging.Handler):
    def __init__(self, read: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._read = read

    def emit(self, record: logging.LogRecord) -> None:
        """Read what is a line of output."""
        if record.msg == "%s":
            self._read(record.getMessage())


@contextmanager
def _handled(logger: logging.Logger, read: Callable[[str], None]) -> Iterator[None]:
    handler = _Handler(read)
    level = logger.level
    logger.addHandler(handler)
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
