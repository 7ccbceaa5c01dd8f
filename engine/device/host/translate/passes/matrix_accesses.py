"""ldmatrix, stmatrix, movmatrix and the loads and stores of wmma: memory accesses of each thread, and an exchange."""

from __future__ import annotations

from engine.device.host.translate.analysis.matrix_fragments import ELEMENT_BITS, lines, registers_of
from engine.device.host.translate.passes.lowering import Writer, lowers, moved, refused
from engine.ptx.tree import Address, Guard, Instruction, Integer, Operand, Register, Sink, Symbol, Vector

_SPACES = ("shared", "shared::cta", "global")


def _space(instruction: Instruction) -> str:
    found = next((item for item in instruction.modifiers if item in _SPACES), "")
    return f".{found.split('::')[0]}" if found else ""


def _count(instruction: Instruction) -> int:
    modifiers = instruction.modifiers
    if "m8n8" not in modifiers or "b16" not in modifiers:
        raise refused(instruction, "use the .m8n8 form with .b16")
    return next((int(item[1:]) for item in modifiers if item in ("x1", "x2", "x4")), 1)


def _rows(writer: Writer, count: int) -> Guard:
    """Return the guard of the threads whose address is used: the first eight for each matrix."""
    lane = writer.value("mov.u32", Register("%laneid"))
    return Guard(writer.value("setp.lt.u32", lane, 8 * count), False)


@lowers("ldmatrix")
def _load(writer: Writer, instruction: Instruction) -> None:
    count, trans = _count(instruction), "trans" in instruction.modifiers
    target, address = instruction.operands[:2]
    guard = _rows(writer, count)
    row = [writer.value("mov.b32", 0) for _ in range(4)]
    # Other threads of the warp may have stored what is loaded here.
    writer.emit("bar.warp.sync", 0)
    writer.emit(f"ld{_space(instruction)}.v4.b32", Vector(tuple(row)), address, guard=guard)
    text = f"wl.permute.load.x{count}" + (".trans" if trans else "")
    writer.emit(text, Vector(registers_of(target)), Vector(tuple(row)))


@lowers("stmatrix")
def _store(writer: Writer, instruction: Instruction) -> None:
    count, trans = _count(instruction), "trans" in instruction.modifiers
    address, source = instruction.operands[:2]
    guard = _rows(writer, count)
    row = Vector(tuple(writer.register("b32") for _ in range(4)))
    text = f"wl.permute.store.x{count}" + (".trans" if trans else "")
    writer.emit(text, row, Vector(registers_of(source)))
    writer.emit(f"st{_space(instruction)}.v4.b32", address, row, guard=guard)
    writer.emit("bar.warp.sync", 0)


@lowers("movmatrix")
def _move(writer: Writer, instruction: Instruction) -> None:
    target, source = instruction.operands[:2]
    writer.emit("wl.permute.move.x1", Vector((target,)), Vector((source,)))


@lowers("wmma")
def _wmma(writer: Writer, instruction: Instruction) -> None:
    if instruction.modifiers[0] == "mma":
        writer.done.append(instruction)
        return
    writer.emit("bar.warp.sync", 0)
    _fragment(writer, instruction, stores=instruction.modifiers[0] == "store")
    if instruction.modifiers[0] == "store":
        writer.emit("bar.warp.sync", 0)


