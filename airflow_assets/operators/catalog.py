"""Operators that write one asset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_assets.links import AssetLink
from airflow_assets.operators.base import CONNECTION_FIELDS, CatalogOperator, check_constants, token_of, under

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from airflow.sdk import BaseOperatorLink, Context


class SetAssetOperator(CatalogOperator):
    """Create an asset; fails if one of that id exists. Records no lineage.

    To create *or update* an asset as part of the work that produces it, declare it in ``outlets=`` instead.

    :param asset_id: 1 to 1,500 printable characters.
    :param asset_type: any text, compared exactly, such as ``airflow_assets.types.Table``.
    :param metadata: a JSON object of at most 500 keys and 256 KiB.
    :param fencing_token: the number of the lock under which this is done (docs/locks.md).
    :raises AssetAlreadyExists: the id is taken; a deleted asset of that id is revived instead.
    :raises AssetLocked: somebody else holds its lock, or the fencing number is out of date.

    Constant arguments are checked when the Dag is parsed, templated ones when the task runs.

    >>> SetAssetOperator(
    ...     task_id="register", asset_id="analytics.orders", asset_type="airflow_assets.types.Table",
    ...     metadata={"owner": "{{ params.owner }}"},
    ... )
    """

    template_fields: Sequence[str] = (
        "asset_id", "asset_type", "namespace", "display_name", "asset_description", "metadata",
        "fencing_token", *CONNECTION_FIELDS,
    )  # fmt: skip
    template_fields_renderers: ClassVar[dict[str, str]] = {"metadata": "json", "asset_description": "md"}
    operator_extra_links: Collection[BaseOperatorLink] = (AssetLink(),)

    def __init__(
        self,
        *,
        asset_id: str,
        asset_type: str,
        namespace: str | None = None,
        display_name: str | None = None,
        asset_description: str | None = None,
        metadata: dict[str, Any] | None = None,
        fencing_token: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.asset_id = asset_id
        self.fencing_token = fencing_token
        self.asset_type = asset_type
        self.namespace = namespace
        self.display_name = display_name
        self.asset_description = asset_description
        self.metadata = metadata
        from airflow_assets.schemas import rules

        check_constants(
            {
                rules.asset_id: asset_id,
                rules.asset_type: asset_type,
                rules.namespace: namespace,
                rules.display_name: display_name,
                rules.description: asset_description,
                rules.metadata: metadata,
                token_of: fencing_token,
            }
        )

    def execute(self, context: Context) -> None:  # noqa: ARG002
        """Create the asset."""
        from airflow_assets.schemas.assets import AssetInput

        members: dict[str, Any] = {
            "namespace": self.namespace,
            "display_name": self.display_name,
            "description": self.asset_description,
            "metadata": self.metadata,
        }
        given = {name: value for name, value in members.items() if value not in (None, "")}
        wanted = AssetInput(id=self.asset_id, type=self.asset_type, **given)
        with under(self.asset_id, self.fencing_token):
            asset = self.client().create_asset(wanted)
        self.log.info("Created the asset %s of type %s.", asset.id, asset.type)


class DeleteAssetOperator(CatalogOperator):
    """Delete one asset: it leaves lists and graph, and emits DELETED.

    It can still be read with ``include_deleted``.

    :param asset_id: the asset's id, or a former one.
    :param fencing_token: the number of the lock under which this is done (docs/locks.md).
    :raises AssetNotFound: there is no such asset.
    :raises AssetLocked: somebody else holds it, or the fencing number is out of date.
    """

    template_fields: Sequence[str] = ("asset_id", "fencing_token", *CONNECTION_FIELDS)
    operator_extra_links: Collection[BaseOperatorLink] = (AssetLink(),)

    def __init__(self, *, asset_id: str, fencing_token: int | str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.asset_id = asset_id
        self.fencing_token = fencing_token
        from airflow_assets.schemas import rules

        check_constants({rules.asset_id: asset_id, token_of: fencing_token})

    def execute(self, context: Context) -> None:  # noqa: ARG002
        """Delete the asset."""
        with under(self.asset_id, self.fencing_token):
            self.client().delete_asset(self.asset_id)
        self.log.info("Deleted the asset %s.", self.asset_id)
