"""What the page shows runs here with only the import changed; the same file runs on the reference itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.authoring.page_examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.__name__ for example in EXAMPLES])
def test_an_example_of_the_page_runs(example: Callable[[], None]) -> None:
    example()