def _fragment(writer: Writer, instruction: Instruction, *, stores: bool) -> None:
    """Read or write a fragment, one run of elements of a row or a column for each thread."""
    modifiers = instruction.modifiers
    role, kind = modifiers[1], modifiers[-1]
    if kind not in ELEMENT_BITS or role not in "abcd":
        raise refused(instruction, "use f16, bf16, tf32, f32, f64, integer or single-bit elements")
    operands = instruction.operands
    address, held = (operands[0], operands[1]) if stores else (operands[1], operands[0])
    assert isinstance(address, Address)
    registers = registers_of(held)
    found = lines(instruction, role, kind, len(registers))
    is_run = ("col" if role == "b" else "row") in modifiers
    bits = ELEMENT_BITS[kind]
    unit = 32 if bits == 1 else bits  # what a step along the run moves by; single bits are held as words
    if bits < 8 and not is_run:
        raise refused(instruction, "use row-major A and column-major B")
    length = found.length if is_run else found.lines
    stride: Operand = operands[2] if len(operands) > 2 else Integer(length * (32 if bits == 1 else 1))
    lane = writer.value("mov.u32", Register("%laneid"))
    line = writer.value("rem.u32", writer.value("div.u32", lane, found.per_line), found.lines)
    start = writer.value("mul.lo.u32", writer.value("rem.u32", lane, found.per_line), found.elements)
    line64, start64 = writer.value("cvt.u64.u32", line), writer.value("cvt.u64.u32", start)
    stride64 = writer.value("cvt.s64.s32", stride) if isinstance(stride, Register) else stride
    # In bits, because the elements of some types are smaller than a byte; the stride counts elements.
    step_bits = 1 if bits == 1 else bits
    along, across = (Integer(unit), stride64) if is_run else (stride64, Integer(unit))
    if is_run:
        far = writer.value("mul.lo.s64", writer.value("mul.lo.s64", line64, across), step_bits)
        near = writer.value("mul.lo.s64", start64, along)
    else:
        far = writer.value("mul.lo.s64", line64, across)
        near = writer.value("mul.lo.s64", writer.value("mul.lo.s64", start64, along), step_bits)
    offset = writer.value("shr.s64", writer.value("add.s64", far, near), 3)
    base = address.base
    if isinstance(base, Register):
        first = writer.value("add.s64", base, offset)
    else:
        origin = writer.value("mov.b64", Symbol(base.name, base.offset) if isinstance(base, Symbol) else base)
        first = writer.value("add.s64", origin, offset)
    place = Address(first, address.offset)
    opcode = f"{'st' if stores else 'ld'}{_space(instruction)}"
    if is_run or bits >= 32:
        step = None if is_run else writer.value("mul.lo.s64", stride64, bits // 8)
        _whole_registers(writer, opcode, place, registers, bits, step)
    else:
        _single_elements(writer, opcode, place, registers, bits, writer.value("mul.lo.s64", stride64, bits // 8))


def _access(writer: Writer, text: str, place: Address, value: Operand) -> None:
    if text.startswith("st"):
        writer.emit(text, place, value)
    else:
        writer.emit(text, value, place)


def _whole_registers(
    writer: Writer, opcode: str, place: Address, registers: tuple[Operand, ...], bits: int, step: Operand | None
) -> None:
    size = 64 if bits == 64 else 32
    for index, register in enumerate(registers):
        if step is None:
            _access(writer, f"{opcode}.b{size}", moved(place, index * size // 8), register)
        else:
            _access(writer, f"{opcode}.b{size}", place, register)
            place = Address(writer.value("add.s64", place.base, step), place.offset)


def _single_elements(
    writer: Writer, opcode: str, place: Address, registers: tuple[Operand, ...], bits: int, step: Operand
) -> None:
    """Access 8- and 16-bit elements one by one, each `step` bytes after the last."""
    stores = opcode.startswith("st")
    for register in registers:
        whole: Operand = writer.value("mov.b32", register if stores else 0)
        for element in range(32 // bits):
            if stores:
                part = writer.value("shr.u32", whole, element * bits)
                writer.emit(f"{opcode}.b{bits}", place, part)
            else:
                part = writer.register("b32")
                writer.emit(f"{opcode}.u{bits}", part, place)
                whole = writer.value("or.b32", whole, writer.value("shl.b32", part, element * bits))
            place = Address(writer.value("add.s64", place.base, step), place.offset)
        if not stores and not isinstance(register, Sink):
            writer.emit("mov.b32", register, whole)
