"""The engine for tests of block code."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from tests.runtime.model.authors import Running, action
from warploom.api import (
    Block,
    BlockBuilder,
    In,
    Moment,
    Out,
    Value,
    ValueBlock,
    any_type,
    f32,
    param,
    port,
    u32,
    value_port,
)


@pytest.fixture
def blocks() -> None:
    """Define the blocks whose code is random."""

    class Wild(Block, id="test_authors.wild"):
        """Runs code set by the test."""

        x: In[f32] = port(doc="X.")
        other: In[any_type] = port(doc="Of any type.", optional=True, advised=False)
        out: Out[f32] = port(shape="same(x)", doc="Out.")
        free: Out[any_type] = port(shape="[1]", dtype="given", doc="Of any type.")
        count: Out[u32] = port(shape="[1]", doc="A number.")
        a: float = param(1.0, doc="A.")
        n: int = param(4, structural=True, doc="N.")

        def describe(self, build: BlockBuilder) -> None:
            build.define(self.free, dtype=f32)
            action[0](self, build)

    class Number(ValueBlock, id="test_authors.number"):
        """Sets values that the test chooses."""

        acts: ClassVar[Callable[[Any], object]] = lambda block: None
        value: Value[float] = value_port(doc="A number.")
        rate: float = param(1.0, doc="A rate.")

        def update(self, now: Moment) -> None:
            type(self).acts(self)


@pytest.fixture
def running(blocks: None) -> Iterator[Running]:
    """One engine for all examples of a test; a failed example gets a new one."""
    made = Running()
    yield made
    made.engine.close()
