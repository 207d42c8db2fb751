"""What ``doctor`` looks at, from a host of the server and from anywhere else."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_assets import config
from airflow_assets.exceptions import AssetCatalogError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection as DatabaseConnection

    from airflow_assets.client.base import CatalogClient

MAX_SKEW = 10.0
"""Seconds: what the API tolerates between the clocks of a worker and its own."""
MAX_LAG = 60.0
MAX_NAMED = 10


@dataclass(frozen=True)
class Finding:
    """One result. ``status`` is ``ok``, ``note`` (worth knowing) or ``problem``."""

    check: str
    status: str
    found: str
    way_out: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the members as they travel."""
        from airflow_assets.schemas.case import camel

        return {camel(name): value for name, value in asdict(self).items()}


def of_server() -> list[Finding]:
    """Check from a host that may use Airflow's database. A check that cannot be made is a problem, too."""
    from airflow_assets.cli.reach import addresses

    tables = _guarded("tables", _tables)
    if any(finding.status == "problem" for finding in tables):
        return tables
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("options", options),
        ("secret", _secret),
        ("address", addresses),
        ("clock", _database_clock),
        ("jobs", _jobs),
        ("dispatcher", _dispatcher),
        ("follower", _follower),
        ("pending runs", _pending),
        ("names", _names),
    )
    return tables + [finding for name, check in checks for finding in _guarded(name, check)]


def of_client(client: CatalogClient, args: argparse.Namespace) -> list[Finding]:
    """Check what can be seen without the database: the way to the API, and the credentials."""
    from airflow_assets.cli.reach import from_here

    return _guarded("address", lambda: from_here(client, args))


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(check())
    except AssetCatalogError as error:
        return [Finding(name, "problem", error.detail, error.hint)]
    except Exception as error:  # noqa: BLE001 - whatever is broken is what the doctor has to name
        return [Finding(name, "problem", f"cannot be checked: {type(error).__name__}: {error}")]


def _tables() -> Iterator[Finding]:
    from airflow.utils.session import create_session

    from airflow_assets.airflow_bridge.db_manager import AssetsDBManager

    with create_session(scoped=False) as session:
        logging.getLogger("alembic").setLevel(logging.WARNING)
        manager: Any = AssetsDBManager(session)  # type: ignore[no-untyped-call]
        present, wanted = manager.get_current_revision(), manager.get_script_object().get_current_head()
    if present is None:
        yield Finding("tables", "problem", "the catalogue has no tables", "Run `airflow db migrate`.")
    elif present != wanted:
        found = f"the tables are at revision {present}, this version needs {wanted}"
        yield Finding("tables", "problem", found, "Install the newest version and run `airflow db migrate`.")
    else:
        yield Finding("tables", "ok", f"revision {present}")


def options() -> Iterator[Finding]:
    """Read every option as the server does: a wrong one would fail each request or run that needs it."""
    from airflow.exceptions import AirflowConfigException

    from airflow_assets.airflow_bridge.namespaces import configured_rules

    wrong = 0
    for read in (configured_rules, *(getattr(config, name) for name in config.OPTIONS)):
        try:
            read()
        except AirflowConfigException as error:
            wrong += 1
            yield Finding("options", "problem", str(error), "docs/configuration.md lists what it may be.")
    if not wrong:
        yield Finding("options", "ok", f"all {len(config.OPTIONS)} of [{config.SECTION}] can be read")


def _secret() -> Iterator[Finding]:
    from airflow.configuration import conf

    from airflow_assets.airflow_bridge import managed_connection
    from airflow_assets.client.credentials import fingerprint
    from airflow_assets.schemas.credentials import CONN_ID

    secret = managed_connection.resolve_secret(fresh=True)
    source = managed_connection.supplied_by() or "Airflow's database"
    if secret is None:
        found = f"the connection {CONN_ID}, supplied by {source}, is missing or has no secret"
        yield Finding("secret", "problem", found, "Run `airflow db migrate`, or add it where it is supplied.")
        return
    yield Finding("secret", "ok", f"fingerprint {fingerprint(secret.current)}, from {source}")
    if config.task_auth() != "managed":
        found = f"[airflow_assets] task_auth is {config.task_auth()}: tasks cannot use the secret"
        yield Finding("secret", "note", found)
    if not conf.get("core", "fernet_key", fallback=""):
        yield Finding(
            "secret", "note", "without [core] fernet_key the secret is stored in clear text",
            "Set a key and run `airflow rotate-fernet-key`.",
        )  # fmt: skip


def _database_clock() -> Iterator[Finding]:
    from airflow_assets.airflow_bridge.context import get_service
    from airflow_assets.catalog.engine import db_now, read

    with read(get_service().engine) as conn:
        skew = (db_now(conn) - datetime.now(timezone.utc)).total_seconds()
    yield skew_finding("the database's", skew)


def skew_finding(whose: str, skew: float) -> Finding:
    """Judge the difference between a clock and that of this host, in seconds."""
    found = f"{whose} clock is {skew:+.1f} s off this host's"
    if abs(skew) > MAX_SKEW:
        return Finding("clock", "problem", found, "Let NTP keep the clocks of all hosts.")
    return Finding("clock", "ok", found)


