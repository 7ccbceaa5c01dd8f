from collections.abc import Mapping
from typing import Any

from warploom.api import (
    AdaptiveBlock,
    BlockBuilder,
    In,
    Interface,
    any_type,
    describe_switch,
    param,
    port,
    switch_branches,
)


class Switch(
    AdaptiveBlock,
    id="control.switch",
    title="Switch Region",
    tags=("region", "case", "choose"),
    regions=switch_branches(3),
):
    """Runs the blocks of one of several branches, chosen by a number.

    The number is one element of a buffer, read on the device each time the region is reached, and rounded down.
    Branches are counted from 0. When there is no branch of this number, none runs. The outputs of blocks in branches
    that do not run are their defaults, mostly zeros. To continue with one result, let the branches change a buffer
    from outside in place, or put Selects after the region.
    """

    index: In[any_type] = port(
        dtype="number", doc="Buffer with the element that chooses; numbers or booleans, of any shape."
    )
    branches: int = param(
        3,
        min=2,
        max=16,
        structural=True,
        doc="Number of branches; blocks must be moved out of one that goes away.",
    )
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Index of the element that chooses.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the branches."""
        return Interface(regions=switch_branches(values["branches"]))

    def describe(self, build: BlockBuilder) -> None:
        """Let one thread set the condition of a conditional node with a body for each branch."""
        describe_switch(build, self.index, self.element, branches=self.branches)
