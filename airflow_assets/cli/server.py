"""Commands for whoever runs the server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from airflow_assets.cli import exit_codes
from airflow_assets.cli.output import show_document
from airflow_assets.cli.run import client_of, command, confirm
from airflow_assets.exceptions import CatalogUnavailable

if TYPE_CHECKING:
    import argparse

_NO_DATABASE = "This needs Airflow's database: run it on a host of the server."


@command
def rotate_secret_command(args: argparse.Namespace) -> None:
    """Replace the managed secret."""
    from airflow_assets.airflow_bridge.context import may_use_orm
    from airflow_assets.client.credentials import fingerprint

    client_of(args)  # opens the database where there is one
    if args.api_url or not may_use_orm():
        raise CatalogUnavailable("The secret can only be rotated in the database.", hint=_NO_DATABASE)
    from airflow_assets.airflow_bridge.managed_connection import rotate_secret

    confirm("Replace the secret of the connection airflow_assets_default?", args)
    secret = rotate_secret()
    print(
        f"The new secret has the fingerprint {fingerprint(secret.current)}. The old one is accepted until "
        f"{secret.previous_until}; tasks read the new one within five minutes.",
        file=sys.stderr,
    )


@command
def doctor_command(args: argparse.Namespace) -> int:
    """Check everything and show what was found."""
    from airflow_assets.airflow_bridge.context import may_use_orm
    from airflow_assets.cli import checks

    client = client_of(args)
    local = may_use_orm() and not args.api_url
    findings = checks.of_server() if local else checks.of_client(client, args)
    document = [finding.to_json() for finding in findings]
    cells = [[f.check, f.status, f.found, f.way_out or ""] for f in findings]
    show_document(document, cells, ["check", "status", "found", "way_out"], args.output)
    broken = [finding for finding in findings if finding.status == "problem"]
    if broken:
        noun = "problem" if len(broken) == 1 else "problems"
        print(f"{len(broken)} {noun} in {len(findings)} checks.", file=sys.stderr)
    return exit_codes.PROBLEMS if broken else exit_codes.OK
