"""Blocks made by hand that compute each element from an expression."""

from tests.compiler.support.descriptions import node
from warploom.engine.compiler.description import BlockNode
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ElementArgument,
    ExtentArgument,
    FrameArgument,
    InternalBuffer,
    Kernel,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import (
    ElementNumber,
    GraphNumbers,
    InputPointer,
    LiveParameter,
    OpArgument,
    OpExtent,
    OpGraph,
    OpGraphBuilder,
    OpKernel,
    OutputPointer,
    parse_expression,
)
from warploom.engine.types import NAMED, any_type, f32, f64

_SIZES = {"size": "{}.size", "width": "{}.last0", "height": "{}.last1", "depth": "{}.last2"}


def stage(name: str, text: str, *, inputs: str = "x", **more: object) -> BlockNode:
    """Return a block with inputs of f32, named by one letter each, and the output "out"."""
    return computing(name, parse_expression(text, inputs=dict.fromkeys(inputs, "f32")), **more)


def computing(name: str, graph: OpGraph, *, region: str = "", group: str = "") -> BlockNode:
    """Return a block that runs an op graph over its first output."""
    source = OpGraphSource.of(graph)
    kernel = op_graphs.kernel(source)
    first = kernel.inputs[0].name if kernel.inputs else ""
    shapes = {item.name: f"same({first})" if item.name != first else "same" for item in kernel.inputs}
    ports = [PortSpec(p.name, "in", NAMED[p.dtype], "An input.", shapes[p.name]) for p in kernel.inputs]
    made = f"same({first})" if first else "[6]"
    ports += [PortSpec(p.name, "out", NAMED[p.dtype], "An output.", p.shape or made) for p in kernel.outputs]
    over = kernel.outputs[0].name
    threads = [Extent(_SIZES[k].format(over)) for k in ("width", "height", "depth")[: kernel.rank]]
    entry = KernelEntry(
        Kernel(source, kernel.entry),
        tuple(threads) if kernel.rank > 1 else (Extent(f"{over}.size"),),
        (256, 1, 1) if kernel.rank == 1 else (16, 16, 1),
        tuple([_passed(argument, over, kernel) for argument in kernel.arguments]),
    )
    block = node(name, *ports, entries=[entry])
    return BlockNode(name, block.description, region, group)


def total(name: str, *, reads: str = "number", region: str = "") -> BlockNode:
    """Return a block that sums its input: three thread blocks sum a part each, then one sums the parts."""
    ports = [PortSpec("x", "in", any_type if reads == "number" else NAMED[reads], "An input.", "same")]
    ports.append(PortSpec("out", "out", f32, "An output.", "[1]"))
    entries = [_aggregating("x", reads, "parts", "f64", 3), _aggregating("parts", "f64", "out", "f32", 1)]
    block = node(name, *ports, entries=entries, buffers=[InternalBuffer("parts", f64, "[3]")])
    return BlockNode(name, block.description, region)


def _aggregating(x: str, reads: str, out: str, dtype: str, thread_blocks: int) -> KernelEntry:
    g = OpGraphBuilder()
    g.add("op.aggregate", out, value=g.add("op.input", x, type=reads)["value"], type=dtype)
    source = OpGraphSource.of(g.graph())
    kernel = op_graphs.kernel(source)
    arguments = tuple([_passed(argument, x, kernel) for argument in kernel.arguments])
    return KernelEntry(Kernel(source, kernel.entry), (thread_blocks * 256,), (256, 1, 1), arguments)


def _passed(argument: OpArgument, over: str, kernel: OpKernel) -> Argument:
    match argument:
        case InputPointer(name=name):
            return BufferArgument(name, reads=True, writes=False)
        case OutputPointer(name=name):
            return BufferArgument(name, reads=False, writes=True)
        case LiveParameter(name=name):
            return ParameterArgument(name)
        case OpExtent(kind=kind, port=port):
            return ExtentArgument(Extent(_SIZES[kind].format(port or over)))
        case ElementNumber(name=name):
            return ElementArgument(name)
        case GraphNumbers():
            return ValueArgument(kernel.numbers)
    return FrameArgument()
