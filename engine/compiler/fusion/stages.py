"""Stages: operations that may be fused, since each element depends only on elements at the same index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod

import msgspec

from warploom.engine.compiler.buffers import BlockBuffers
from warploom.engine.compiler.checking.layouts import NodeLayouts
from warploom.engine.compiler.operations import Place
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ElementArgument,
    ExtentArgument,
    KernelEntry,
    ValueArgument,
)
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import (
    ElementNumber,
    FramePointer,
    GraphNumbers,
    InputPointer,
    OpExtent,
    OpKernel,
    OutputPointer,
    with_own_elements,
    with_types,
)
from warploom.engine.ops.types import ELEMENTS, TOLD, in_memory
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import DType, Shape
from warploom.engine.types.layout import Layout

#: Names of the axes of computed elements, starting with the last axis.
_AXES = ("width", "height", "depth")


class Stage(msgspec.Struct, frozen=True, gc=False):
    """An op graph that computes elements of `shape`, each from elements at the same index.

    It writes these elements, or its thread blocks aggregate shares of them. An aggregating stage has `is_last`, since
    its elements can't be read. `threads` are the threads of its launch. `arguments` maps the graph's names to the
    arguments that its block passes; `buffers` has the places of the block's ports.
    """

    source: OpGraphSource
    shape: Shape
    is_last: bool
    is_specialised: bool
    threads: tuple[int, ...]
    thread_block: tuple[int, int, int]
    arguments: Mapping[str, Argument]
    buffers: BlockBuffers

    def ports(self, owner: PortRef) -> list[str]:
        """Return the graph's inputs and outputs that lie in a buffer."""
        return [name for name, place in self.places() if place.owner == owner]

    def places(self) -> Iterator[tuple[str, Place]]:
        """Yield the graph's inputs and outputs with their places."""
        for name, argument in self.arguments.items():
            if isinstance(argument, BufferArgument):
                yield name, self.buffers.places[argument.name]

    def reads(self, name: str) -> bool:
        """True for an input of the graph."""
        argument = self.arguments[name]
        return isinstance(argument, BufferArgument) and argument.reads

    def layout(self, name: str) -> Layout:
        """Return the layout of one of the graph's inputs or outputs."""
        argument = self.arguments[name]
        assert isinstance(argument, BufferArgument)
        return self.buffers.layouts.layouts[argument.name]

    @property
    def launch(self) -> tuple[object, ...]:
        """A key; stages with the same key can be computed side by side in one kernel."""
        return self.shape, (self.threads, self.thread_block) if self.is_last else None

    def sizes_bytes(self) -> dict[PortRef, int]:
        """Return the bytes of each buffer that the stage reads or writes."""
        return {place.owner: self.layout(name).size_bytes for name, place in self.places()}

    def components(self, owner: PortRef) -> int:
        """Return the components of a buffer's elements."""
        return max(dtype.components for dtype, _ in self.forms(owner))

    def forms(self, owner: PortRef) -> set[tuple[DType, Shape]]:
        """Return the element types and shapes in which a buffer is accessed."""
        layouts = [self.layout(name) for name in self.ports(owner)]
        return {(layout.dtype, layout.shape) for layout in layouts}