def _jobs() -> Iterator[Finding]:
    from airflow_assets.airflow_bridge import vitals
    from airflow_assets.airflow_bridge.context import get_service

    if not config.enabled():
        yield Finding("jobs", "note", "[airflow_assets] enabled is False: no background job runs")
        return
    jobs = vitals.jobs(get_service().engine)
    if not jobs:
        yield Finding("jobs", "problem", "no background job has ever run", "Start the API server.")
    for job in jobs:
        if job.alive:
            yield Finding("jobs", "ok", f"{job.name} runs at {job.owner}")
        else:
            found = f"{job.name} does not run; its lease ended at {job.expires:%Y-%m-%d %H:%M:%S} UTC"
            yield Finding("jobs", "problem", found, "Start the API server, or look into its log.")


def _dispatcher() -> Iterator[Finding]:
    from airflow_assets.airflow_bridge import vitals
    from airflow_assets.airflow_bridge.context import get_service

    state = vitals.vitals(get_service().engine)
    behind = {dag: count for dag, count in state.unread.items() if count}
    if state.oldest_unread <= MAX_LAG:
        yield Finding("dispatcher", "ok", f"reads to number {state.log_position} of the log without delay")
        return
    found = f"the oldest event not handed to {_some(behind)} is {state.oldest_unread:.0f} s old"
    way_out = "Is a Dag at max_pending (see pending runs)? Else look into the API server's log."
    yield Finding("dispatcher", "problem", found, way_out)


def _follower() -> Iterator[Finding]:
    from airflow_assets.airflow_bridge.context import get_service
    from airflow_assets.catalog.engine import read

    with read(get_service().engine) as conn:
        waiting, oldest = _unfollowed(conn)
    if oldest > MAX_LAG:
        found = f"{waiting} events of Airflow's own assets wait, the oldest for {oldest:.0f} s"
        yield Finding("follower", "problem", found, "Look into the API server's log for 'follower'.")
    else:
        yield Finding("follower", "ok", "Airflow's own asset events are taken over without delay")


def _unfollowed(conn: DatabaseConnection) -> tuple[int, float]:
    """Count Airflow's events above the follower's floor that nobody has taken, with the age of the oldest."""
    from airflow.models.asset import AssetEvent
    from sqlalchemy import exists, func, select

    from airflow_assets.catalog import tables
    from airflow_assets.catalog.engine import db_now

    consumer, followed = tables.consumer.c, tables.followed.c
    highest = select(func.coalesce(func.max(consumer.seq), 0)).where(consumer.kind == "follower")
    floor = highest.scalar_subquery()
    taken = exists().where(followed.airflow_event_id == AssetEvent.id)
    count, oldest = conn.execute(
        select(func.count(), func.min(AssetEvent.timestamp)).where(AssetEvent.id > floor, ~taken)
    ).one()
    if not count:
        return 0, 0.0
    moment = oldest if oldest.tzinfo else oldest.replace(tzinfo=timezone.utc)
    return count, (db_now(conn) - moment).total_seconds()


def _pending() -> Iterator[Finding]:
    from airflow_assets.airflow_bridge import vitals
    from airflow_assets.airflow_bridge.context import get_service

    pending = vitals.vitals(get_service().engine).pending
    full = {dag: count for dag, count in pending.items() if count >= config.max_pending()}
    if full:
        yield Finding(
            "pending runs", "problem", f"as many runs as allowed are queued: {_some(full)}",
            "Unpause the Dag, raise its max_active_runs or [airflow_assets] max_pending. No event is lost."
        )  # fmt: skip
    else:
        yield Finding(
            "pending runs", "ok", _some(pending) if pending else "no run made by an event is queued"
        )


def _names() -> Iterator[Finding]:
    from airflow_assets.airflow_bridge.context import get_service
    from airflow_assets.catalog.engine import read

    with read(get_service().engine) as conn:
        conflicts = _conflicts(conn)
    for name, places in list(conflicts.items())[:MAX_NAMED]:
        found = f"the asset {name!r} has several uris: {'; '.join(places)}"
        yield Finding(
            "names", "problem", found, "Give all the same uri=: Airflow runs only tasks of one of them."
        )
    if len(conflicts) > MAX_NAMED:
        yield Finding("names", "problem", f"{len(conflicts) - MAX_NAMED} more names have several uris")
    if not conflicts:
        yield Finding("names", "ok", "every asset name has one uri")


def _conflicts(conn: DatabaseConnection) -> dict[str, list[str]]:
    """Return name -> uris with their places, of the names that Dags use with more than one uri."""
    from airflow.models.asset import AssetModel
    from sqlalchemy import func, select

    from airflow_assets.airflow_bridge.context import orm
    from airflow_assets.airflow_bridge.native_uris import native_uris

    twice = (
        select(AssetModel.name).group_by(AssetModel.name).having(func.count() > 1).order_by(AssetModel.name)
    )
    names = list(conn.execute(twice.limit(1_000)).scalars())
    found: dict[str, list[str]] = {}
    with orm(conn) as session:
        for used in native_uris(session, names).items if names else ():
            active = ", active" if used.active else ""
            places = ", ".join(used.files or used.dag_ids)
            found.setdefault(used.name, []).append(f"{used.uri} ({places}{active})")
    return {name: places for name, places in found.items() if len(places) > 1}


def _some(counts: dict[str, int]) -> str:
    shown = [f"{name}: {count:,}" for name, count in list(counts.items())[:MAX_NAMED]]
    return ", ".join(shown) + (f" and {len(counts) - MAX_NAMED} more" if len(counts) > MAX_NAMED else "")
