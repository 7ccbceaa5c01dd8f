"""Kernels whose threads compute several elements each.

In element-wise kernels for GPUs, a thread computes neighbouring elements, with loads and stores of up to 16 bytes.
Elements at the end are computed one by one, and so are all elements if a buffer is not aligned.

In kernels with aggregates, each thread block goes through its share of the elements in order. Each thread computes
four elements at once, which lie a thread block's width apart. Their loads don't wait for each other, and neighbouring
threads load neighbouring elements. If the elements are of one or two bytes, a thread loads 16 or 8, since a GPU needs
many bytes under way. For a GPU, a thread loads four neighbouring elements of at most 4 bytes at once instead, and the
threads then exchange what they have combined. The elements that are combined, and their order, depend only on the
number of elements and thread blocks. So results are the same on every device and with any fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import chain

from llvmlite import ir
from msgspec.structs import replace

from warploom.engine.ops import memory
from warploom.engine.ops.emission import I32, I64, Aggregate, Emission, OpBuffer, OpValue
from warploom.engine.ops.interface import SHARE_THREADS
from warploom.engine.ops.library.threads import barrier, shared_array
from warploom.engine.ops.lowering.places import NOWHERE, MetadataRef
from warploom.engine.ops.types import BufferType, read_as
from warploom.engine.types import f64, s32

#: The number of elements that each thread of a kernel with aggregates computes at once. A share is a multiple of a
#: thread block's width, so that its threads end their loops together, and a warp's loads begin with a cache line.
SHARE_LANES = 4


def emit_lanes(
    emission: Emission,
    count: int,
    inputs: Sequence[OpBuffer],
    outputs: Sequence[OpBuffer],
    body: Callable[[], None],
) -> None:
    """Write a kernel whose threads compute `count` elements each; `body` writes the code for the current element.

    `inputs` and `outputs` are the buffers that are loaded and stored several elements at a time.
    """
    builder, size = emission.builder, emission.extent("size")
    thread = builder.add(
        builder.mul(emission.special("ctaid.x"), emission.special("ntid.x")), emission.special("tid.x")
    )
    step = ir.Constant(I32, count)
    # The index of the first element is unsigned, since threads beyond the end may pass 2^31.
    first = builder.mul(thread, step)
    some, full, single, done = (emission.block(name) for name in ("some", "wide", "single", "done"))
    builder.cbranch(builder.icmp_unsigned("<", first, size), some, done)
    builder.position_at_end(done)
    builder.ret_void()
    builder.position_at_end(some)
    is_full = builder.icmp_signed(">=", builder.sub(size, first), step)
    builder.cbranch(builder.and_(is_full, _are_aligned(emission, count, [*inputs, *outputs])), full, single)
    builder.position_at_end(full)
    _wide(emission, count, inputs, outputs, first, body)
    builder.ret_void()
    builder.position_at_end(single)
    end = emission.call("llvm.umin.i32", I32, [size, builder.add(first, step)])
    turn = emission.block("turn")
    builder.branch(turn)
    builder.position_at_end(turn)
    index = builder.phi(I32)
    index.add_incoming(first, single)
    _place(emission, index)
    body()
    following = builder.add(index, ir.Constant(I32, 1))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_unsigned("<", following, end), turn, done)


def _place(emission: Emission, index: ir.Value) -> None:
    """Make an index the current element."""
    builder, rest, place = emission.builder, index, list[ir.Value]()
    for extent in ("width", "height")[: emission.rank - 1]:
        size = emission.extent(extent)
        place.append(builder.urem(rest, size))
        rest = builder.udiv(rest, size)
    emission.index, emission.place = index, [*place, rest]


def _are_aligned(emission: Emission, count: int, buffers: Sequence[OpBuffer]) -> ir.Value:
    """Return whether every buffer is aligned for loads and stores of several elements."""
    builder = emission.builder
    low: ir.Value = ir.Constant(I64, 0)
    for buffer in buffers:
        bits = ir.Constant(I64, memory.wide_bytes(buffer, count) - 1)
        low = builder.or_(low, builder.and_(builder.ptrtoint(buffer.pointer, I64), bits))
    return builder.icmp_unsigned("==", low, ir.Constant(I64, 0))


def _wide(
    emission: Emission,
    count: int,
    inputs: Sequence[OpBuffer],
    outputs: Sequence[OpBuffer],
    first: ir.Value,
    body: Callable[[], None],
) -> None:
    """Load all elements, compute each, and store all."""
    loaded = {}
    for buffer in inputs:
        emission.builder.debug_metadata = emission.origins[buffer.pointer.name]
        loaded[buffer.pointer.name] = memory.load_many(emission, buffer, first, count)
    results: list[dict[str, OpValue]] = []
    for lane in range(count):
        _place(emission, emission.builder.add(first, ir.Constant(I32, lane)))
        emission.own = {name: values[lane] for name, values in loaded.items()}
        emission.results = {}
        body()
        results.append(emission.results)
    emission.own, emission.results = {}, None
    for buffer in outputs:
        emission.builder.debug_metadata = emission.origins[buffer.pointer.name]
        memory.store_many(emission, buffer, first, [found[buffer.pointer.name] for found in results])
    emission.builder.debug_metadata = MetadataRef(NOWHERE)


#: The value that each lane of a thread has combined so far, by aggregate.
_Held = list[list[ir.Value]]


def emit_shares(
    emission: Emission,
    inputs: Sequence[OpBuffer],
    aggregates: Sequence[Aggregate],
    body: Callable[[], None],
    *,
    is_adjacent: bool,
) -> None:
    """Write a kernel whose thread blocks each have a share of the elements; `body` is as for `emit_lanes`.

    With `is_adjacent`, a thread loads neighbouring elements at once where it can; results have the same bits.
    """
    builder, width = emission.builder, ir.Constant(I32, SHARE_THREADS)
    thread = emission.special("tid.x")
    size, blocks, block = emission.extent("size"), emission.special("nctaid.x"), emission.special("ctaid.x")
    # Unsigned arithmetic, since threads beyond the end may pass 2^31.
    each = builder.mul(blocks, width)
    share = builder.mul(builder.udiv(builder.add(size, builder.sub(each, ir.Constant(I32, 1))), each), width)
    start = emission.call("llvm.umin.i32", I32, [size, builder.mul(block, share)])
    end = emission.call("llvm.umin.i32", I32, [size, builder.add(start, share)])

    def taken() -> list[ir.Value]:
        """Return the current element's values."""
        body()
        return [emission.aggregated[aggregate.buffer.pointer.name].parts[0] for aggregate in aggregates]

    def is_full(count: int, first: ir.Value) -> ir.Value:
        """Return whether all threads have `count` elements; the answer is the same in the whole thread block."""
        return builder.icmp_unsigned(">=", builder.sub(end, first), ir.Constant(I32, count * SHARE_THREADS))

    def all_lanes(count: int, first: ir.Value, held: _Held) -> tuple[ir.Value, _Held]:
        index = builder.add(first, thread)
        steps = [ir.Constant(I32, at * SHARE_THREADS) for at in range(count)]
        places = [builder.add(index, step) for step in steps]
        loaded = {}
        for buffer in inputs:
            builder.debug_metadata = emission.origins[buffer.pointer.name]
            name = buffer.pointer.name
            if buffer.told is None:  # one address for all
                own = replace(buffer, pointer=memory.address(emission, buffer, index))
                loaded[name] = memory.load_each(emission, own, steps)
            else:
                loaded[name] = memory.load_each(emission, buffer, places)
        return combined(count, first, places, loaded, held)

    def adjacent_lanes(count: int, first: ir.Value, held: _Held) -> tuple[ir.Value, _Held]:
        """Compute the same as `all_lanes`, except that each lane of a thread has what another one has there."""
        index = builder.add(first, builder.mul(thread, ir.Constant(I32, SHARE_LANES)))
        offsets = range(0, count * SHARE_THREADS, SHARE_LANES * SHARE_THREADS)
        groups = [builder.add(index, ir.Constant(I32, offset)) for offset in offsets]
        loaded = {}
        for buffer in inputs:
            builder.debug_metadata = emission.origins[buffer.pointer.name]
            each = (memory.load_many(emission, buffer, group, SHARE_LANES) for group in groups)
            loaded[buffer.pointer.name] = list(chain.from_iterable(each))
        places = [builder.add(group, ir.Constant(I32, lane)) for group in groups for lane in range(SHARE_LANES)]
        return combined(count, first, places, loaded, held)

    def combined(
        count: int, first: ir.Value, places: list[ir.Value], loaded: dict[str, list[OpValue]], held: _Held
    ) -> tuple[ir.Value, _Held]:
        """Combine the elements at `places`, of which each lane has every fourth one."""
        found, changed = list[list[ir.Value]](), list(held)
        for at, place in enumerate(places):
            _place(emission, place)
            emission.own = {name: values[at] for name, values in loaded.items()}
            found.append(taken())
        emission.own = {}
        for lane in range(SHARE_LANES):
            of_lane = zip(*found[lane::SHARE_LANES], strict=True)
            changed[lane] = [
                _combined(emission, aggregate, before, values)
                for aggregate, before, values in zip(aggregates, changed[lane], of_lane, strict=True)
            ]
        return builder.add(first, ir.Constant(I32, count * SHARE_THREADS)), changed

    def is_inside(index: ir.Value) -> ir.Value:
        return builder.icmp_unsigned("<", index, end)

    def first_lane(index: ir.Value, held: _Held) -> tuple[ir.Value, _Held]:
        """Combine one element in the first lane, then move that lane behind the others."""
        _place(emission, index)
        return builder.add(index, width), [*held[1:], _both(aggregates, held[0], taken())]

    none = [[aggregate.none for aggregate in aggregates] for _ in range(SHARE_LANES)]
    rest, held = start, none
    size_bytes = sum(4 if buffer.told is not None else buffer.type.dtype.size_bytes for buffer in inputs)
    all_rounds = (4, 2, 1) if size_bytes == 1 else (2, 1) if size_bytes == 2 else (1,)
    if is_adjacent and inputs and all(memory.is_wide(buffer, SHARE_LANES) for buffer in inputs):
        count = all_rounds[0] * SHARE_LANES
        aligned = _are_aligned(emission, SHARE_LANES, inputs)
        rest, held = _loop(
            emission,
            lambda first: builder.and_(aligned, is_full(count, first)),
            partial(adjacent_lanes, count),
            rest,
            held,
        )
        held = _apart(emission, aggregates, held)
    for rounds in all_rounds:
        count = rounds * SHARE_LANES
        rest, held = _loop(emission, partial(is_full, count), partial(all_lanes, count), rest, held)
    _, held = _loop(emission, is_inside, first_lane, builder.add(rest, thread), held)
    while len(held) > 1:
        held = [_both(aggregates, a, b) for a, b in zip(held[::2], held[1::2], strict=True)]
    _store_totals(emission, aggregates, held[0], block)
    builder.ret_void()


