"""Reductions: op graphs reduce everything to one number and include the operand; other kernels reduce axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

from warploom.engine.descriptions.entries import Kernel
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.lowering.elements import computed_type
from warploom.engine.tensor_ir.lowering.step import (
    LoweringStep,
    element_kernel,
    number_type,
    read_only,
    size_argument,
    write_only,
)
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import DType, u8

#: The most thread blocks that share the elements, and the fewest elements that justify one more.
PARTS, LEAST = 1024, 4096
#: The elements of a column that one thread block reduces, and the longest column that a single block reduces.
SHARE, LONGEST = 256, 1024
#: The longest row that one thread reduces.
SHORT = 32
#: Names of these operations in op graphs.
_AGGREGATES = {"sum": "add", "max": "maximum", "min": "minimum"}


@dataclass(frozen=True)
class Axis:
    """Adjacent axes in memory, treated as one; `size` is a number, or an expression of shape rules."""

    size: int | str
    is_reduced: bool


def is_whole(node: TensorNode) -> bool:
    """True for a reduction of all elements, including all examples, to one number."""
    return node.type.size == 1 and not node.type.batched


def write_whole(step: LoweringStep, operation: str) -> None:
    """Reduce a node's input to one number; the kernel also computes the element-wise part of the input."""
    given = step.node.inputs[0]
    dtype = computed_type(given.type.dtype)
    kernel = step.kernel(given.type)
    count = step.count(given.type)
    shares = f"min({PARTS}, ceil(({count}) / {LEAST}))"
    parts = step.temporary("parts", dtype, shares)
    kernel.aggregate(kernel.value(given, kernel.own), parts, _AGGREGATES[operation], dtype)
    over = next((handle for node, handle in kernel.read.items() if _has_size(node.type, given.type)), None)
    if over is None:  # everything is broadcast or has no inputs
        over = step.temporary("elements", u8, count)
    step.build.compute(kernel.made(), over=over, thread_blocks=parts.size, buffers=kernel.buffers)
    part = TensorType((1,), dtype)
    last = step.kernel(part)
    value = last.read_buffer(parts, part, last.own)
    last.aggregate(value, step.out, _AGGREGATES[operation], step.node.type.dtype)
    step.build.compute(last.made(), over=parts, thread_blocks=1, buffers=last.buffers)


def _has_size(a: TensorType, b: TensorType) -> bool:
    return (a.size, a.batched, a.nnz) == (b.size, b.batched, None)


def memory_axes(step: LoweringStep, type_: TensorType, reduced: Sequence[bool], *, batch: bool) -> list[Axis]:
    """Return a tensor's axes in memory, with neighbours of one kind merged; `batch` is whether it is reduced."""
    axes = [Axis(size, is_reduced) for size, is_reduced in zip(type_.shape, reduced, strict=True) if size > 1]
    if type_.batched:
        axes.insert(0, Axis(step.batch, batch))
    found = []
    for is_reduced, group in groupby(axes, key=lambda axis: axis.is_reduced):
        found.append(Axis(size_product([axis.size for axis in group]), is_reduced))
    return found


def size_product(sizes: Sequence[int | str]) -> int | str:
    """Return a product of sizes, as a number if known."""
    known = prod(size for size in sizes if isinstance(size, int))
    others = [f"({size})" for size in sizes if isinstance(size, str)]
    if not others:
        return known
    return " * ".join([*others, *([str(known)] if known != 1 else [])])


def write_axes(step: LoweringStep, source: BufferHandle, axes: Sequence[Axis], operation: str, dtype: DType) -> None:
    """Reduce the axes of a buffer to the step's output, from last to first."""
    left = list(axes)
    places = [at for at, axis in enumerate(left) if axis.is_reduced]
    if not places:
        step.build.copy(step.out, source)
        return
    for at in reversed(places):
        outer, inner = (
            size_product([axis.size for axis in left[:at]]),
            size_product([axis.size for axis in left[at + 1 :]]),
        )
        is_last = at == places[0]
        out = step.out if is_last else step.temporary(f"axis{at}_", dtype, size_product([outer, inner]))
        reduce_axis(step, source, out, (outer, left[at].size, inner), operation, dtype)
        del left[at]
        source = out


def reduce_axis(
    step: LoweringStep,
    source: BufferHandle,
    out: BufferHandle,
    shape: tuple[int | str, int | str, int | str],
    operation: str,
    dtype: DType,
) -> None:
    """Reduce the middle one of three axes."""
    outer, size, inner = shape

    def kernel(name: str) -> Kernel:
        return element_kernel("tensor_reduce.cu", name, dtype, OPERATION=list(_AGGREGATES).index(operation))

    numbers = {"size": size_argument(size), "inner": size_argument(inner), "rows": size_argument(outer)}
    if inner == 1 and (outer != 1 or (isinstance(size, int) and size <= LONGEST)):
        is_short = isinstance(size, int) and size <= SHORT
        name, threads = ("reduce_short_rows", 1) if is_short else ("reduce_rows", 32)
        taken = (read_only(source), write_only(out), numbers["rows"], numbers["size"])
        step.build.launch(kernel(name), num_threads=numbers["rows"] * threads, args=taken)
        return
    tiles = numbers["rows"] * Extent(f"ceil(({inner}) / 32)") * 256
    if isinstance(size, int) and size <= LONGEST:
        columns = (read_only(source), write_only(out), numbers["size"], numbers["inner"], numbers["size"])
        step.build.launch(kernel("reduce_columns"), num_threads=tiles, args=columns)
        return
    shares = Extent(f"ceil(({size}) / {SHARE})")
    parts = step.temporary("shares", number_type(dtype), size_product([outer, shares.text, inner]))
    first = (read_only(source), write_only(parts), numbers["size"], numbers["inner"], SHARE)
    step.build.launch(kernel("share_columns"), num_threads=tiles * shares, args=first)
    second = (read_only(parts), write_only(out), shares, numbers["inner"], shares)
    step.build.launch(kernel("reduce_shares"), num_threads=tiles, args=second)


def write_softmax(step: LoweringStep, axis: int, *, logarithm: bool) -> None:
    """Write softmax, or its logarithm, of a step's input along an axis."""
    type_ = step.node.type
    size, inner = type_.shape[axis], prod(type_.shape[axis + 1 :])
    rows = size_argument(size_product([step.batch if type_.batched else 1, *type_.shape[:axis], inner]))
    args = (read_only(step.input(0)), write_only(step.out), rows, size)
    is_short = inner > 1 or size <= SHORT

    def kernel(name: str) -> Kernel:
        return element_kernel("tensor_softmax.cu", name, type_.dtype, LOGARITHM=int(logarithm))

    if is_short:
        step.build.launch(kernel("softmax_each"), num_threads=rows, args=(*args, inner))
    else:
        step.build.launch(kernel("softmax_rows"), num_threads=rows * 32, args=args)
