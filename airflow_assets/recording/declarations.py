"""The bundle that a task declared: its inlets and outlets, and what ``configure`` adds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_assets.exceptions import InvalidAsset
from airflow_assets.recording import airflow_runtime
from airflow_assets.recording.items import declared_of, merged, output_at, ref_at
from airflow_assets.recording.rendering import Renderer, RenderingFailed
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.declared import EXTRA_KEY, MARKER_GROUPS, Declared, is_template
from airflow_assets.schemas.lineage import Bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from airflow_assets.recording.body import TaskBody

A = TypeVar("A", AssetInput, AssetRef)
Found = tuple[Declared, str, bool]
"""A declaration, its path, and whether its texts are templates still."""


class MalformedDeclaration(Exception):
    """A declaration breaks a rule, as it stands or once rendered; the text names its path."""


@dataclass(frozen=True)
class Rendered:
    """The declared bundle, and what could not be rendered."""

    bundle: Bundle
    problems: list[str]


def rendered(body: TaskBody, context: Mapping[str, Any], result: Any, *, ended_well: bool) -> Rendered:
    """Render everything a task declared, after its body.

    A template that fails costs its own asset alone; the rest is recorded. Of a task that did not end well
    only the assets' identities matter, and nothing in its declaration can make it fail once more.

    :raises MalformedDeclaration: a declaration breaks a rule; names its path, as ``outlets[0].id``.
    """
    # Without a good end there is no result: what would be rendered with one is left out.
    scope = {**context, "result": result, "return_value": result} if ended_well else context
    made = _Collected(Renderer(body.task, scope), ended_well=ended_well)
    events, settings = context.get("outlet_events"), body.settings
    try:
        read = made.all(ref_at, made.inlets(body.inlets), made.configured("inputs", settings.inputs))
        written = made.all(
            output_at, made.outlets(body.outlets, events), made.configured("outputs", settings.outputs)
        )
        return Rendered(Bundle(inputs=merged(read), outputs=merged(written)), made.problems)
    except InvalidAsset as error:
        raise MalformedDeclaration(str(error)) from None


class _Collected:
    def __init__(self, renderer: Renderer, *, ended_well: bool) -> None:
        self._renderer = renderer
        self._ended_well = ended_well
        self.problems: list[str] = []

    def inlets(self, inlets: list[Any]) -> Iterator[Found]:
        for index, inlet in enumerate(inlets):
            path = f"inlets[{index}]"
            if _is_alias(inlet):
                yield from ((asset, path, False) for asset in airflow_runtime.aliased(inlet.name))
            else:
                yield from self._native(inlet, path)

    def outlets(self, outlets: list[Any], events: Any) -> Iterator[Found]:
        for index, outlet in enumerate(outlets):
            for declared, path, templated in self._native(outlet, f"outlets[{index}]"):
                extra = airflow_runtime.event_extra(events, outlet)
                yield from self._with_extra(declared, path, extra, templated=templated)
        added = airflow_runtime.alias_outlets(events) if self._ended_well else ()
        for index, declared in enumerate(added):
            yield declared, f"outlet_events[{index}]", False

    def _with_extra(
        self, declared: Declared, path: str, extra: dict[str, Any], *, templated: bool
    ) -> Iterator[Found]:
        """What the body said at run time is final; only what the Dag file says is rendered."""
        if not extra:
            yield declared, path, templated
            return
        for item, _ in self.each(iter([(declared, path, templated)])):
            yield item.with_metadata(extra), path, False

    def _native(self, item: Any, path: str) -> Iterator[Found]:
        from airflow.sdk import Asset
        from airflow.sdk.definitions.asset import AssetRef as NativeRef

        if isinstance(item, Asset):
            if item.group not in MARKER_GROUPS:
                # Airflow renders nothing in an asset's extra, so only what our types keep there is rendered.
                yield declared_of(item, path), path, EXTRA_KEY in item.extra
        elif isinstance(item, NativeRef):
            yield from self._reference(item, path)

    def _reference(self, ref: Any, path: str) -> Iterator[Found]:
        name = getattr(ref, "name", None)
        # A name of ASCII letters is the id; one that may be an encoded id has to be looked up, as has a URI.
        if name and not set(name) & {"%", "#"}:
            yield Declared(id=name), path, False
            return
        found = airflow_runtime.referred(ref)
        if found is not None:
            yield found, path, False
        elif name:
            yield Declared(id=name), path, False
        else:
            self.problems.append(
                f"{path}: Airflow knows no asset with the URI {ref.uri!r}; it is not recorded."
            )

    def configured(self, kind: str, given: Any) -> Iterator[Found]:
        """``configure(inputs=..., outputs=...)``: a list, one asset, or one template that gives either."""
        if given is None:
            return
        try:
            items = self._listed(kind, given)
        except RenderingFailed as error:
            self.problems.append(str(error))
            return
        for index, item in enumerate(items):
            path = f"{kind}[{index}]"
            yield declared_of(item, path), path, not (isinstance(given, str) and is_template(given))

    def _listed(self, kind: str, given: Any) -> list[Any]:
        if isinstance(given, str) and is_template(given):
            given = self._renderer.value(given, kind)
            given = _as_json(given, kind) if isinstance(given, str) else given
        if given is None:
            return []
        return list(given) if isinstance(given, (list, tuple, set, frozenset)) else [given]

    def each(self, found: Iterator[Found]) -> Iterator[tuple[Declared, str]]:
        for declared, path, templated in found:
            wanted = declared if self._ended_well else _identity(declared)
            try:
                yield self._renderer.declared(wanted, path) if templated else wanted, path
            except RenderingFailed as error:
                self.problems.append(str(error))

    def all(self, make: Callable[[Declared, str], A], *found: Iterator[Found]) -> list[A]:
        kept = []
        for declared, path in self.each(chain(*found)):
            try:
                kept.append(make(declared, path))
            except InvalidAsset as error:
                if self._ended_well:
                    raise
                self.problems.append(str(error))
        return kept


def _identity(declared: Declared) -> Declared:
    return Declared(id=declared.id, type=declared.type, namespace=declared.namespace)


def _is_alias(item: Any) -> bool:
    from airflow.sdk import AssetAlias

    return isinstance(item, AssetAlias)


def _as_json(text: str, kind: str) -> Any:
    """A template that gave a text: JSON of assets, or one id."""
    if not text.lstrip().startswith(("[", "{")):
        return text.strip()
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidAsset(
            f"{kind} rendered to a text that is no JSON: {error}.",
            hint="Render a list with | tojson, or write one expression that is a list.",
            field=kind,
            value=text,
        ) from None
