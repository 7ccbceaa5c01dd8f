"""Blocks for value graphs to drive and to run."""

from typing import Any

import pytest

from warploom.api import Block, BlockBuilder, Moment, Out, Value, ValueBlock, f32, param, port, value_port


@pytest.fixture
def target() -> type[Block]:
    """Define a device block with a parameter of each kind that can be driven."""

    class Target(Block, id="test_values.target"):
        """Take numbers."""

        out: Out[f32] = port(shape="[1]", doc="A buffer.")
        number: float = param(0.5, min=-1, max=1, doc="A number.")
        wide: float = param(0.0, doc="A number without bounds.")
        whole: int = param(3, min=-5, max=5, doc="A whole number.")
        wide_whole: int = param(0, doc="A whole number without bounds.")
        flag: bool = param(True, doc="A boolean.")

        def describe(self, build: BlockBuilder) -> None:
            """Do nothing."""

    return Target


@pytest.fixture
def given_block() -> type[ValueBlock]:
    """Define a block that outputs what a test puts into `Given.gives`; an exception in that list is raised instead."""

    class Given(ValueBlock, id="test_values.given"):
        """Give what is requested."""

        value: Value[float] = value_port(doc="The first.")
        count: Value[int] = value_port(doc="The second.")
        on: Value[bool] = value_port(doc="The third.")
        gives: Any = (0.0, 0, False)

        def update(self, now: Moment) -> None:
            """Return the next value, or raise it."""
            self.value = self.gives[0]
            if isinstance(self.gives[1], BaseException):
                raise self.gives[1]
            self.count, self.on = self.gives[1:]

    return Given
