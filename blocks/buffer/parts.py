"""Up to four buffers that become one, each copied to its place along an axis."""

from typing import Any

from warploom.api import Block, BlockBuilder, BufferHandle, In, Kernel, Out, any_type, param, port


def elements_from(x: BufferHandle, axis: int) -> Any:
    """Return the number of elements along an axis and the axes after it."""
    return x.dim(axis) * x.stride(axis) if axis >= 0 else x.last(-1 - axis) * x.last_stride(-1 - axis)


class Parts(Block, abstract=True):
    """A block whose output holds its inputs side by side."""

    a: In[any_type] = port(doc="The first part: any element type, any shape.")
    b: In[any_type] = port(dtype="same(a)", doc="The second part, of the element type of a.")
    c: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="A third part.")
    d: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="The last part.")
    axis: int = param(
        0, min=-8, max=7, structural=True, doc="The axis along which the parts follow each other; -1 is the last."
    )

    out: Out[any_type]
    kernel = Kernel("buffers.cu", entry="copy_rows")

    def width(self, part: BufferHandle) -> Any:
        """Return the number of elements of a part that lie together in the output."""
        raise NotImplementedError

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for every four elements of each part. The last one ends where the output does."""
        whole = elements_from(self.out, self.axis)
        first, second = self.width(self.a), self.width(self.b)
        starts = (0, first, first + second, whole - self.width(self.d))
        for part, start in zip((self.a, self.b, self.c, self.d), starts, strict=True):
            args = part, self.out, build.element_type(part), self.width(part), whole, start, part.size
            needs = part if part in (self.c, self.d) else None
            build.launch(self.kernel, num_threads=(part.size + 3) // 4, args=args, needs=needs)
