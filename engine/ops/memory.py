"""Elements in memory: loads that widen, stores that narrow, and the handling of out-of-bounds indices."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from warploom.engine.ops.emission import I8, I16, I32, I64, LLVM, Emission, OpBuffer, OpValue, constant
from warploom.engine.ops.pixels import from_codes, to_codes
from warploom.engine.ops.types import RANKS, WIDENED, BufferType, ValueType, read_as, srgb8
from warploom.engine.types import DType, bf16, boolean, f16, f32, s8, s16, u8, u16
from warploom.engine.types.element_numbers import PARTS_AT, SIZE, element_number

_IN_MEMORY: dict[DType, ir.Type] = {
    **dict.fromkeys((boolean, u8, s8, srgb8), I8),
    **dict.fromkeys((u16, s16, bf16), I16),
    f16: ir.HalfType(),
}

#: The choices for a load beyond the edge of a buffer; below, for a store there.
LOAD_BOUNDARIES = ("clamp", "wrap", "mirror", "zero")
STORE_BOUNDARIES = ("skip", "clamp", "wrap", "mirror")


def stored(scalar: DType) -> ir.Type:
    """Return the type of one component in memory."""
    return _IN_MEMORY.get(scalar) or LLVM[scalar]


def _layout(dtype: DType) -> tuple[DType, ir.Type]:
    """Return the scalar of an element and the whole element's type; three components are not aligned to their size."""
    scalar = dtype.of or dtype
    if dtype.components == 1:
        return scalar, stored(scalar)
    kind = ir.ArrayType if dtype.components == 3 else ir.VectorType
    return scalar, kind(stored(scalar), dtype.components)


def _address(emission: Emission, layout: ir.Type, buffer: OpBuffer, index: ir.Value) -> ir.Value:
    wide = emission.builder.sext(index, I64)
    return emission.builder.gep(buffer.pointer, [wide], source_etype=layout)


def address(emission: Emission, buffer: OpBuffer, index: ir.Value) -> ir.Value:
    """Return the address of the element at an index (i32)."""
    return _address(emission, _layout(buffer.type.dtype)[1], buffer, index)


def load(emission: Emission, buffer: OpBuffer, index: ir.Value) -> OpValue:
    """Return the element at an index (i32), which must be in bounds."""
    if buffer.told is not None:
        return load_each(emission, buffer, [index])[0]
    builder, dtype = emission.builder, buffer.type.dtype
    scalar, layout = _layout(dtype)
    address = _address(emission, layout, buffer, index)
    if isinstance(layout, ir.VectorType):
        whole = builder.load(address, align=dtype.alignment, typ=layout)
        parts = [builder.extract_element(whole, ir.Constant(I32, at)) for at in range(dtype.components)]
    else:
        places = [_component(emission, address, scalar, at) for at in range(dtype.components)]
        parts = [builder.load(place, align=scalar.alignment, typ=stored(scalar)) for place in places]
    kind = read_as(dtype)
    return OpValue(kind, _widened(emission, scalar, parts))


def store(emission: Emission, buffer: OpBuffer, index: ir.Value, parts: Sequence[ir.Value]) -> None:
    """Write the element at an index (i32), which must be in bounds; `parts` have the type that elements are read as."""
    builder, dtype = emission.builder, buffer.type.dtype
    scalar, layout = _layout(dtype)
    address = _address(emission, layout, buffer, index)
    narrow = _narrowed(emission, scalar, parts)
    if isinstance(layout, ir.VectorType):
        whole: ir.Value = ir.Constant(layout, ir.Undefined)
        for at, part in enumerate(narrow):
            whole = builder.insert_element(whole, part, ir.Constant(I32, at))
        builder.store(whole, address, align=dtype.alignment)
        return
    for at, part in enumerate(narrow):
        builder.store(part, _component(emission, address, scalar, at), align=scalar.alignment)


def load_each(emission: Emission, buffer: OpBuffer, indices: Sequence[ir.Value]) -> list[OpValue]:
    """Return the elements at several indices (i32), which must be in bounds."""
    if buffer.told is None:
        return [load(emission, buffer, index) for index in indices]
    builder, kind = emission.builder, read_as(buffer.type.dtype)
    after, other = emission.block("told"), emission.block("other")
    choice = builder.switch(buffer.told, other)
    ends: list[tuple[ir.Block, list[ir.Value]]] = []
    for dtype in (*RANKS, *WIDENED):
        block = emission.block(str(dtype))
        choice.add_case(ir.Constant(I32, element_number(dtype)), block)
        builder.position_at_end(block)
        typed = OpBuffer(BufferType(dtype), buffer.pointer, buffer.extent)
        found = [emission.convert(load(emission, typed, index), kind).parts[0] for index in indices]
        ends.append((builder.block, found))
        builder.branch(after)
    builder.position_at_end(other)
    # If the element type is known only at launch, it can't be a vector: the op takes only numbers.
    rest = [
        _is_not_zero(emission, buffer, index, buffer.told) if kind.is_boolean else zeros(kind)[0] for index in indices
    ]
    ends.append((builder.block, rest))
    builder.branch(after)
    builder.position_at_end(after)
    merged = [builder.phi(LLVM[kind.scalar]) for _ in indices]
    for block, found in ends:
        for phi, value in zip(merged, found, strict=True):
            phi.add_incoming(value, block)
    return [OpValue(kind, (phi,)) for phi in merged]


