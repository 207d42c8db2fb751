"""When an asset should be materialized by itself: a tree of conditions, described and not evaluated here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow_assets.authoring.checks import list_of, of_type
from airflow_assets.authoring.crons import is_cron

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Tags = Sequence[tuple[str, str]] | dict[str, str]

_SIGNS = {"and": " & ", "or": " | "}
_METHODS = ("newly_true", "since", "since_last_handled")
_UNNAMED = {*_SIGNS, *_METHODS, "not"}
_WRITTEN_OUT = {
    "in_flight": "(in_progress | backfill_in_progress)",
    "all_deps_updated_since_cron": "all_deps_updated_since_cron",
    "in_latest_time_window": "in_latest_time_window",
}
_NAMES = {"in_flight": "in_flight"}


@dataclass(frozen=True)
class AutomationCondition:
    """A condition; made by one of the static methods, combined with ``&``, ``|`` and ``~``.

    >>> condition = AutomationCondition.eager() & ~AutomationCondition.in_progress()
    >>> condition.description
    '(eager and not in_progress)'
    """

    kind: str
    settings: tuple[tuple[str, Any], ...] = ()
    children: tuple[AutomationCondition, ...] = ()
    label: str | None = field(default=None, compare=False)
    """The name of a condition that has one: what :meth:`with_label` gave, or its own description."""

    def __post_init__(self) -> None:
        if self.label is None and self.kind not in _UNNAMED:
            object.__setattr__(self, "label", _NAMES.get(self.kind) or self.description)

    @staticmethod
    def eager() -> AutomationCondition:
        """Return: newly missing, or a dependency updated; not while one is missing or in progress."""
        condition = AutomationCondition
        wanted = condition.missing().newly_true() | condition.any_deps_updated()
        return (
            wanted.since_last_handled()
            & ~condition.any_deps_missing()
            & ~condition.any_deps_in_progress()
            & ~condition.in_flight()
            & ~condition.execution_failed()
        ).with_label("eager")

    @staticmethod
    def on_cron(cron_schedule: str, timezone: str | None = None) -> AutomationCondition:
        """Return: a tick of the cron has passed, and all dependencies have been updated since.

        :param timezone: by name; default UTC.

        Raises:
            ValueError: no cron expression, or no such zone.
        """
        condition = AutomationCondition
        tick = condition.cron_tick_passed(cron_schedule, timezone)
        done = (condition.newly_requested() | condition.newly_updated()) & ~tick
        return (
            tick.since(done)
            & condition.all_deps_updated_since_cron(cron_schedule, timezone)
            & ~condition.in_flight()
        ).with_label(f"on_cron({_ticks(cron_schedule, timezone)})")

    @staticmethod
    def on_missing() -> AutomationCondition:
        """Return: newly missing, and no dependency is."""
        condition = AutomationCondition
        return (
            condition.missing().newly_true().since_last_handled()
            & ~condition.any_deps_missing()
            & ~condition.execution_failed()
        ).with_label("on_missing")

    @staticmethod
    def missing() -> AutomationCondition:
        """Return: there is no materialization."""
        return AutomationCondition("missing")

    @staticmethod
    def in_progress() -> AutomationCondition:
        """Return: a run of it is under way."""
        return AutomationCondition("in_progress")

    @staticmethod
    def in_flight() -> AutomationCondition:
        """Return: a run or a backfill of it waits or is under way."""
        return AutomationCondition("in_flight")

    @staticmethod
    def backfill_in_progress() -> AutomationCondition:
        """Return: a backfill of it is under way."""
        return AutomationCondition("backfill_in_progress")

    @staticmethod
    def execution_failed() -> AutomationCondition:
        """Return: its last run failed."""
        return AutomationCondition("execution_failed")

    @staticmethod
    def newly_updated() -> AutomationCondition:
        """Return: materialized since the last look."""
        return AutomationCondition("newly_updated")

    @staticmethod
    def newly_requested() -> AutomationCondition:
        """Return: requested at the last look."""
        return AutomationCondition("newly_requested")

    @staticmethod
    def will_be_requested() -> AutomationCondition:
        """Return: requested at this look."""
        return AutomationCondition("will_be_requested")

    @staticmethod
    def code_version_changed() -> AutomationCondition:
        """Return: the declared code version is not that of the last materialization."""
        return AutomationCondition("code_version_changed")

    @staticmethod
    def data_version_changed() -> AutomationCondition:
        """Return: the data version is another than at the last look."""
        return AutomationCondition("data_version_changed")

    @staticmethod
    def initial_evaluation() -> AutomationCondition:
        """Return: this is the first look."""
        return AutomationCondition("initial_evaluation")

    @staticmethod
    def last_run_includes_target() -> AutomationCondition:
        """Return: the last run of the dependency materialized this asset too."""
        return AutomationCondition("last_run_includes_target")

    @staticmethod
    def cron_tick_passed(cron_schedule: str, timezone: str | None = None) -> AutomationCondition:
        """Return: a tick has passed since the last look; see :meth:`on_cron`."""
        return AutomationCondition("cron_tick_passed", _cron(cron_schedule, timezone))

    @staticmethod
    def in_latest_time_window(lookback_delta: float | None = None) -> AutomationCondition:
        """Return: the partition is the latest window, or one that began within the look-back (in seconds).

        Raises:
            ValueError: the look-back is 0 or less.
        """
        if lookback_delta is not None and of_type(lookback_delta, (int, float), "lookback_delta") <= 0:
            raise ValueError(f"lookback_delta must be greater than 0 seconds, not {lookback_delta}")
        return AutomationCondition("in_latest_time_window", (("lookback_delta", lookback_delta),))

    @staticmethod
    def last_executed_with_tags(
        *, tag_keys: Sequence[str] | None = None, tag_values: Tags | None = None
    ) -> AutomationCondition:
        """Return: the last run had these tags."""
        return AutomationCondition("last_executed_with_tags", _tags(tag_keys, tag_values))

    @staticmethod
    def has_run_with_tags(
        *, tag_keys: Sequence[str] | None = None, tag_values: Tags | None = None
    ) -> AutomationCondition:
        """Return: a run since the last look had these tags."""
        return AutomationCondition("has_run_with_tags", _tags(tag_keys, tag_values))

    @staticmethod
    def all_runs_have_tags(
        *, tag_keys: Sequence[str] | None = None, tag_values: Tags | None = None
    ) -> AutomationCondition:
        """Return: all runs since the last look had these tags."""
        return AutomationCondition("all_runs_have_tags", _tags(tag_keys, tag_values))

    @staticmethod
    def any_deps_missing() -> AutomationCondition:
        """Return: a dependency is missing."""
        return AutomationCondition("any_deps_missing")

    @staticmethod
    def any_deps_in_progress() -> AutomationCondition:
        """Return: a run of a dependency is under way."""
        return AutomationCondition("any_deps_in_progress")

    @staticmethod
    def any_deps_updated() -> AutomationCondition:
        """Return: a dependency was materialized since the last look."""
        return AutomationCondition("any_deps_updated")

    @staticmethod
    def any_deps_match(condition: AutomationCondition) -> AutomationCondition:
        """Return: a dependency meets the condition."""
        return AutomationCondition("any_deps_match", children=(_condition(condition),))

    @staticmethod
    def all_deps_match(condition: AutomationCondition) -> AutomationCondition:
        """Return: all dependencies meet the condition."""
        return AutomationCondition("all_deps_match", children=(_condition(condition),))

    @staticmethod
    def all_deps_updated_since_cron(cron_schedule: str, timezone: str | None = None) -> AutomationCondition:
        """Return: all dependencies were materialized since the last tick, or are about to be."""
        return AutomationCondition("all_deps_updated_since_cron", _cron(cron_schedule, timezone))

    def newly_true(self) -> AutomationCondition:
        """Return: true now, and not at the last look."""
        return AutomationCondition("newly_true", children=(self,))

    def since(self, reset_condition: AutomationCondition) -> AutomationCondition:
        """Return: has been true since the reset was last true."""
        return AutomationCondition("since", children=(self, _condition(reset_condition)))

    def since_last_handled(self) -> AutomationCondition:
        """Return: has been true since the asset was last requested or updated."""
        return AutomationCondition("since_last_handled", children=(self,))

    def on_selected(self, keys: Sequence[str]) -> AutomationCondition:
        """Return: true for one of these dependencies."""
        return AutomationCondition("on_selected", (("keys", tuple(list_of(keys, str, "keys"))),), (self,))

    def with_label(self, label: str) -> AutomationCondition:
        """Return the same condition under a name."""
        return replace(self, label=of_type(label, str, "label"))

    def replace(self, old: AutomationCondition | str, new: AutomationCondition) -> AutomationCondition:
        """Return the tree with every occurrence of a condition, or of a description, exchanged."""
        if self.means(old):
            return _condition(new)
        children = tuple(child.replace(old, new) for child in self.children)
        return self if children == self.children else replace(self, children=children)

    def without(self, condition: AutomationCondition | str) -> AutomationCondition:
        """Return the tree without a part of an ``and`` or ``or``; the same tree where it has none."""
        kept = tuple(child.without(condition) for child in self.children if not child.means(condition))
        if kept == self.children:
            return self
        if self.kind in {"and", "or"} and len(kept) == 1:
            return kept[0]
        return replace(self, children=kept) if kept else self

    @property
    def description(self) -> str:
        """The condition written out.

        >>> AutomationCondition.on_missing().description
        '(missing.newly_true().since_last_handled() & ~any_deps_missing & ~execution_failed)'
        """
        parts = [child.description for child in self.children]
        if self.kind in _SIGNS:
            return f"({_SIGNS[self.kind].join(parts)})"
        if self.kind == "not":
            return f"~{parts[0]}"
        if self.kind in _METHODS:
            return f"{parts[0]}.{self.kind}({', '.join(parts[1:])})"
        if self.kind in _WRITTEN_OUT:
            return _WRITTEN_OUT[self.kind]
        given = [text for name, value in self.settings for text in _shown(name, value)]
        return f"{self.kind}({', '.join(given + parts)})" if given or parts else self.kind

    def __and__(self, other: AutomationCondition) -> AutomationCondition:
        return _joined("and", self, other)

    def __or__(self, other: AutomationCondition) -> AutomationCondition:
        return _joined("or", self, other)

    def __invert__(self) -> AutomationCondition:
        return AutomationCondition("not", children=(self,))

    def __repr__(self) -> str:
        return f"AutomationCondition({self.description})"

    def means(self, other: AutomationCondition | str) -> bool:
        """Tell whether this is the condition, or the one of the description or label."""
        return other in {self.description, self.label} if isinstance(other, str) else self == other


def _joined(kind: str, left: AutomationCondition, right: AutomationCondition) -> AutomationCondition:
    parts: list[AutomationCondition] = []
    for side in (left, _condition(right)):
        parts += side.children if side.kind == kind and side.label is None else (side,)
    return AutomationCondition(kind, children=tuple(parts))


def _condition(value: Any) -> AutomationCondition:
    return of_type(value, AutomationCondition, "a condition")


def _cron(cron: str, tz: str | None) -> tuple[tuple[str, Any], ...]:
    if not is_cron(cron):
        raise ValueError(f"{cron!r} is no cron expression, such as '0 6 * * *'")
    try:
        datetime.now(ZoneInfo(tz) if tz else timezone.utc)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"{tz!r} is no time zone, such as 'Europe/Paris'") from error
    return ("cron", cron), ("tz", tz)


def _ticks(cron: str, tz: str | None) -> str:
    return f"{cron!r}, tz={tz!r}" if tz else repr(cron)


def _shown(name: str, value: Any) -> Iterator[str]:
    """What a description says of a setting."""
    if name == "tag_keys":
        yield from value
    elif name == "tag_values":
        yield from (f"{tag}={text}" for tag, text in value)
    elif name == "keys":
        yield from map(repr, value)
    elif value is not None:
        yield f"tz={value!r}" if name == "tz" else repr(value)


def _tags(keys: Any, values: Any) -> tuple[tuple[str, Any], ...]:
    if not keys and not values:
        raise ValueError("Name at least one tag in tag_keys or tag_values")
    pairs = values.items() if isinstance(values, dict) else values or ()
    checked = tuple(sorted((of_type(tag, str, "a tag"), of_type(text, str, tag)) for tag, text in pairs))
    return ("tag_keys", tuple(list_of(keys or [], str, "tag_keys"))), ("tag_values", checked)
