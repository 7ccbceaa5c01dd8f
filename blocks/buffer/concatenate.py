from typing import Any

from warploom.api import BlockBuilder, BufferHandle, Out, any_type, port
from warploom.blocks.buffer.parts import Parts, elements_from


class Concatenate(Parts, id="buffer.concatenate", tags=("join", "append", "merge", "combine", "hstack", "vstack")):
    """Joins two to four buffers, one after another along an axis.

    The shapes must be equal except along the axis. With the last axis, it puts pictures side by side; with the first,
    one below the other. To give them an axis of their own, use Stack.
    """

    out: Out[any_type] = port(
        shape="joined(axis, a, b, c, d)", dtype="same(a)", doc="As long along the axis as all parts together."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Copy the parts; rows that follow each other keep the names of their columns."""
        super().describe(build)
        if self.axis in (0, -2):
            build.keep_columns(self.out, self.a, self.b, self.c, self.d)

    def width(self, part: BufferHandle) -> Any:
        """Return the number of elements along the axis and those after it."""
        return elements_from(part, self.axis)
