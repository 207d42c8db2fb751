"""What a Dag follows, and how runs start from it. It travels in the ``extra`` of a marker."""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from typing_extensions import Self

from airflow_assets.exceptions import InvalidQuery, InvalidRequest
from airflow_assets.schemas.base import Schema
from airflow_assets.schemas.events import EventFilter
from airflow_assets.schemas.masking import ascii_name
from airflow_assets.schemas.polls import PollKind

GROUP = "airflow_assets.event"
"""The group of the marker assets of event triggers, by which the server finds them."""
POLLED_GROUPS = {PollKind.FRESHNESS: "airflow_assets.freshness", PollKind.SCRIPT: "airflow_assets.script"}
EXTRA_KEY = "airflow_assets"
MAX_NAME = 250
MAX_WHEN = 4_000
MAX_TRIGGER_ID = 250
RUN_STATES = ("queued", "running", "success", "failed")
_HASH_DIGITS = 12


class OnPause(str, Enum):
    """What happens to the events of a paused Dag."""

    KEEP = "keep"
    SKIP = "skip"


def _on_pause(value: object) -> OnPause:
    try:
        return OnPause(value)
    except ValueError:
        raise InvalidRequest(
            f"on_pause={value!r} is not known.",
            hint="Use 'keep' (runs wait until the Dag is unpaused) or 'skip'.",
            field="on_pause",
        ) from None


def _run_state(value: object) -> str:
    if value not in RUN_STATES:
        raise InvalidRequest(
            f"stop_after has {value!r}, which is not the state of a Dag run.",
            hint=f"Use {', '.join(RUN_STATES)}.",
            field="stop_after",
        )
    return str(value)


def _limit(value: object) -> object:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidRequest(
            f"max_pending={value!r} must be a whole number from 1.",
            hint="Leave it out for [airflow_assets] max_pending.",
            field="max_pending",
        )
    return value


def _trigger_id(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_TRIGGER_ID or not value.isprintable():
        raise InvalidRequest(
            f"The trigger id {value!r} must be 1 to {MAX_TRIGGER_ID} printable characters.", field="id"
        )
    return value


def _when(value: object) -> object:
    if value is None:
        return value
    if not isinstance(value, str) or len(value) > MAX_WHEN:
        raise InvalidQuery(
            f"when= must be a template of at most {MAX_WHEN:,} characters.", field="when", limit=MAX_WHEN
        )
    from jinja2 import TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    try:
        ImmutableSandboxedEnvironment().parse(value)
    except TemplateSyntaxError as error:
        raise InvalidQuery(
            f"The template in when= cannot be read: {error.message} (line {error.lineno}).",
            field="when",
            value=value,
        ) from None
    return value


class Following(Schema):
    """What the triggers of a Dag have in common; :class:`airflow_assets.triggers.EventTrigger` explains them.

    :param trigger_id: what the run calls the trigger that started it.
    :param position: its place among the Dag's triggers: of several that match, the lowest names the run.
    """

    trigger_id: Annotated[str, BeforeValidator(_trigger_id)] = "trigger_1"
    position: int = 1
    when: Annotated[str | None, BeforeValidator(_when)] = None
    stop_after: list[Annotated[str, BeforeValidator(_run_state)]] = Field(default_factory=list)
    allow_concurrent: bool = True
    on_pause: Annotated[OnPause, BeforeValidator(_on_pause)] = OnPause.KEEP
    max_pending: Annotated[int | None, BeforeValidator(_limit)] = None

    @property
    def group(self) -> str:
        """The marker's group."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON, as 64 hexadecimal digits: equal subscriptions, equal digests."""
        text = json.dumps(self._content(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def uri(self) -> str:
        """The marker's uri."""
        return f"x-airflow-assets://{self.group.rpartition('.')[2]}/{self.digest}"

    @property
    def name(self) -> str:
        """The marker's name: reads well, ASCII, at most 250 characters, ends in 12 digits of the digest.

        ``events of analytics.orders (CREATED, UPDATED) #3f9a1c04b7de``
        """
        tail = f" #{self.digest[:_HASH_DIGITS]}"
        text = ascii_name(self._described())
        room = MAX_NAME - len(tail)
        if len(text) > room:
            half = (room - 3) // 2
            text = f"{text[:half]}...{text[-half:]}"
        return text + tail

    def to_extra(self) -> dict[str, Any]:
        """Return the marker's ``extra``."""
        return {EXTRA_KEY: self._content()}

    @classmethod
    def from_extra(cls, extra: dict[str, Any]) -> Self:
        """Read a marker's ``extra``.

        Raises:
            InvalidRequest: it holds no subscription, or one of a newer version.
        """
        content = extra.get(EXTRA_KEY)
        if not isinstance(content, dict):
            raise InvalidRequest("The marker asset holds no subscription.", value=str(extra))
        return cls.model_validate(content)

    def _content(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def _described(self) -> str:
        raise NotImplementedError


class Subscription(Following):
    """One event trigger of a Dag."""

    filter: EventFilter

    @property
    def group(self) -> str:
        """See :class:`Following`."""
        return GROUP

    def _described(self) -> str:
        chosen = self.filter
        of = chosen.asset_id or (
            f"{chosen.asset_type.rpartition('.')[2]} assets" if chosen.asset_type else ""
        )
        where = f" in {chosen.namespace}" if chosen.namespace else ""
        kinds = ", ".join(kind.value for kind in chosen.events) if chosen.events else "any"
        return f"events of {of or 'assets'}{where} ({kinds})"


class PolledSubscription(Following):
    """One polled schedule of a Dag.

    :param poll_key: what is polled (:func:`airflow_assets.schemas.polls.poll_key`).
    :param title: what is polled, for people: ``stale assets in sales (PT6H)``.
    """

    kind: PollKind
    poll_key: str
    title: str
    allow_concurrent: bool = False

    @property
    def group(self) -> str:
        """See :class:`Following`."""
        return POLLED_GROUPS[self.kind]

    def _described(self) -> str:
        return self.title


def read_marker(group: str, extra: dict[str, Any]) -> Subscription | PolledSubscription:
    """Return what the marker asset of a group stands for.

    Raises:
        InvalidRequest: it holds no subscription, or one of a newer version.
    """
    return Subscription.from_extra(extra) if group == GROUP else PolledSubscription.from_extra(extra)