def _apart(emission: Emission, aggregates: Sequence[Aggregate], held: _Held) -> _Held:
    """Return what lanes hold of elements a thread block's width apart, from what they hold of neighbours."""
    thread = emission.special("tid.x")
    most = max(aggregate.kind.scalar.size_bytes for aggregate in aggregates)
    pointer = shared_array(emission, "apart", most * SHARE_LANES * SHARE_THREADS)
    found = list[list[ir.Value]]()
    for aggregate, values in zip(aggregates, zip(*held, strict=True), strict=True):
        shared = _shared(aggregate, pointer, SHARE_LANES * SHARE_THREADS)
        first = emission.builder.mul(thread, ir.Constant(I32, SHARE_LANES))
        for lane, value in enumerate(values):
            memory.store(emission, shared, emission.builder.add(first, ir.Constant(I32, lane)), [value])
        barrier(emission)
        places = (emission.builder.add(thread, ir.Constant(I32, lane * SHARE_THREADS)) for lane in range(SHARE_LANES))
        found.append([memory.load(emission, shared, place).parts[0] for place in places])
        barrier(emission)
    return [list(values) for values in zip(*found, strict=True)]


def _shared(aggregate: Aggregate, pointer: ir.Value, count: int) -> OpBuffer:
    """Return shared memory for values of an aggregate."""
    dtype = aggregate.kind.element()
    assert dtype is not None
    return OpBuffer(BufferType(dtype, "shared", writable=True), pointer, lambda _: ir.Constant(I32, count))


