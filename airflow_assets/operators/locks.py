"""Operators that lock assets and release them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from airflow_assets.links import AssetLink
from airflow_assets.operators.base import CONNECTION_FIELDS, CatalogOperator, check_constants

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from airflow.sdk import BaseOperatorLink, Context

    from airflow_assets.schemas.lease import Lease
    from airflow_assets.schemas.leases import AcquireLeases

_TRUE, _FALSE = ("1", "t", "true", "y", "yes", "on"), ("", "0", "f", "false", "n", "no", "off", "none")


class AcquireAssetLockOperator(CatalogOperator):
    """Lock an asset for the Dag run: until it is released or the run ends, nobody else can write it.

    The lock runs out after ``ttl``; each write of its holder extends it. The same owner may acquire again,
    which extends it too. Reads are never blocked.

    :param asset_id: the asset, or a list of up to 100: all of them are locked, or none.
    :param ttl: after how long without a write the lock is free: 1 second to 24 hours, as ISO 8601 duration.
    :param scope: who holds it: ``run``, so that every task of the run may write, or ``task``, this task
        instance alone (with its map index).
    :param wait: when somebody else holds it, wait in the order of arrival, deferred: in the triggerer,
        without a worker slot. Otherwise the task fails, and its retries try again.
    :param timeout: how long to wait at most: ISO 8601 duration, ``timedelta`` or seconds; None waits without
        end. Airflow looks for what is over time every ``[scheduler] trigger_timeout_check_interval`` (15 s).
    :param hold_after_run: keep the lock until its ttl is over even when the run has ended.
    :raises AssetLocked: somebody else holds an asset (and still does after ``timeout``).
    :raises AssetNotFound: there is no such asset.

    The task returns ``lockedUntil``, ``ownerType``, ``executionId`` and ``fencingToken``, each an XCom of its
    own. Of a list, ``lockedUntil`` is that of the first to run out, ``fencingToken`` is null, and
    ``fencingTokens`` has the numbers by asset id (always, also of one asset).

    >>> lock = AcquireAssetLockOperator(
    ...     task_id="lock", asset_id="analytics.orders", ttl="PT15M", wait=True, timeout="PT1H"
    ... )
    """

    template_fields: Sequence[str] = (
        "asset_id", "ttl", "scope", "wait", "timeout", "hold_after_run", *CONNECTION_FIELDS,
    )  # fmt: skip
    template_fields_renderers: ClassVar[dict[str, str]] = {"asset_id": "json"}
    operator_extra_links: Collection[BaseOperatorLink] = (AssetLink(),)

    def __init__(
        self,
        *,
        asset_id: str | Sequence[str],
        ttl: str | timedelta = "PT5M",
        scope: str = "run",
        wait: bool | str = False,
        timeout: str | timedelta | float | None = None,
        hold_after_run: bool | str = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.asset_id = asset_id
        self.ttl = ttl
        self.scope = scope
        self.wait = wait
        self.timeout = timeout
        self.hold_after_run = hold_after_run
        check_constants(
            {
                _ids: asset_id,
                _ttl: ttl,
                _scope: scope,
                partial(_truth, "wait"): wait,
                _seconds: timeout,
                partial(_truth, "hold_after_run"): hold_after_run,
            }
        )

    def execute(self, context: Context) -> dict[str, Any]:
        """Lock the assets, or defer until it is this task's turn."""
        if _truth("wait", self.wait):
            return self._acquire_or_wait(_wait_id(context), _seconds(self.timeout))
        return self._outputs(self.client().acquire_leases(self._request(None)).leases)

    def resumed(self, context: Context, event: dict[str, Any], left: float | None) -> dict[str, Any]:
        """Go on when the trigger says that it may be this task's turn."""
        still = float("inf") if left is None else left - float(event["waited"])
        return self._acquire_or_wait(_wait_id(context), max(0.0, still))

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Try a last time when the time to wait is over."""
        from airflow.sdk.exceptions import TaskDeferralTimeout

        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except TaskDeferralTimeout:
            return self._acquire_or_wait(_wait_id(context), 0.0)

    def _acquire_or_wait(self, wait_id: UUID, left: float) -> dict[str, Any]:
        from airflow_assets.exceptions import AssetLocked

        try:
            return self._outputs(self.client().acquire_leases(self._request(wait_id)).leases)
        except AssetLocked as error:
            from airflow_assets.client.locking import given_up, refuse_hopeless

            refuse_hopeless(self.client(), error, wait_id)
            if left <= 0:
                raise given_up(self.client(), error, wait_id, _seconds(self.timeout)) from None
            self.log.info("Waiting for the lock without a worker slot: %s", error.detail)
            self._defer(wait_id, None if left == float("inf") else left)

    def _defer(self, wait_id: UUID, left: float | None) -> NoReturn:
        from airflow_assets.triggers.locks import LockTrigger

        self.defer(
            trigger=LockTrigger(
                asset_ids=_ids(self.asset_id),
                wait_id=str(wait_id),
                conn_id=self.conn_id,
                api_url=self.api_url or None,
                tenant=self.tenant or None,
            ),
            method_name="resumed",
            kwargs={"left": left},
            timeout=None if left is None else timedelta(seconds=left),
        )

    def _request(self, wait_id: UUID | None) -> AcquireLeases:
        from airflow_assets.client.locking import request_of

        held = _truth("hold_after_run", self.hold_after_run)
        return request_of(_ids(self.asset_id), self.ttl, self.scope, hold_after_run=held, wait_id=wait_id)

    def _outputs(self, leases: list[Lease]) -> dict[str, Any]:
        first = min(leases, key=lambda lease: lease.locked_until)
        for lease in leases:
            self.log.info(
                "Locked %s until %s for %s, under the fencing number %d.",
                lease.asset_id, lease.locked_until, lease.owner, lease.fencing_token,
            )  # fmt: skip
        shown = first.to_json()
        return {
            "lockedUntil": shown["lockedUntil"],
            "ownerType": shown["ownerType"],
            "executionId": shown["executionId"],
            "fencingToken": first.fencing_token if len(leases) == 1 else None,
            "fencingTokens": {lease.asset_id: lease.fencing_token for lease in leases},
        }


class ReleaseAssetLockOperator(CatalogOperator):
    """Release what this task's Dag run, or this task instance, has locked.

    A lock that has run out, is free or is somebody else's stays as it is, so the task never fails for it:
    give it ``trigger_rule="all_done"``. When its run ends a lock is free at once in any case.

    :param asset_id: the asset, or a list of up to 100.

    >>> ReleaseAssetLockOperator(task_id="release", asset_id="analytics.orders", trigger_rule="all_done")
    """

    template_fields: Sequence[str] = ("asset_id", *CONNECTION_FIELDS)
    template_fields_renderers: ClassVar[dict[str, str]] = {"asset_id": "json"}
    operator_extra_links: Collection[BaseOperatorLink] = (AssetLink(),)

    def __init__(self, *, asset_id: str | Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.asset_id = asset_id
        check_constants({_ids: asset_id})

    def execute(self, context: Context) -> None:  # noqa: ARG002
        """Release the locks."""
        from airflow_assets.schemas.leases import ReleaseLeases

        released = self.client().release_leases(ReleaseLeases(asset_ids=_ids(self.asset_id))).released
        self.log.info("Released %s.", ", ".join(released) if released else "nothing: no lock was ours")


def _wait_id(context: Context) -> UUID:
    """The id of the try names its place in the queue: the same in every process that goes on with it."""
    from uuid import UUID

    return UUID(str(context["ti"].id))


def _ids(value: Any) -> list[str]:
    from airflow_assets.exceptions import InvalidRequest
    from airflow_assets.schemas import rules

    ids = [value] if isinstance(value, str) else value
    if not isinstance(ids, (list, tuple)) or not ids:
        raise InvalidRequest(
            f"asset_id must be an id or a list of ids, not {value!r}.", field="asset_id", value=repr(value)
        )
    return [rules.asset_id(item) for item in ids]


def _ttl(value: Any) -> timedelta:
    from airflow_assets.client.locking import lock_ttl

    return lock_ttl(value)


def _scope(value: Any) -> Any:
    from airflow_assets.client.locking import lease_scope

    return lease_scope(value)


def _seconds(value: Any) -> float:
    from airflow_assets.client.locking import wait_seconds

    return wait_seconds(value)


def _truth(field: str, value: Any) -> bool:
    """Accept a bool and, as templates give it, the text of one."""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    from airflow_assets.exceptions import InvalidRequest

    raise InvalidRequest(f"{field} must be true or false, not {value!r}.", field=field, value=repr(value))
