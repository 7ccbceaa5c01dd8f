"""Products with sparse columns, and their gradients, which are sums by keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warploom.engine.descriptions.entries import BufferArgument
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.tensor_ir.lowering.reducing import Axis, reduce_axis, size_product
from warploom.engine.tensor_ir.lowering.step import (
    LoweringStep,
    SizeExpression,
    element_kernel,
    number_type,
    read_only,
    size_argument,
    write_only,
)
from warploom.engine.tensor_ir.operations.rules import RULES, GraphValue
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import DType, s32

#: The entries that one warp sorts, and the sorted entries whose vectors one thread block adds up.
SHARE, PIECE = 2048, 128
#: The bytes of vectors that are added up as one group, so that they stay in a core's cache, and the fewest entries of a
#: group for each key.
GROUP_BYTES, GROUP_ENTRIES = 1 << 20, 32
#: The fewest columns of a product for which a thread block shares the row numbers of an example.
FEWEST_TOGETHER = 32
#: The activations that kernels apply themselves, by name in the table, with their names in `tensor_activations.cuh`.
_IN_KERNELS: Mapping[str | None, str] = {
    None: "identity",
    **{name: name for name in ("relu", "crelu", "screlu", "sqr_relu", "sigmoid")},
}


def write_sparse_product(
    step: LoweringStep,
    columns: Sequence[int],
    *,
    transpose_a: bool,
    bias: int | None = None,
    activation: str | None = None,
) -> None:
    """Write the product of the weights, the first input, and sparse columns; the results are stacked.

    `columns` and `bias` are numbers of inputs. Each result is a sum of rows of a table, which are columns of the
    weights.
    """
    types = [node.type for node in step.node.inputs]
    dtype, (height, width) = types[0].dtype, types[0].shape
    table = step.input(0)
    if not transpose_a:
        height, width = width, height
        table = _transposed(step, table, types[0])
    fused = activation in _IN_KERNELS
    has_bias = bias is not None and not types[bias].batched and types[bias].shape in ((width, 1), (1, 1))
    fits = bias is None or (has_bias and types[bias].size == width)
    out, stride = step.out, width * len(columns)
    if not fits or not fused:
        out = step.temporary("sums", dtype, step.count(step.node.type))
    together = columns_together(width)
    if width >= FEWEST_TOGETHER:
        name, threads, block = "sum_rows_together", -(-width // (together * 64)) * 64, 64
    else:
        name, threads = ("sum_rows_by_four", width // 4) if width % 4 == 0 else ("sum_rows", width)
        block = None
    kernel = element_kernel(
        "tensor_sparse.cu",
        name,
        dtype,
        ACTIVATION=_IN_KERNELS[activation] if fits and fused else _IN_KERNELS[None],
        COLUMNS=together,
        IS_WHOLE=int(width % (together * 64) == 0),
    )
    examples = size_argument(step.batch if step.node.type.batched else 1)
    for number, column in enumerate(columns):
        rows = step.input(column)
        if step.node.type.batched and not types[column].batched:
            rows = _repeated(step, rows, types[column], number)
        added = read_only(step.input(bias)) if bias is not None and fits else 0
        args = (read_only(table), read_only(rows), added, write_only(out), examples, types[column].nnz, height, width)
        places = (stride, width * number)
        step.build.launch(kernel, num_threads=examples * threads, args=(*args, *places), thread_block=block)
    if out is not step.out:
        _write_activation(step, out, step.node.type, None if fits else bias, activation)


def columns_together(width: int) -> int:
    """Return how many columns, up to four, each of 64 threads adds up, so that few threads have none."""
    whole = next((count for count in (4, 3, 2, 1) if width % (64 * count) == 0), None)
    return -(-width // (64 * -(-width // 256))) if whole is None else whole


def _write_activation(
    step: LoweringStep, product: BufferHandle, given: TensorType, bias: int | None, activation: str | None
) -> None:
    """Write a step's output: a product of a given type, plus the bias (an input's number), and an activation."""
    type_ = step.node.type
    kernel = step.kernel(type_)
    value = GraphValue(kernel.graph, kernel.read_buffer(product, given, kernel.own))
    if bias is not None:
        added = kernel.read_buffer(step.input(bias), step.node.inputs[bias].type, kernel.own)
        value = value + GraphValue(kernel.graph, added)
    if activation is not None:
        value = RULES[activation].emit(value)
    kernel.write_value(value.port, step.out, type_.dtype)
    step.build.compute(kernel.made(), over=step.out, buffers=kernel.buffers)


def _transposed(step: LoweringStep, matrix: BufferHandle, type_: TensorType) -> BufferHandle:
    rows, columns = type_.shape
    turned = TensorType((columns, rows), type_.dtype)
    kernel, out = step.kernel(turned), step.temporary("turned", type_.dtype, columns, rows)
    place = kernel.own.at((rows, columns), kernel.own.axes[::-1])
    kernel.write_value(kernel.read_buffer(matrix, type_, place), out, type_.dtype)
    step.build.compute(kernel.made(), over=out, buffers=kernel.buffers)
    return out


def _repeated(step: LoweringStep, rows: BufferHandle, type_: TensorType, number: int) -> BufferHandle:
    """Return the rows of a column that all examples share, repeated for each example."""
    whole = TensorType(type_.stored_shape, s32, True)
    kernel, out = step.kernel(whole), step.temporary(f"rows{number}_", s32, step.count(whole))
    kernel.write_value(kernel.read_buffer(rows, TensorType(type_.stored_shape, s32), kernel.own), out, s32)
    step.build.compute(kernel.made(), over=out, buffers=kernel.buffers)
    return out


def write_sparse_outer(step: LoweringStep, *, transpose_a: bool) -> None:
    """Write the gradient of the weights of a sparse product: the sum of gradients for each row in the columns."""
    dense, column = (node.type for node in step.node.inputs)
    vectors, height, size = step.input(0), dense.shape[0], column.shape[0]
    assert column.nnz is not None
    if dense.batched and not column.batched:
        vectors = _summed(step, vectors, height, dense.dtype)
    steps = (height, 1) if transpose_a else (1, size)
    outer = 1 if dense.batched and column.batched else 0
    examples: SizeExpression = step.batch if column.batched else 1
    keys = step.temporary("ended", s32, size_product([examples, column.nnz]))
    ends = element_kernel("tensor_sparse.cu", "end_rows", dense.dtype)
    args = (read_only(step.input(1)), write_only(keys), size_argument(examples), column.nnz)
    step.build.launch(ends, num_threads=size_argument(size_product([examples, 32])), args=args)
    groups: SizeExpression = 1
    count, total = size_product([examples, column.nnz]), None
    share = GROUP_BYTES // (height * dense.dtype.size_bytes)
    if outer and share * column.nnz >= GROUP_ENTRIES * size:
        groups, total = f"ceil(({examples}) / {share})", count
        count = size_product([f"min({share}, {examples})", column.nnz])
    write_sums(
        step,
        Entries(keys, s32, groups, count, size, total),
        SummedVectors(vectors, dense.dtype, groups, 1, height, (share * height, 0), (outer, 0), column.nnz),
        (0, 0, *steps),
    )


def write_scatter(step: LoweringStep, axis: int, size: int, *, sum_batch: bool) -> None:
    """Write sums of slices of the second input, grouped by the indices in the first."""
    indices, updates = (node.type for node in step.node.inputs)
    rest = updates.shape[axis + len(indices.shape) :]
    fronts, own, width = (size_product(part) for part in (updates.shape[:axis], indices.shape, rest))
    assert isinstance(fronts, int) and isinstance(own, int) and isinstance(width, int)
    vectors, whole, is_summed = step.input(1), fronts * own * width, sum_batch
    if sum_batch and not indices.batched:
        vectors, is_summed = _summed(step, vectors, whole, updates.dtype), False
    groups: SizeExpression = step.batch if step.node.type.batched else 1
    key_groups: SizeExpression = step.batch if indices.batched and not is_summed else 1
    count = size_product([step.batch if is_summed else 1, own])
    per_example = whole if updates.batched else 0
    write_sums(
        step,
        Entries(step.input(0), indices.dtype, key_groups, count, size),
        SummedVectors(
            vectors,
            updates.dtype,
            groups,
            fronts,
            width,
            (0 if sum_batch else per_example, own * width),
            (per_example // width if is_summed else 0, 1),
            own,
        ),
        (fronts * size * width, size * width, width, 1),
    )


def _summed(step: LoweringStep, vectors: BufferHandle, size: int, dtype: DType) -> BufferHandle:
    """Return the sum of vectors over the batch."""
    out = step.temporary("summed", dtype, size)
    axes = [Axis(step.batch, True), Axis(size, False)]
    reduce_axis(step, vectors, out, (1, axes[0].size, size), "sum", dtype)
    return out


@dataclass(frozen=True)
class Entries:
    """Keys of entries, `count` for each of several groups; keys from 0 to below `size` take part.

    With `total`, the number of all entries, the sums of all groups are added up, and the last group may be smaller.
    """

    keys: BufferHandle
    dtype: DType
    groups: SizeExpression
    count: SizeExpression
    size: int
    total: SizeExpression | None = None


@dataclass(frozen=True)
class SummedVectors:
    """Vectors of `width` elements to add up, one per entry, for each group and front.

    `steps` are the distances between groups and between fronts, in elements. `numbers` are the distances between
    entries, in vectors: between runs of `per` entries, and inside a run.
    """

    handle: BufferHandle
    dtype: DType
    groups: SizeExpression
    fronts: int
    width: int
    steps: tuple[int, int]
    numbers: tuple[int, int]
    per: int


def write_sums(
    step: LoweringStep, entries: Entries, vectors: SummedVectors, out_steps: tuple[int, int, int, int]
) -> None:
    """Write the sum of each key's vectors; strides by group, front, key and column give its place in the output.

    Entries are sorted by key and added in order, so the sums are always the same.
    """
    build, size, count = step.build, entries.size, entries.count
    share = max(SHARE, size)
    shares, pieces = f"ceil(({count}) / {share})", f"ceil(({count}) / {PIECE})"
    counts = step.temporary("counts", s32, size_product([entries.groups, shares, size]))
    starts = step.temporary("starts", s32, size_product([entries.groups, size + 1]))
    place = size_product([entries.groups, count])
    order, numbers = step.temporary("sorted", s32, place), step.temporary("vectors", s32, place)
    number = number_type(vectors.dtype)
    parts = step.temporary("parts", number, size_product([vectors.groups, vectors.fronts, pieces, 2, vectors.width]))
    warps = size_argument(size_product([entries.groups, shares])) * 32

    columns = columns_together(vectors.width)
    block = 64 if columns > 1 else min(256, -(-vectors.width // 32) * 32)
    tiles = -(-vectors.width // (block * columns))
    is_whole = columns > 1 and vectors.width % (64 * columns) == 0
    macros: dict[str, str | int] = {"COLUMNS": columns, "IS_WHOLE": int(is_whole), "KEY": entries.dtype.cuda_name}

    def launch(name: str, threads: Extent, args: Sequence[object], block: int) -> None:
        kernel = element_kernel("tensor_segments.cu", name, vectors.dtype, **macros)
        build.launch(kernel, num_threads=threads, args=args, thread_block=block)

    build.fill(counts)
    groups, is_joined = size_argument(entries.groups), entries.total is not None
    total = size_argument(size_product([entries.groups, count]) if entries.total is None else entries.total)
    keys, sizes = read_only(entries.keys), (size_argument(count), size, share, total)
    launch("count_keys", warps, (keys, _changes(counts), *sizes), 32)
    launch(
        "add_shares", groups * size, (_changes(counts), write_only(starts), groups, size, size_argument(shares)), 256
    )
    launch("add_keys", groups * 32, (_changes(starts), size), 32)
    placed = (keys, _changes(counts), read_only(starts), write_only(order), write_only(numbers))
    launch("place_entries", warps, (*placed, *sizes, vectors.per, *vectors.numbers), 32)
    several = size_argument(size_product([vectors.groups, vectors.fronts]))
    shape = (size_argument(count), size, vectors.fronts, vectors.width, PIECE, groups)
    sums, sum_steps = step.out, out_steps
    if is_joined:
        sums = step.temporary(
            "sums", vectors.dtype, size_product([vectors.groups, vectors.fronts, size, vectors.width])
        )
        sum_steps = (vectors.fronts * size * vectors.width, size * vectors.width, vectors.width, 1)
    sources = (vectors.handle, starts, order, numbers)
    launch(
        "sum_pieces",
        several * size_argument(pieces) * (tiles * block),
        (*map(read_only, sources), write_only(sums), write_only(parts), *shape, *vectors.steps, *sum_steps),
        block,
    )
    block = min(256, -(-vectors.width // 32) * 32)
    launch(
        "finish_pieces",
        (size_argument(vectors.fronts) if is_joined else several) * (size * -(-vectors.width // block) * block),
        (
            *(read_only(starts), read_only(parts), read_only(sums) if is_joined else 0),
            write_only(step.out) if is_joined else _changes(step.out),
            groups if is_joined else 1,
            *(*shape, *out_steps),
        ),
        block,
    )


def _changes(handle: BufferHandle) -> object:
    return BufferArgument(handle.name, reads=True, writes=True)
