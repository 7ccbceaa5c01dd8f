"""The launch of an op graph: the arguments that `BlockBuilder.compute` passes to `launch`."""

from collections.abc import Mapping

import msgspec

from warploom.engine.descriptions.entries import BufferArgument, ElementArgument, FrameArgument, Size, ValueArgument
from warploom.engine.descriptions.handles import BufferHandle, ParameterHandle
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.ops import (
    ElementNumber,
    FramePointer,
    GraphNumbers,
    InputPointer,
    LiveParameter,
    OpArgument,
    OpExtent,
    OpKernel,
    OutputPointer,
)

#: The sizes of a port that a kernel may take.
_SIZES = {"size": "{}.size", "width": "{}.last0", "height": "{}.last1", "depth": "{}.last2"}


class GraphLaunch(msgspec.Struct, frozen=True):
    """The arguments of a launch of an op graph."""

    num_threads: tuple[Size, ...]
    args: tuple[object, ...]
    thread_block: tuple[int, ...] | None


def graph_launch(
    kernel: OpKernel, over: BufferHandle, thread_blocks: Size | None, names: Mapping[str, str]
) -> GraphLaunch:
    """Return the arguments that launch an op graph's kernel over the elements of a port or internal buffer.

    `names` are the ports and buffers for its inputs and outputs. With aggregates, `thread_blocks` share the elements.
    """
    args = tuple([_passed(argument, over, names, kernel.numbers) for argument in kernel.arguments])
    if thread_blocks is not None:
        assert kernel.thread_block is not None
        return GraphLaunch((thread_blocks * kernel.thread_block[0],), args, kernel.thread_block[:1])
    axes = ("size",) if kernel.rank == 1 else ("width", "height", "depth")[: kernel.rank]
    threads = [_SIZES[axis].format(over.name) for axis in axes]
    return GraphLaunch(
        tuple(map(Extent, threads)),
        args,
        kernel.thread_block and kernel.thread_block[: kernel.rank],
    )


def counted_axes(kernel: OpKernel) -> Mapping[str, int]:
    """Return how many axes each port is read along, and under "" how many axes are computed; 1 is left out."""
    axes = {"": kernel.rank} if kernel.rank > 1 else {}
    for argument in kernel.arguments:
        if isinstance(argument, OpExtent) and argument.port and argument.kind != "size":
            axes[argument.port] = max(axes.get(argument.port, 2), 3 if argument.kind == "depth" else 2)
    return axes


def _passed(argument: OpArgument, over: BufferHandle, names: Mapping[str, str], numbers: bytes) -> object:
    match argument:
        case LiveParameter(name):
            return ParameterHandle(name)
        case OpExtent(kind, port):
            return Extent(_SIZES[kind].format(names.get(port, port) or over.name))
        case GraphNumbers():
            return ValueArgument(numbers)
        case FramePointer():
            return FrameArgument()
        case ElementNumber(name):
            return ElementArgument(names.get(name, name))
        case InputPointer(name) | OutputPointer(name):
            is_input = isinstance(argument, InputPointer)
            return BufferArgument(names[name], is_input, not is_input)
