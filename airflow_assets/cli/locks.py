"""Commands on the locks of assets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from airflow_assets.cli.assets import first, page_size
from airflow_assets.cli.output import Columns, show_rows
from airflow_assets.cli.run import client_of, command
from airflow_assets.client.locking import acquire_in_turn, request_of, wait_seconds
from airflow_assets.exceptions import InvalidRequest
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.leases import ForcedUnlockQuery, ForceUnlock, LeaseQuery, ReleaseLeases

if TYPE_CHECKING:
    import argparse

    from airflow_assets.client.base import CatalogClient

_LEASES: Columns = {
    "asset_id": lambda lease: lease.asset_id,
    "owner": lambda lease: lease.owner,
    "locked_until": lambda lease: iso(lease.locked_until),
    "fencing_token": lambda lease: lease.fencing_token,
}
_FORCED: Columns = {
    "asset_id": lambda forced: forced.asset_id,
    "owner": lambda forced: forced.lease.owner,
    "by": lambda forced: forced.source.user,
    "created": lambda forced: iso(forced.created),
    "reason": lambda forced: forced.reason,
}


@command
def lock_command(args: argparse.Namespace) -> None:
    """Lock assets for the user, all or none."""
    request = request_of(args.asset_ids, args.ttl, "run")
    patience = wait_seconds(args.timeout) if args.wait or args.timeout else 0.0
    leases, _ = acquire_in_turn(client_of(args), request, patience)
    show_rows(leases, _LEASES, args.output)


@command
def unlock_command(args: argparse.Namespace) -> None:
    """Release the user's locks; with --force whoever's."""
    if bool(args.force) != bool(args.reason):
        raise InvalidRequest(
            "--force and --reason belong together.",
            hint="--force takes a lock from whoever holds it, and the reason is recorded.",
            field="reason",
        )
    client = client_of(args)
    if args.force:
        _unlock_by_force(client, args.asset_ids, args.reason)
        return
    released = client.release_leases(ReleaseLeases(asset_ids=args.asset_ids)).released
    for asset_id in args.asset_ids:
        told = "Released" if asset_id in released else "Left alone, as it is no lock of yours:"
        print(f"{told} {asset_id}.", file=sys.stderr)


def _unlock_by_force(client: CatalogClient, asset_ids: list[str], reason: str) -> None:
    for asset_id in asset_ids:
        taken = client.force_unlock(ForceUnlock(asset_id=asset_id, reason=reason)).unlocked
        if taken is None:
            print(f"{asset_id} was not locked.", file=sys.stderr)
        else:
            print(f"Took the lock of {taken.asset_id} from {taken.lease.owner}.", file=sys.stderr)


@command
def locks_command(args: argparse.Namespace) -> None:
    """List the locks that are held now, or those that were taken by force."""
    client = client_of(args)
    if args.forced:
        forced = client.iter_forced_unlocks(ForcedUnlockQuery(asset_id=args.id, limit=page_size(args.limit)))
        show_rows(first(forced, args.limit), _FORCED, args.output)
        return
    leases = client.iter_leases(LeaseQuery(asset_id=args.id, limit=page_size(args.limit)))
    show_rows(first(leases, args.limit), _LEASES, args.output)