def _is_not_zero(emission: Emission, buffer: OpBuffer, index: ir.Value, told: ir.Value) -> ir.Value:
    """Return whether an element has a bit that is not 0, apart from the signs of its floats."""
    builder, one = emission.builder, ir.Constant(I32, 1)
    size = builder.and_(told, ir.Constant(I32, SIZE))
    part = builder.and_(builder.lshr(told, ir.Constant(I32, PARTS_AT)), ir.Constant(I32, 15))
    within = builder.sub(part, one)  # a mask, since a float's size is a power of two; all bits if there is no float
    place = builder.mul(builder.sext(index, I64), builder.zext(size, I64))
    before, turn, done = builder.block, emission.block("bytes"), emission.block("done")
    builder.branch(turn)
    builder.position_at_end(turn)
    at, seen = builder.phi(I32), builder.phi(I8)
    address = builder.gep(buffer.pointer, [builder.add(place, builder.zext(at, I64))], source_etype=I8)
    following = builder.add(at, one)
    is_last = builder.icmp_unsigned("==", builder.and_(following, within), ir.Constant(I32, 0))
    counting = builder.select(is_last, ir.Constant(I8, 0x7F), ir.Constant(I8, 0xFF))
    both = builder.or_(seen, builder.and_(builder.load(address, align=1, typ=I8), counting))
    for phi, first, later in ((at, ir.Constant(I32, 0), following), (seen, ir.Constant(I8, 0), both)):
        phi.add_incoming(first, before)
        phi.add_incoming(later, turn)
    builder.cbranch(builder.icmp_unsigned("<", following, size), turn, done)
    builder.position_at_end(done)
    return builder.icmp_unsigned("!=", both, ir.Constant(I8, 0))


def wide_bytes(buffer: OpBuffer, count: int) -> int:
    """Return the bytes of one load of `count` elements, at most 16; vectors of three are loaded one by one."""
    dtype = buffer.type.dtype
    if buffer.told is not None:
        return 1
    return dtype.alignment if dtype.components == 3 else max(dtype.alignment, min(16, count * dtype.size_bytes))


def is_wide(buffer: OpBuffer, count: int) -> bool:
    """Return whether one load takes `count` elements, where a buffer is aligned to `wide_bytes`."""
    return buffer.told is None and wide_bytes(buffer, count) == count * buffer.type.dtype.size_bytes


def load_many(emission: Emission, buffer: OpBuffer, first: ir.Value, count: int) -> list[OpValue]:
    """Return adjacent elements; the buffer must be aligned to `wide_bytes`."""
    builder, dtype = emission.builder, buffer.type.dtype
    at_once = wide_bytes(buffer, count) // dtype.size_bytes
    if at_once <= 1:
        return load_each(emission, buffer, [builder.add(first, ir.Constant(I32, at)) for at in range(count)])
    (scalar, element), kind, found = _layout(dtype), read_as(dtype), []
    layout = ir.VectorType(stored(scalar), at_once * dtype.components)
    for start in range(0, count, at_once):
        place = _address(emission, element, buffer, builder.add(first, ir.Constant(I32, start)))
        whole = builder.load(place, align=at_once * dtype.size_bytes, typ=layout)
        parts = [builder.extract_element(whole, ir.Constant(I32, at)) for at in range(layout.count)]
        each = (parts[at : at + dtype.components] for at in range(0, layout.count, dtype.components))
        found += [OpValue(kind, _widened(emission, scalar, some)) for some in each]
    return found


def store_many(emission: Emission, buffer: OpBuffer, first: ir.Value, values: Sequence[OpValue]) -> None:
    """Write adjacent elements; the buffer must be aligned to `wide_bytes`."""
    builder, dtype = emission.builder, buffer.type.dtype
    at_once = wide_bytes(buffer, len(values)) // dtype.size_bytes
    if at_once <= 1:
        for at, value in enumerate(values):
            store(emission, buffer, builder.add(first, ir.Constant(I32, at)), value.parts)
        return
    scalar, element = _layout(dtype)
    layout = ir.VectorType(stored(scalar), at_once * dtype.components)
    for start in range(0, len(values), at_once):
        whole: ir.Value = ir.Constant(layout, ir.Undefined)
        parts = [part for v in values[start : start + at_once] for part in _narrowed(emission, scalar, v.parts)]
        for at, part in enumerate(parts):
            whole = builder.insert_element(whole, part, ir.Constant(I32, at))
        place = _address(emission, element, buffer, builder.add(first, ir.Constant(I32, start)))
        builder.store(whole, place, align=at_once * dtype.size_bytes)


