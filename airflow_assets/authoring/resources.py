"""What the bodies of assets get by name besides data: clients, settings, connections."""

from __future__ import annotations

from pydantic_settings import BaseSettings, SettingsConfigDict


class Resource(BaseSettings):
    """A thing that many assets use, registered in ``CodeRepository(resources={"name": ...})``.

    It is a settings model: its fields come from the call, or from the environment.

    >>> class Warehouse(Resource):
    ...     url: str
    >>> Warehouse(url="duckdb://").url
    'duckdb://'
    """

    model_config = SettingsConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def setup(self) -> None:
        """Get ready; called once, when the repository is resolved."""

    def teardown(self) -> None:
        """Let go; called by ``repo.shutdown()``."""
