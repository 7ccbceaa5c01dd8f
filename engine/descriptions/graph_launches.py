"""How an op graph is launched: what `BlockBuilder.compute` passes to `launch`."""

from dataclasses import dataclass

from engine.descriptions.entries import FrameArgument
from engine.descriptions.extents import Extent
from engine.descriptions.handles import BufferHandle, ParameterHandle
from engine.ops import Argument, FramePointer, InputPointer, LiveParameter, OpKernel, OutputPointer
from engine.ops import Extent as OpExtent

#: The sizes that a kernel takes of a port.
_SIZES = {"size": "{}.size", "width": "{}.last0", "height": "{}.last1", "depth": "{}.last2"}


@dataclass(frozen=True)
class GraphLaunch:
    """The arguments of a launch."""

    num_threads: tuple[Extent, ...]
    args: tuple[object, ...]
    thread_block: tuple[int, ...] | None


def graph_launch(kernel: OpKernel, over: BufferHandle) -> GraphLaunch:
    """Return how the kernel of an op graph is launched over the elements of a port."""
    axes = ("size",) if kernel.rank == 1 else ("width", "height", "depth")[: kernel.rank]
    threads = [_SIZES[axis].format(over.name) for axis in axes]
    return GraphLaunch(
        tuple(map(Extent, threads)),
        tuple([_passed(argument, over) for argument in kernel.arguments]),
        kernel.thread_block and kernel.thread_block[: kernel.rank],
    )


def _passed(argument: Argument, over: BufferHandle) -> object:
    match argument:
        case LiveParameter(name):
            return ParameterHandle(name)
        case OpExtent(kind, port):
            return Extent(_SIZES[kind].format(port or over.name))
        case FramePointer():
            return FrameArgument()
        case InputPointer(name) | OutputPointer(name):
            return BufferHandle(name)