def find_stage(entry: KernelEntry, place: int, buffers: BlockBuffers) -> Stage | None:
    """Return the stage of an operation; None if it can't be fused. `place` is its index in its block."""
    source = entry.kernel.source
    if not isinstance(source, OpGraphSource):
        return None
    kernel = op_graphs.launched(source)
    aggregates = {output.name for output in kernel.outputs if output.is_aggregate}
    if (kernel.thread_block is not None and not aggregates) or len(kernel.arguments) != len(entry.arguments):
        return None
    arguments: dict[str, Argument] = {}
    layouts: dict[str, Layout] = {}
    told: dict[str, str] = {}
    for given, passed in zip(kernel.arguments, entry.arguments, strict=True):
        if isinstance(given, OpExtent | FramePointer):
            continue
        if isinstance(given, GraphNumbers):
            if passed != ValueArgument(kernel.numbers):
                return None
            continue
        if isinstance(given, ElementNumber):
            if passed != ElementArgument(given.name):
                return None
            continue
        if isinstance(given, InputPointer | OutputPointer):
            is_output = isinstance(given, OutputPointer)
            if not isinstance(passed, BufferArgument) or (passed.reads, passed.writes) != (not is_output, is_output):
                return None
            layout = buffers.layouts.layouts.get(passed.name)
            if layout is None and given.dtype in TOLD:
                told[given.name] = ""
                continue
            if layout is None or layout.strides is not None:
                return None
            if given.dtype in TOLD and _is_number(layout.dtype):
                told[given.name] = str(layout.dtype)
            elif layout.dtype != in_memory(given.dtype):
                return None
            layouts[given.name] = layout
        arguments[given.name] = passed
    computed = {output.name for output in kernel.outputs} - aggregates or {i.name for i in kernel.inputs}
    shapes = {layouts[name].shape for name in computed if name in layouts}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    context = buffers.layouts.context
    threads = tuple(size if isinstance(size, int) else size.evaluate(context) for size in entry.num_threads)
    if not aggregates and threads != thread_counts(shape, kernel):
        return None
    if not _has_said_sizes(
        entry, place, buffers.layouts, kernel, {"": shape, **{n: i.shape for n, i in layouts.items()}}
    ):
        return None
    own = () if kernel.is_elementwise else tuple([name for name, layout in layouts.items() if layout.shape == shape])
    made = specialised(source, tuple(told.items()), own)
    if not (op_graphs.launched(made).is_elementwise or aggregates):
        return None
    return Stage(made, shape, bool(aggregates), made != source, threads, entry.thread_block, arguments, buffers)


@lru_cache(maxsize=512)
def specialised(source: OpGraphSource, types: tuple[tuple[str, str], ...], own: tuple[str, ...]) -> OpGraphSource:
    """Return an op graph with facts about its inputs built in.

    `types` are the inputs' element types, otherwise passed at launch, with "" for an input without a buffer. `own` are
    the inputs that have the shape of the computation.
    """
    graph = source.parsed()
    made = with_own_elements(with_types(graph, dict(types)) if types else graph, own)
    return source if made is graph else OpGraphSource.of(made)


def _has_said_sizes(
    entry: KernelEntry, place: int, layouts: NodeLayouts, kernel: OpKernel, shapes: Mapping[str, Shape]
) -> bool:
    """True when each size that the kernel takes equals that of one of its ports, or of the computation."""
    known = layouts.extents.get(place, {})
    for position, (given, passed) in enumerate(zip(kernel.arguments, entry.arguments, strict=True)):
        if isinstance(given, OpExtent):
            if not isinstance(passed, ExtentArgument) or given.port not in shapes:
                return False
            number = known[position] if position in known else passed.extent.evaluate(layouts.context)
            if number != extent(shapes[given.port], given.kind):
                return False
    return True


def thread_counts(shape: Shape, kernel: OpKernel) -> tuple[int, ...] | None:
    """Return the numbers of elements along x, y and z; None when these axes can't hold the whole shape."""
    counts = [extent(shape, axis) for axis in _AXES[: kernel.rank]] if kernel.rank > 1 else [prod(shape)]
    return tuple(counts) if prod(counts) == prod(shape) else None


def extent(shape: Shape, kind: str) -> int:
    """Return the size of a shape, or its extent along an axis, counted from the last one as in op graphs."""
    if kind == "size":
        return prod(shape)
    axis = 1 + _AXES.index(kind)
    return shape[-axis] if axis <= len(shape) else 1


def _is_number(dtype: DType) -> bool:
    """True for elements that op graphs can read as single numbers."""
    return dtype.components == 1 and str(dtype) in ELEMENTS
