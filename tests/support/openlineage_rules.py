"""Whether an event is one of OpenLineage's: checked against the classes that its client generates from the schemas.

The public JSON schemas say what these classes say: which members there are, which are required, of which type.
Nothing else is allowed here, so that a misspelt member is found too.
"""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
import uuid
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any
from urllib.parse import urlparse

import attr
from openlineage.client import generated
from openlineage.client.generated import base

_EVENTS = {"RunEvent": base.RunEvent, "DatasetEvent": base.DatasetEvent}
_SPECIAL = {"eventTime": "time", "runId": "uuid", "producer": "uri", "_producer": "uri", "_schemaURL": "uri"}


def problems(event: dict[str, Any]) -> list[str]:
    """Everything that is wrong with an event as it came over the wire; empty when it is well."""
    kind = _EVENTS.get(str(event.get("schemaURL")).rpartition("/")[2])
    if kind is None:
        return [f"schemaURL is {event.get('schemaURL')!r}"]
    return list(_of_class(event, kind, "event"))


def _of_class(value: Any, kind: type, path: str) -> typing.Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} is {value!r}, not an object"
        return
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in attr.fields(kind)}
    for name in value.keys() - fields.keys():
        yield f"{path} has the unknown member {name}"
    for name, field in fields.items():
        if name in value:
            yield from _of_hint(value[name], hints[name], f"{path}.{name}")
            yield from _of_format(value[name], _SPECIAL.get(name), f"{path}.{name}")
        elif field.default is attr.NOTHING or name in {"producer", "schemaURL", "_producer", "_schemaURL"}:
            yield f"{path} lacks {name}"


def _of_hint(value: Any, hint: Any, path: str) -> typing.Iterator[str]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        (inner,) = (one for one in arguments if one is not type(None))
        yield from _of_hint(value, inner, path)
    elif origin in (list, dict):
        yield from _of_container(value, origin, arguments[-1], path)
    elif attr.has(hint):
        yield from _of_class(value, hint, path)
    else:
        yield from _of_plain(value, hint, path)


def _of_container(value: Any, origin: Any, inner: Any, path: str) -> typing.Iterator[str]:
    if not isinstance(value, origin):
        yield f"{path} is {value!r}, not a {origin.__name__}"
        return
    members: dict[Any, Any] = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    for name, item in members.items():
        yield from _of_member(item, inner, f"{path}.{name}")


def _of_plain(value: Any, hint: Any, path: str) -> typing.Iterator[str]:
    if issubclass(hint, Enum):
        if value not in {one.value for one in hint}:
            yield f"{path} is {value!r}, not one of {[one.value for one in hint]}"
    elif not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        yield f"{path} is {value!r}, not {hint.__name__}"


def _of_member(value: Any, kind: Any, path: str) -> typing.Iterator[str]:
    """A facet says by its `_schemaURL` what it is."""
    if isinstance(kind, type) and issubclass(kind, base.BaseFacet):
        known = _facets().get(str(value.get("_schemaURL")))
        if known is None or not issubclass(known, kind):
            yield f"{path} has the _schemaURL {value.get('_schemaURL')!r}, which is no {kind.__name__}"
            return
        kind = known
    yield from _of_hint(value, kind, path)


def _of_format(value: Any, form: str | None, path: str) -> typing.Iterator[str]:
    try:
        if form == "uuid":
            uuid.UUID(value)
        elif form == "time" and datetime.fromisoformat(value.replace("Z", "+00:00")).tzinfo is None:
            yield f"{path} is {value!r}, without a zone"
        elif form == "uri" and not all(urlparse(value)[:2]):
            yield f"{path} is {value!r}, no URI"
    except ValueError:
        yield f"{path} is {value!r}, no {form}"


@cache
def _facets() -> dict[str, type]:
    """The facets by their `_schemaURL`: as the modules name them, since attrs leaves a twin of each class behind."""
    names = (f"{generated.__name__}.{module.name}" for module in pkgutil.iter_modules(generated.__path__))
    kinds = [kind for name in names for kind in vars(importlib.import_module(name)).values()]
    facets = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, base.BaseFacet)]
    return {kind._get_schema(): kind for kind in facets}
