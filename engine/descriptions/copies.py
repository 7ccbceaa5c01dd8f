"""Describes copies: one kernel for any element type and any strides."""

from warploom.engine.arguments import checked
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import Kernel
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.types import any_type

_KERNEL = Kernel("buffers.cu", entry="copy_strided")


@checked()
def describe_copy(build: BlockBuilder, x: BufferHandle, out: BufferHandle) -> None:
    """Copy `x`, which may have gaps, to `out`, with one thread for four elements. Missing axes have size 1."""
    build.keep_columns(out, x)
    sizes = [x.last(axis) for axis in (3, 2, 1, 0)]
    strides = [x.last_stride(axis) for axis in (3, 2, 1, 0)]
    in_four = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    build.require(in_four - x.size, "a copied buffer must have at most four dimensions", port=x)
    arguments = (x, out, build.element_type(x), *sizes[1:], *strides, out.size)
    build.launch(_KERNEL, num_threads=(out.size + 3) // 4, args=arguments)


def _described() -> BlockDescription:
    ports = {
        "x": PortSpec("x", "in", any_type, "The elements to copy.", "same", strided=True),
        "out": PortSpec("out", "out", any_type, "The copy.", "same(x)", dtype_rule="same(x)"),
    }
    build = BlockBuilder("copy", ports, (), {}, None)
    describe_copy(build, BufferHandle("x"), BufferHandle("out"))
    return build.commit()


#: Describes a block that copies its input `x` to its output `out`.
COPY = _described()
