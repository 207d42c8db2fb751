"""The operator that purges."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.operators.base import CONNECTION_FIELDS, CatalogOperator, is_constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_assets.schemas.purge import Purge, PurgeResult

_FILTERS = ("namespace", "asset_id", "asset_type", "metadata_query")
_SWITCHES = ("purge_assets", "purge_asset_usages", "purge_asset_lineages", "purge_asset_events")
_WORDS = {
    **dict.fromkeys(("true", "t", "1", "yes", "y", "on"), True),
    **dict.fromkeys(("false", "f", "0", "no", "n", "off", "none", ""), False),
}


class PurgeAssetsOperator(CatalogOperator):
    """Delete for good what is old: assets, usages, lineage events, and events if asked for.

    Locked assets stay. Events and lineage events stay which a Dag, sensor or shipper has yet to read. A run
    that was killed or cleared begins again and finds what is left.

    :param end_date: a time with a zone, inclusive, as a ``datetime`` or ISO 8601 text: assets updated, other
        records made until then. It is no end of the task's schedule, as other operators have it.
    :param namespace: the namespace and its dotted children: ``a.b`` covers ``a.b.c``, never ``a.b_other``.
    :param asset_id: one asset, by its id or a former one; only with ``purge_asset_lineages=False``.
    :param asset_type: whole types, any of them; only with ``purge_asset_usages=False`` and
        ``purge_asset_lineages=False``.
    :param metadata_query: conditions as in :class:`~airflow_assets.operators.ListAssetsOperator`; only with
        those off and without ``purge_asset_events``.
    :param dry_run: count only.
    :raises InvalidQuery: a filter that one of the chosen kinds of records does not have; nothing is deleted.

    Returns ``purgedAssetsCount``, ``purgedAssetUsagesCount``, ``purgedAssetLineagesCount`` and
    ``purgedAssetEventsCount``: null where the switch is off, 0 where nothing matched.

    >>> PurgeAssetsOperator(
    ...     task_id="purge", end_date="{{ dag_run.run_after - macros.timedelta(days=90) }}",
    ...     namespace="company.data", purge_assets=False, purge_asset_events=True,
    ... )
    """

    template_fields: Sequence[str] = (
        "purge_end_date", *_FILTERS, *_SWITCHES, "purge_dry_run", *CONNECTION_FIELDS,
    )  # fmt: skip
    template_fields_renderers: ClassVar[dict[str, str]] = {"metadata_query": "json", "asset_type": "json"}

    def __init__(
        self,
        *,
        end_date: datetime | str,
        namespace: str | None = None,
        asset_id: str | None = None,
        asset_type: list[str] | str | None = None,
        metadata_query: list[dict[str, Any]] | None = None,
        purge_assets: bool | str = True,
        purge_asset_usages: bool | str = True,
        purge_asset_lineages: bool | str = True,
        purge_asset_events: bool | str = False,
        dry_run: bool | str = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        # Operators have both names already: the end of the task's schedule, and a method.
        self.purge_end_date = end_date
        self.purge_dry_run = dry_run
        self.namespace = namespace
        self.asset_id = asset_id
        self.asset_type = asset_type
        self.metadata_query = metadata_query
        self.purge_assets = purge_assets
        self.purge_asset_usages = purge_asset_usages
        self.purge_asset_lineages = purge_asset_lineages
        self.purge_asset_events = purge_asset_events
        if all(_is_final(value) for value in self._arguments().values()):
            self._purge()

    def execute(self, context: Context) -> dict[str, Any]:  # noqa: ARG002
        """Purge to the end and return the counts."""
        from airflow_assets.schemas.case import camel
        from airflow_assets.schemas.purge import PURGED

        done: PurgeResult | None = None
        for done in self.client().iter_purge(self._purge()):
            self.log.info("%d records so far.", done.purged)
        assert done is not None  # noqa: S101 - a purge has at least one step
        self._tell(done)
        return {camel(name): getattr(done, name) for name in PURGED}

    def _arguments(self) -> dict[str, Any]:
        names = (*_FILTERS, *_SWITCHES)
        given = {name: getattr(self, name) for name in names}
        return {"end_date": self.purge_end_date, **given, "dry_run": self.purge_dry_run}

    def _purge(self) -> Purge:
        """Return what to purge.

        :raises InvalidRequest: an argument breaks a rule.
        """
        from pydantic import ValidationError

        from airflow_assets.exceptions import InvalidRequest
        from airflow_assets.schemas.purge import Purge

        given = self._arguments()
        switches = {name: _switch(name, given.pop(name)) for name in (*_SWITCHES, "dry_run")}
        filters = {name: value for name, value in given.items() if value not in (None, "", [])}
        if isinstance(filters.get("asset_type"), str):
            filters["asset_type"] = [filters["asset_type"]]
        members: dict[str, Any] = {**filters, **switches}
        try:
            return Purge(**members)
        except ValidationError as error:
            first: Any = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise InvalidRequest(
                f"{name} cannot be {first['input']!r}: {first['msg']}.", field=name
            ) from None

    def _tell(self, done: PurgeResult) -> None:
        verb = "Would purge" if _switch("dry_run", self.purge_dry_run) else "Purged"
        self.log.info("%s %d records.", verb, done.purged)
        if done.locked_assets_count:
            self.log.info("%d assets stay because they are locked.", done.locked_assets_count)
        if done.kept_for_readers_count:
            names = ", ".join(f"{one.kind} {one.name}" for one in done.readers)
            self.log.info("%d records stay until they are read by %s.", done.kept_for_readers_count, names)
        for one in done.idle_readers:
            self.log.warning(
                "The %s %s has not read on since %s: nothing is kept for it.", one.kind, one.name, one.updated
            )


def _is_final(value: Any) -> bool:
    return isinstance(value, datetime) or is_constant(value)


def _switch(name: str, value: Any) -> bool:
    """Accept a bool and, as templates give it, the text of one."""
    if isinstance(value, bool):
        return value
    word = _WORDS.get(str(value).strip().lower())
    if word is None:
        from airflow_assets.exceptions import InvalidRequest

        raise InvalidRequest(f"{name} must be true or false, not {value!r}.", field=name, value=str(value))
    return word