def _component(emission: Emission, address: ir.Value, scalar: DType, at: int) -> ir.Value:
    return emission.builder.gep(address, [ir.Constant(I64, at)], source_etype=stored(scalar)) if at else address


def _widened(emission: Emission, scalar: DType, parts: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
    """Return the components of an element as they are read."""
    return from_codes(emission, parts) if scalar is srgb8 else tuple(_widen(emission, scalar, part) for part in parts)


def _narrowed(emission: Emission, scalar: DType, parts: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
    """Return the components of an element as they are stored."""
    return to_codes(emission, parts) if scalar is srgb8 else tuple(_narrow(emission, scalar, part) for part in parts)


def _widen(emission: Emission, scalar: DType, part: ir.Value) -> ir.Value:
    builder = emission.builder
    if scalar is boolean:
        return builder.icmp_unsigned("!=", part, ir.Constant(I8, 0))
    if scalar in (u8, u16):
        return builder.zext(part, I32)
    if scalar in (s8, s16):
        return builder.sext(part, I32)
    if scalar is f16:
        return builder.fpext(part, LLVM[f32])
    if scalar is bf16:
        return builder.bitcast(builder.shl(builder.zext(part, I32), ir.Constant(I32, 16)), LLVM[f32])
    return part


def _narrow(emission: Emission, scalar: DType, part: ir.Value) -> ir.Value:
    builder = emission.builder
    if scalar is boolean:
        return builder.zext(part, I8)
    if scalar in (u8, s8, u16, s16):
        return builder.trunc(part, stored(scalar))
    if scalar is f16:
        return builder.fptrunc(part, stored(scalar))
    return _to_bf16(emission, part) if scalar is bf16 else part


def _to_bf16(emission: Emission, part: ir.Value) -> ir.Value:
    """Return the bits of the nearest bf16, with ties to even; NaN stays NaN."""
    builder = emission.builder
    bits = builder.bitcast(part, I32)
    high = builder.lshr(bits, ir.Constant(I32, 16))
    odd = builder.and_(high, ir.Constant(I32, 1))
    near = builder.lshr(builder.add(builder.add(bits, ir.Constant(I32, 0x7FFF)), odd), ir.Constant(I32, 16))
    quiet = builder.or_(high, ir.Constant(I32, 0x40))
    is_nan = builder.fcmp_unordered("uno", part, part)
    return builder.trunc(builder.select(is_nan, quiet, near), I16)


def through_memory(emission: Emission, dtype: DType, value: OpValue) -> OpValue:
    """Return the value after a store and a load; it has the type that elements are read as."""
    scalar = dtype.of or dtype
    return OpValue(value.type, _widened(emission, scalar, _narrowed(emission, scalar, value.parts)))


def is_inside(emission: Emission, index: ir.Value, size: ir.Value) -> ir.Value:
    """Return whether 0 <= index < size; both are i32."""
    return emission.builder.icmp_unsigned("<", index, size)


def bounded(emission: Emission, boundary: str, index: ir.Value, size: ir.Value) -> ir.Value:
    """Return an index in bounds, where 0 < size. For "zero" and "skip", return the index unchanged."""
    builder = emission.builder
    zero, one = ir.Constant(I32, 0), ir.Constant(I32, 1)
    if boundary == "clamp":
        last = builder.sub(size, one)
        return emission.call("llvm.smax.i32", I32, [emission.call("llvm.smin.i32", I32, [index, last]), zero])
    if boundary == "wrap":
        return _modulo(emission, index, size)
    if boundary == "mirror":
        # 0 1 2 2 1 0 0 1 2 ...: the index modulo twice the size, with the upper half reversed.
        wide, wide_size = builder.sext(index, I64), builder.sext(size, I64)
        period = builder.shl(wide_size, ir.Constant(I64, 1))
        turned = _modulo(emission, wide, period)
        back = builder.sub(builder.sub(period, ir.Constant(I64, 1)), turned)
        is_back = builder.icmp_signed(">=", turned, wide_size)
        return builder.trunc(builder.select(is_back, back, turned), I32)
    return index


def _modulo(emission: Emission, index: ir.Value, size: ir.Value) -> ir.Value:
    """Return the remainder that is not negative."""
    builder = emission.builder
    remainder = builder.srem(index, size)
    is_below = builder.icmp_signed("<", remainder, ir.Constant(index.type, 0))
    return builder.select(is_below, builder.add(remainder, size), remainder)


def zeros(kind: ValueType) -> list[ir.Value]:
    """Return a zero for each component of a type."""
    return [constant(kind.scalar, 0)] * kind.components
