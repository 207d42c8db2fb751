"""Around every command: its client, its exit code, and an error without a traceback."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from airflow_assets import exceptions
from airflow_assets.cli import exit_codes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from airflow_assets.client.base import CatalogClient

_CODES: tuple[tuple[type[exceptions.AssetCatalogError], int], ...] = (
    (exceptions.InvalidRequest, exit_codes.INVALID),
    (exceptions.NotAuthenticated, exit_codes.REFUSED),
    (exceptions.NotPermitted, exit_codes.REFUSED),
    (exceptions.NotFound, exit_codes.NOT_FOUND),
    (exceptions.Conflict, exit_codes.CONFLICT),
    (exceptions.AssetLocked, exit_codes.LOCKED),
    (exceptions.CatalogUnavailable, exit_codes.UNAVAILABLE),
)


class Declined(Exception):
    """The user does not want it after all, or could not be asked."""


def command(function: Callable[[argparse.Namespace], int | None]) -> Callable[[argparse.Namespace], None]:
    """Make a function a command: it ends the process with its result, or with the exit code of its error."""

    @functools.wraps(function)
    def run(args: argparse.Namespace) -> None:
        code = _guarded(function, args)
        if code:
            raise SystemExit(code)

    return run


def _guarded(function: Callable[[argparse.Namespace], int | None], args: argparse.Namespace) -> int:
    try:
        _load_providers()
        result = function(args)
        sys.stdout.flush()
        return result or exit_codes.OK
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough; what is left must not be flushed into the
        # pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.OK
    except KeyboardInterrupt:
        return _say("interrupted", None, exit_codes.INTERRUPTED)
    except Exception as error:
        told = _of_ours(error) or _of_a_library(error)
        if told is None:
            raise
        return _say(*told)


def code_of(error: exceptions.AssetCatalogError) -> int:
    """Return the exit code of an error of the catalogue."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), exit_codes.BUG)


PATIENCE = 10.0
"""Seconds to keep trying: a person waits for the answer."""


def client_of(args: argparse.Namespace) -> CatalogClient:
    """Return the client that the connection options ask for.

    The token and the password come from the environment or the keyboard: on a command line other users
    see them.
    """
    from airflow_assets.client import DEFAULT_CONN_ID, get_client

    _open_database()
    password = None
    if args.username:
        password = os.environ.get("AIRFLOW_ASSETS_PASSWORD") or _ask_password(args.username)
    return get_client(
        args.conn_id or DEFAULT_CONN_ID,
        api_url=args.api_url,
        tenant=args.tenant,
        token=os.environ.get("AIRFLOW_ASSETS_TOKEN"),
        username=args.username,
        password=password,
        patience=PATIENCE,
    )


def confirm(question: str, args: argparse.Namespace) -> None:
    """Ask the user unless --yes was given.

    :raises Declined: the answer is not yes, or there is nobody to ask.
    """
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise Declined(f"{question} Nobody can be asked here: give --yes.")
    if input(f"{question} [y/N] ").strip().lower() not in {"y", "yes"}:
        raise Declined("Nothing was done.")


def _ask_password(username: str) -> str:
    if not sys.stdin.isatty():
        raise exceptions.InvalidRequest(
            f"There is no password for {username!r}.", hint="Set AIRFLOW_ASSETS_PASSWORD."
        )
    import getpass

    return getpass.getpass(f"Password of {username}: ")


def _load_providers() -> None:
    """Let the configuration know the options of the providers."""
    from airflow.providers_manager import ProvidersManager

    manager: Any = ProvidersManager()  # type: ignore[no-untyped-call]
    manager.initialize_providers_configuration()


def _open_database() -> None:
    from airflow import settings

    if getattr(settings, "Session", None) is None:
        settings.initialize()  # type: ignore[no-untyped-call]


def _say(detail: str, hint: str | None, code: int) -> int:
    print(f"error: {detail}", file=sys.stderr)
    if hint:
        print(f"       {hint}", file=sys.stderr)
    return code


def _of_ours(error: Exception) -> tuple[str, str | None, int] | None:
    if isinstance(error, Declined):
        return str(error), None, exit_codes.DECLINED
    if isinstance(error, exceptions.AssetCatalogError):
        return error.detail, error.hint, code_of(error)
    return None


def _of_a_library(error: Exception) -> tuple[str, str | None, int] | None:
    """Put into words what Python, pydantic, Airflow and the database driver say; None for a bug."""
    from airflow.exceptions import AirflowConfigException
    from pydantic import ValidationError
    from sqlalchemy.exc import DBAPIError

    if isinstance(error, OSError):
        return str(error), None, exit_codes.INVALID
    if isinstance(error, ValidationError):
        first: Any = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}.", None, exit_codes.INVALID
    if isinstance(error, AirflowConfigException):
        return str(error), None, exit_codes.INVALID
    if isinstance(error, DBAPIError):
        return (
            f"The database cannot be used: {error.orig}.",
            "Run `airflow db migrate` if tables are missing. Off the server, give --api_url.",
            exit_codes.UNAVAILABLE,
        )
    return None
