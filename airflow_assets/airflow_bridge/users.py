"""Airflow's users and what its auth manager lets them do with assets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from airflow_assets.exceptions import NotAuthenticated

if TYPE_CHECKING:
    from starlette.requests import Request


async def user_of(request: Request) -> Any:
    """Return Airflow's user of a request: by bearer token, else by the session cookie.

    :raises NotAuthenticated: there is neither, or it is not valid.
    """
    from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
    from fastapi import HTTPException

    try:
        return await get_user(request, None, await bearer_scheme(request))
    except HTTPException as error:
        raise NotAuthenticated(
            f"Airflow does not know who you are: {error.detail}.",
            hint="Log in, or send 'Authorization: Bearer <token>' with a token of POST /auth/token.",
        ) from None


def may_access_assets(user: Any, method: str) -> bool:
    """Ask the auth manager for ``method`` (GET, POST, PUT, DELETE) on assets; may use the database."""
    from airflow.api_fastapi.app import get_auth_manager

    return bool(get_auth_manager().is_authorized_asset(method=cast("Any", method), user=user))


def is_member(user: Any, team: str) -> bool:
    """Ask the auth manager whether the user belongs to a team; only under ``[core] multi_team``."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import TeamDetails

    return bool(
        get_auth_manager().is_authorized_team(method="GET", details=TeamDetails(name=team), user=user)
    )