def _combined(emission: Emission, aggregate: Aggregate, before: ir.Value, values: Sequence[ir.Value]) -> ir.Value:
    """Return what a lane holds after some elements.

    Floats that were whole numbers of 16 bits are combined as such, and then converted, if that is exact: a GPU takes
    less time for it.
    """
    shorts, kind = [emission.shorts[value] for value in values if value in emission.shorts], aggregate.kind.scalar
    if 1 < len(values) == len(shorts):
        if aggregate.operation == "add" and kind is f64:
            values = [emission.scalar(reduce(emission.builder.add, shorts), s32, f64)]
        elif name := {"minimum": "smin", "maximum": "smax"}.get(aggregate.operation):
            best = reduce(lambda a, b: emission.call(f"llvm.{name}.i32", I32, [a, b]), shorts)
            values = [emission.scalar(best, s32, kind)]
    return reduce(aggregate.both, values, before)


def _both(aggregates: Sequence[Aggregate], a: list[ir.Value], b: list[ir.Value]) -> list[ir.Value]:
    return [aggregate.both(one, other) for aggregate, one, other in zip(aggregates, a, b, strict=True)]


def _loop(
    emission: Emission,
    goes_on: Callable[[ir.Value], ir.Value],
    turn: Callable[[ir.Value, _Held], tuple[ir.Value, _Held]],
    first: ir.Value,
    none: _Held,
) -> tuple[ir.Value, _Held]:
    """Write a loop over elements. Return the index after the last one, and the values that lanes hold then."""
    builder, before = emission.builder, emission.builder.block
    head, inside, after = (emission.block(name) for name in ("head", "inside", "after"))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I32)
    held = [[builder.phi(value.type) for value in lane] for lane in none]
    builder.cbranch(goes_on(index), inside, after)
    builder.position_at_end(inside)
    following, changed = turn(index, held)
    phis, begun, later = (chain.from_iterable(lanes) for lanes in (held, none, changed))
    for phi, start, end in [(index, first, following), *zip(phis, begun, later, strict=True)]:
        phi.add_incoming(start, before)
        phi.add_incoming(end, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return index, held


def _store_totals(
    emission: Emission, aggregates: Sequence[Aggregate], values: Sequence[ir.Value], block: ir.Value
) -> None:
    """Combine the values of all threads of the thread block, and store the total.

    This goes through shared memory: shuffles take longer on a CPU, and there is only one total for many elements.
    """
    builder, thread = emission.builder, emission.special("tid.x")
    buffers = []
    for number, (aggregate, value) in enumerate(zip(aggregates, values, strict=True)):
        pointer = shared_array(emission, f"held{number}", aggregate.kind.scalar.size_bytes * SHARE_THREADS)
        buffers.append(_shared(aggregate, pointer, SHARE_THREADS))
        memory.store(emission, buffers[-1], thread, [value])
    half = SHARE_THREADS // 2
    while half:
        barrier(emission)
        with builder.if_then(builder.icmp_unsigned("<", thread, ir.Constant(I32, half))):
            for aggregate, held in zip(aggregates, buffers, strict=True):
                own = memory.load(emission, held, thread)
                other = memory.load(emission, held, builder.add(thread, ir.Constant(I32, half)))
                memory.store(emission, held, thread, [aggregate.both(own.parts[0], other.parts[0])])
        half //= 2
    with builder.if_then(builder.icmp_unsigned("==", thread, ir.Constant(I32, 0))):
        for aggregate, held in zip(aggregates, buffers, strict=True):
            kind = read_as(aggregate.buffer.type.dtype)
            total = emission.convert(memory.load(emission, held, thread), kind)
            memory.store(emission, aggregate.buffer, block, total.parts)
