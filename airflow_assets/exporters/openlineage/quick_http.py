"""The HTTP transport of openlineage-python, with less work for each event.

Many events have the same facets, which are written out once; and a request differs from the one before in its
body alone. Everything else, from the credentials to the compression, is the transport's own.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import requests
from openlineage.client import event_v2 as ol
from openlineage.client.serde import Serde
from openlineage.client.transport.http import HttpTransport

if TYPE_CHECKING:
    from openlineage.client.transport import Transport

_REMEMBERED = 1_000


class QuickHttp(HttpTransport):
    """Sends like :class:`HttpTransport`; one for each thread."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._facets = FacetTexts()
        self._prepared: dict[tuple[tuple[str, str], ...], requests.PreparedRequest] = {}

    def emit(self, event: Any) -> requests.Response:
        """Send an event.

        :raises requests.RequestException: no answer, or one that is no success.
        """
        if self.cert is not None or HTTPConnection.debuglevel:  # both need the care that it takes there
            answer: requests.Response = super().emit(event)
            return answer
        body, headers = self._prepare_request(self._facets.to_json(event))
        request = self._like_before(headers)
        request.prepare_body(body, None)
        answer = self.session.send(request, timeout=self.timeout, verify=self.verify)
        answer.close()
        answer.raise_for_status()
        return answer

    def _like_before(self, headers: dict[str, str]) -> requests.PreparedRequest:
        key = tuple(headers.items())
        if key not in self._prepared:
            self._prepared.clear()  # a token has been renewed: the old one is not needed again
            new = requests.Request("POST", urljoin(self.url, self.endpoint), headers=headers)
            self._prepared[key] = self.session.prepare_request(new)
        return self._prepared[key].copy()


def quick(transport: Transport) -> Transport:
    """Return a transport that does the same with less work; the same one where it is not plain HTTP."""
    if type(transport) is HttpTransport and hasattr(transport, "_prepare_request"):
        return QuickHttp(transport.config)
    return transport


class FacetTexts:
    """Writes events of runs as JSON; remembers how facets are written, which many events share."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Any, str]] = {}

    def to_json(self, event: Any) -> str:
        """Return what ``Serde.to_json`` would say, with the members in another order."""
        if not isinstance(event, ol.RunEvent):
            return str(Serde.to_json(event))
        made = {name: value for name, value in _members(event).items() if value is not None}
        for name in {"run", "job"} & made.keys():
            made[name] = self._whole(made[name])
        for name in {"inputs", "outputs"} & made.keys():
            made[name] = f"[{', '.join(map(self._whole, made[name]))}]"
        for name in made.keys() - {"run", "job", "inputs", "outputs"}:
            made[name] = Serde.to_json(made[name]) if _is_model(made[name]) else _plain_json(made[name])
        return _object(made)

    def _whole(self, thing: Any) -> str:
        """A run, a job or a dataset: names, and facets of one kind or two."""
        made: dict[str, str] = {}
        for name, value in _members(thing).items():
            if isinstance(value, dict):
                facets = ((key, one) for key, one in value.items() if one is not None)
                made[name] = _object({key: self._facet(one) for key, one in facets})
            elif value is not None:
                made[name] = _plain_json(value)
        return _object(made)

    def _facet(self, facet: Any) -> str:
        known = self._texts.get(id(facet))
        if known is None:
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            # Kept with its text: while it lives no other object has its number.
            known = self._texts[id(facet)] = (facet, Serde.to_json(facet))
        return known[1]


def _object(members: dict[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in members.items())}}}"


def _plain_json(value: Any) -> str:
    return json.dumps(Serde.remove_nulls_and_enums(value))


def _is_model(value: Any) -> bool:
    return hasattr(type(value), "__attrs_attrs__")


def _members(thing: Any) -> dict[str, Any]:
    return {field.name: getattr(thing, field.name) for field in type(thing).__attrs_attrs__}
