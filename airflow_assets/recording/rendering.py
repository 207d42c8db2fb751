"""Templates in declarations, rendered after the body with its result in scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_assets.schemas.declared import Declared, is_template

_ONE_EXPRESSION = re.compile(r"\s*\{\{((?:(?!\{\{|\}\}|\{%|%\}).)+)\}\}\s*", re.DOTALL)
_JSON_SCALARS = (str, int, float, bool, type(None))


class RenderingFailed(Exception):
    """A template could not be rendered; ``path`` says which."""

    def __init__(self, path: str, template: str, error: Exception) -> None:
        super().__init__(f"{path}: the template {template!r} cannot be rendered: {_said(error)}")
        self.path = path


class Renderer:
    """Renders as the task does: with its Dag's macros, filters and rule for undefined names.

    :param task: the running operator.
    :param scope: its context, and what else templates may name.
    """

    def __init__(self, task: Any, scope: Mapping[str, Any]) -> None:
        self._task = task
        self._scope = scope
        self._environment: Any = None

    def declared(self, declared: Declared, path: str) -> Declared:
        """Return a declaration with every template in it rendered.

        :raises RenderingFailed: a template fails; names its path.
        """
        return declared.mapped(
            lambda text, field: self.text(text, f"{path}.{field}"),
            lambda value, field: self.value(value, f"{path}.{field}"),
        )

    def text(self, template: str, path: str) -> str:
        """Return the text that a template renders to; a text without templates comes back as it is."""
        if not is_template(template):
            return template
        try:
            return str(self._env.from_string(template).render(self._scope))
        except Exception as error:
            raise RenderingFailed(path, template, error) from error

    def value(self, value: Any, path: str) -> Any:
        """Return a JSON value with its templates rendered; a text that is one expression keeps its type."""
        if isinstance(value, Mapping):
            return {key: self.value(item, f"{path}.{key}") for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item, f"{path}[{index}]") for index, item in enumerate(value)]
        if not isinstance(value, str) or not is_template(value):
            return value
        alone = _ONE_EXPRESSION.fullmatch(value)
        return self._expression(alone.group(1), value, path) if alone else self.text(value, path)

    def _expression(self, expression: str, template: str, path: str) -> Any:
        from jinja2 import Undefined

        try:
            found = self._env.compile_expression(expression, undefined_to_none=False)(**self._scope)
            return str(found) if isinstance(found, Undefined) else _plain(found)
        except Exception as error:
            raise RenderingFailed(path, template, error) from error

    @property
    def _env(self) -> Any:
        if self._environment is None:
            self._environment = self._task.dag.get_template_env(force_sandboxed=True)
        return self._environment


def _plain(value: Any) -> Any:
    """Keep what JSON can hold, unpack NumPy's scalars, and make a text of the rest, as a template would."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if type(value) in _JSON_SCALARS:
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    return str(value)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
