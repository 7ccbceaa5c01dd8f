"""Kernels whose threads compute several elements each, with loads and stores of up to 16 bytes.

A thread has neighbouring elements. Those at the end, and all in buffers that are not aligned, are computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from engine.ops import memory
from engine.ops.emission import I32, I64, Buffer, Emission, Value


def emit_lanes(
    emission: Emission, count: int, inputs: Sequence[Buffer], outputs: Sequence[Buffer], body: Callable[[], None]
) -> None:
    """Write a kernel whose threads compute `count` elements each: `body` writes the code for the present element."""
    builder, size = emission.builder, emission.extent("size")
    thread = builder.add(
        builder.mul(emission.special("ctaid.x"), emission.special("ntid.x")), emission.special("tid.x")
    )
    step = ir.Constant(I32, count)
    # The first element is counted without a sign, since threads beyond the end may pass 2^31.
    first = builder.mul(thread, step)
    some, wide, single, done = (emission.block(name) for name in ("some", "wide", "single", "done"))
    builder.cbranch(builder.icmp_unsigned("<", first, size), some, done)
    builder.position_at_end(done)
    builder.ret_void()
    builder.position_at_end(some)
    is_full = builder.icmp_signed(">=", builder.sub(size, first), step)
    builder.cbranch(builder.and_(is_full, _are_aligned(emission, count, [*inputs, *outputs])), wide, single)
    builder.position_at_end(wide)
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
    emission.index, emission.place = index, [index]


def _are_aligned(emission: Emission, count: int, buffers: Sequence[Buffer]) -> ir.Value:
    """Return whether every buffer starts where loads of several elements may."""
    builder = emission.builder
    low: ir.Value = ir.Constant(I64, 0)
    for buffer in buffers:
        bits = ir.Constant(I64, memory.wide_bytes(buffer, count) - 1)
        low = builder.or_(low, builder.and_(builder.ptrtoint(buffer.pointer, I64), bits))
    return builder.icmp_unsigned("==", low, ir.Constant(I64, 0))


def _wide(
    emission: Emission,
    count: int,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    first: ir.Value,
    body: Callable[[], None],
) -> None:
    """Load all elements, compute each, and store all."""
    loaded = {buffer.pointer.name: memory.load_many(emission, buffer, first, count) for buffer in inputs}
    results: list[dict[str, Value]] = []
    for lane in range(count):
        _place(emission, emission.builder.add(first, ir.Constant(I32, lane)))
        emission.own = {name: values[lane] for name, values in loaded.items()}
        emission.results = {}
        body()
        results.append(emission.results)
    emission.own, emission.results = {}, None
    for buffer in outputs:
        memory.store_many(emission, buffer, first, [found[buffer.pointer.name] for found in results])
