"""The operators whose tasks run steps. They hold names alone; the graph is found through the Dag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class AssetStepOperator(BaseOperator):
    """Runs one step of a graph of assets; made by ``to_dags()``.

    :param step: the step's name.
    :param element: of a fan-out, the key of the element that this instance is for.
    """

    ui_color = "#d7f0e6"

    def __init__(self, *, step: str, element: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.element = element

    def execute(self, context: Context) -> Any:
        """Run the step, and record it."""
        from airflow_assets.authoring.dags.running import run_in_task

        return run_in_task(self, context)


class ElementsOperator(BaseOperator):
    """Tells a fan-out what it runs over: returns a text for each element; values stay with their handler."""

    ui_color = "#d7f0e6"
    element = None

    def __init__(self, *, step: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def execute(self, context: Context) -> list[str]:
        """Load the list and return what tells its elements apart."""
        from airflow_assets.authoring.dags.running import elements_in_task

        return elements_in_task(self, context)
