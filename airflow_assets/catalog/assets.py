"""Writes to single assets: create, update, upsert, delete, rename, and many of them in one transaction.

Each function works on a :class:`~airflow_assets.catalog.workspace.Workspace` and raises before it changes it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_assets.catalog.merge import check_size, merge_asset, merge_metadata
from airflow_assets.catalog.workspace import renamed
from airflow_assets.exceptions import (
    AssetAlreadyExists,
    AssetCatalogError,
    AssetNotFound,
    InvalidAsset,
    InvalidRequest,
    NamespaceNotAllowed,
)
from airflow_assets.schemas.events import EventKind
from airflow_assets.schemas.queries import Batch, BatchAction, BatchItem, BatchItemResult, BatchResult

if TYPE_CHECKING:
    from airflow_assets.catalog.states import AssetState
    from airflow_assets.catalog.workspace import Workspace
    from airflow_assets.schemas.assets import AssetInput, AssetUpdate, Rename


def create(work: Workspace, incoming: AssetInput) -> AssetState:
    """Make a new asset; a deleted one of that id begins a new life, of which only the history is old.

    Raises:
        AssetAlreadyExists: the id, or a former id, of an asset that is not deleted.
        AssetLocked: somebody else holds the lock that outlasted the deletion.
    """
    work.check_namespace(incoming.namespace)
    found = work.find(incoming.id)
    if found and not found.deleted:
        raise _exists(incoming.id, found)
    work.check_lock(incoming.id)
    state = _new(work, incoming, incoming.metadata or {})
    if found and not work.is_alias(incoming.id):
        state = replace(state, pk=found.pk)
    work.free_alias(incoming.id)
    work.put(state)
    work.emit(EventKind.CREATED, None, state)
    return state


def update(work: Workspace, asset_id: str, changes: AssetUpdate) -> AssetState:
    """Change an asset that exists.

    Raises:
        AssetNotFound: also when it is deleted or hidden.
        AssetLocked: somebody else holds its lock.
    """
    stored = _existing(work, asset_id)
    work.check_namespace(changes.namespace)
    work.check_lock(asset_id)
    state = merge_asset(stored, changes, work.now, clears_namespace=True)
    work.put(state)
    work.emit(EventKind.UPDATED, stored, state)
    return state


def upsert(work: Workspace, incoming: AssetInput) -> tuple[AssetState, bool]:
    """Make or change an asset and append its event; also return whether it is new."""
    stored, state = merge_in(work, incoming)
    work.emit(EventKind.UPDATED if stored else EventKind.CREATED, stored, state)
    return state, stored is None


def merge_in(work: Workspace, incoming: AssetInput) -> tuple[AssetState | None, AssetState]:
    """Make or change an asset without an event; return it before and after.

    Raises:
        InvalidAsset: it is new and has no type.
        NamespaceNotAllowed: its namespace, or the wanted one, is closed to the caller.
        AssetLocked: somebody else holds its lock.
    """
    work.check_namespace(incoming.namespace)
    stored = work.find(incoming.id)
    if stored is None:
        work.check_lock(incoming.id)
        # A null removes its key: there is none yet. So the same upsert twice is the same as once.
        state = _new(work, incoming, merge_metadata({}, incoming.metadata or {}))
    else:
        if work.hides(stored):
            raise NamespaceNotAllowed(
                f"The asset {stored.id!r} is in a namespace that is closed to you.", asset_id=stored.id
            )
        work.check_lock(incoming.id)
        state = merge_asset(stored, incoming, work.now)
    work.put(state)
    return stored, state


def delete(work: Workspace, asset_id: str) -> AssetState:
    """Mark an asset as deleted; its history, lineage and former ids stay.

    Raises:
        AssetNotFound: also when it is deleted already or hidden.
        AssetLocked: somebody else holds its lock, which outlasts the deletion.
    """
    stored = _existing(work, asset_id)
    work.check_lock(asset_id)
    state = replace(stored, deleted=True, updated=work.now)
    work.put(state)
    work.emit(EventKind.DELETED, stored, state)
    return state


def rename(work: Workspace, names: Rename) -> AssetState:
    """Give an asset another id; the old one keeps leading to it.

    Raises:
        AssetNotFound: there is no asset of the old id.
        AssetAlreadyExists: the new id is, or was, another asset's.
        AssetLocked: somebody else holds its lock, which moves along.
    """
    stored = _existing(work, names.old_id)
    work.check_lock(names.old_id)
    taken = work.find(names.new_id)
    if taken is stored and names.new_id == stored.id:
        return stored
    if taken and not (work.is_alias(names.new_id) and (taken is stored or taken.deleted)):
        raise _exists(names.new_id, taken)
    work.free_alias(names.new_id)
    state = renamed(stored, names.new_id, work.now)
    work.rekey(stored, state)
    work.emit(EventKind.UPDATED, stored, state)
    return state


def batch_ids(batch: Batch) -> list[str]:
    """Return the ids that the writes of a batch need locked."""
    ids = [item.asset.id if item.asset else item.id for item in batch.items]
    return [asset_id for asset_id in ids if asset_id]


def apply_batch(work: Workspace, batch: Batch) -> BatchResult:
    """Apply every item in order, each for itself, and say how each went."""
    return BatchResult(items=[_apply(work, item) for item in batch.items])


def _apply(work: Workspace, item: BatchItem) -> BatchItemResult:
    asset_id = item.asset.id if item.asset else item.id
    try:
        return BatchItemResult(id=asset_id, status=_status(work, item))
    except AssetCatalogError as error:
        return BatchItemResult(id=asset_id, status=error.status, problem=error.to_problem())


def _status(work: Workspace, item: BatchItem) -> int:
    if item.action is BatchAction.CREATE and item.asset:
        create(work, item.asset)
        return 201
    if item.action is BatchAction.UPSERT and item.asset:
        return 201 if upsert(work, item.asset)[1] else 200
    if item.action is BatchAction.UPDATE and item.id and item.changes:
        update(work, item.id, item.changes)
        return 200
    if item.action is BatchAction.DELETE and item.id:
        delete(work, item.id)
        return 204
    raise InvalidRequest(
        f"A batch item with action {item.action.value!r} lacks what it needs.",
        hint="create and upsert need 'asset', update needs 'id' and 'changes', delete needs 'id'.",
        field="items",
        value=item.action.value,
    )


def _new(work: Workspace, incoming: AssetInput, metadata: dict[str, object]) -> AssetState:
    if incoming.type is None:
        raise InvalidAsset(
            f"The asset {incoming.id!r} is new and has no type.",
            hint="Give it a type, for example 'airflow_assets.types.Table'.",
            field="type",
            asset_id=incoming.id,
        )
    check_size(metadata)
    return work.new_state(
        incoming.id,
        incoming.type,
        incoming.namespace,
        display_name=incoming.display_name,
        description=incoming.description,
        metadata=metadata,
        uri=incoming.uri,
        group=incoming.group,
    )


def _existing(work: Workspace, asset_id: str) -> AssetState:
    found = work.find(asset_id)
    if found is None or found.deleted or work.hides(found):
        raise not_found(asset_id)
    return found


def not_found(asset_id: str) -> AssetNotFound:
    """Return the error of an id that means no asset to the caller."""
    return AssetNotFound(
        f"There is no asset {asset_id!r}.",
        hint="Ids are case-sensitive. Perhaps it was deleted.",
        asset_id=asset_id,
    )


def _exists(asset_id: str, found: AssetState) -> AssetAlreadyExists:
    if found.id != asset_id:
        detail = f"{asset_id!r} is a former id of the asset {found.id!r}."
    elif found.deleted:
        detail = f"The id {asset_id!r} belongs to a deleted asset."
    else:
        detail = f"The asset {asset_id!r} exists."
    return AssetAlreadyExists(detail, hint="Choose another id, or update that asset.", asset_id=asset_id)
