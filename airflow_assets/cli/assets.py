"""Commands on single assets and on lists of them."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_assets.cli.output import Columns, show_one, show_rows
from airflow_assets.cli.run import client_of, command, confirm
from airflow_assets.exceptions import InvalidAsset, InvalidQuery
from airflow_assets.schemas.assets import AssetInput, AssetUpdate, Rename
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.queries import MAX_PAGE, AssetQuery
from airflow_assets.schemas.query_text import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_T = TypeVar("_T")
_COLUMNS: Columns = {
    "id": lambda asset: asset.id,
    "type": lambda asset: asset.type,
    "namespace": lambda asset: asset.namespace,
    "updated": lambda asset: iso(asset.updated),
    "freshness": lambda asset: asset.freshness.state.value if asset.freshness else None,
    "age": lambda asset: round(asset.freshness.age) if asset.freshness else None,
}
_DELETED: Columns = {"deleted": lambda asset: asset.deleted}


@command
def list_command(args: argparse.Namespace) -> None:
    """List assets."""
    query = AssetQuery(
        ids=args.id,
        types=args.type,
        namespace=args.namespace,
        q=args.q,
        metadata_query=parse(args.where or ""),
        include_deleted=args.include_deleted,
        sort=args.sort,
        limit=page_size(args.limit),
    )
    columns = _COLUMNS | (_DELETED if args.include_deleted else {})
    show_rows(first(client_of(args).iter_assets(query), args.limit), columns, args.output)


@command
def get_command(args: argparse.Namespace) -> None:
    """Show one asset."""
    show_one(client_of(args).get_asset(args.asset_id, include_deleted=args.include_deleted), args.output)


@command
def create_command(args: argparse.Namespace) -> None:
    """Create an asset."""
    asset = AssetInput(id=args.asset_id, type=args.type, **_members(args))
    show_one(client_of(args).create_asset(asset), args.output)


@command
def update_command(args: argparse.Namespace) -> None:
    """Change an asset."""
    members = _members(args)
    if args.type is not None:
        members["type"] = args.type
    if args.clear_namespace:
        if "namespace" in members:
            raise InvalidAsset("--namespace and --clear_namespace contradict each other.", hint="Give one.")
        members["namespace"] = None
    if not members:
        raise InvalidAsset("There is nothing to change.", hint="Give an option, such as --metadata.")
    show_one(client_of(args).update_asset(args.asset_id, AssetUpdate(**members)), args.output)


@command
def delete_command(args: argparse.Namespace) -> None:
    """Delete an asset."""
    confirm(f"Delete the asset {args.asset_id!r}?", args)
    client_of(args).delete_asset(args.asset_id)
    print(f"Deleted {args.asset_id}.", file=sys.stderr)


@command
def rename_command(args: argparse.Namespace) -> None:
    """Rename an asset."""
    rename = Rename(old_id=args.old_id, new_id=args.new_id)
    show_one(client_of(args).rename_asset(rename), args.output)


def page_size(limit: int) -> int:
    """Return the size of the pages in which ``limit`` items (0: all) are read.

    :raises InvalidQuery: the limit is negative.
    """
    if limit < 0:
        raise InvalidQuery(f"--limit must be 0 or more, not {limit}.", field="limit")
    return min(limit or MAX_PAGE, MAX_PAGE)


def first(items: Iterator[_T], limit: int) -> Iterator[_T]:
    """Return the first ``limit`` items, all of them for 0."""
    return islice(items, limit or None)


def _members(args: argparse.Namespace) -> dict[str, Any]:
    given = {
        "namespace": args.namespace,
        "display_name": args.display_name,
        "description": None if args.description is None else _text(args.description),
        "metadata": None if args.metadata is None else _json_object(args.metadata),
        "uri": args.uri,
    }
    return {name: value for name, value in given.items() if value is not None}


def _text(argument: str) -> str:
    """Read ``@file`` from the file; ``@-`` is standard input."""
    if not argument.startswith("@"):
        return argument
    return sys.stdin.read() if argument == "@-" else Path(argument[1:]).read_text(encoding="utf-8")


def _json_object(argument: str) -> dict[str, Any]:
    text = _text(argument)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidAsset(
            f"--metadata is not JSON: {error}.",
            hint="""Write --metadata '{"owner": "data"}'.""",
            field="metadata",
        ) from None
    if not isinstance(found, dict):
        raise InvalidAsset(f"--metadata must be a JSON object, not {text[:50]}.", field="metadata")
    return found
