from typing import Any

from warploom.api import BufferHandle, Out, any_type, port
from warploom.blocks.buffer.parts import Parts


class Stack(Parts, id="buffer.stack", tags=("join", "combine", "batch", "merge", "interleave", "columns")):
    """Puts two to four buffers of one shape together along a new axis.

    Position 0 along the new axis is `a`, position 1 is `b`, and so on. With axis -1, lists become the columns of a
    table. To join along an axis that is there, use Concatenate.
    """

    out: Out[any_type] = port(
        shape="stacked(axis, a, b, c, d)", dtype="same(a)", doc="Shape of a, with an axis of the number of parts."
    )

    def width(self, part: BufferHandle) -> Any:
        """Return the number of elements after the new axis, which is the same for all parts."""
        return self.out.stride(self.axis) if self.axis >= 0 else self.out.last_stride(-1 - self.axis)
