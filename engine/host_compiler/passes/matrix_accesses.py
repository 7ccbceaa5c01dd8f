"""ldmatrix, stmatrix, movmatrix, and loads and stores of wmma: each thread's accesses, and an exchange in the warp."""

from warploom.engine.host_compiler.analysis.control_flow import elements_of
from warploom.engine.host_compiler.analysis.matrix_fragments import ELEMENT_BITS, lines
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.passes.lowering import Rewriter, lowers, moved
from warploom.engine.ptx.tree import Address, Guard, Instruction, Integer, Operand, Register, Sink, Vector

_SPACES = ("shared", "shared::cta", "global")


def _space(instruction: Instruction) -> str:
    found = next((item for item in instruction.modifiers if item in _SPACES), "")
    return f".{found.split('::')[0]}" if found else ""


def _count(instruction: Instruction) -> int:
    modifiers = instruction.modifiers
    if "m8n8" not in modifiers or "b16" not in modifiers:
        raise unsupported(instruction, "use the .m8n8 form with .b16")
    return next((int(item[1:]) for item in modifiers if item in ("x1", "x2", "x4")), 1)


def _rows(rewriter: Rewriter, count: int) -> Guard:
    """Return the guard of the threads whose address is used: the first eight for each matrix."""
    lane = rewriter.value("mov.u32", Register("%laneid"))
    return Guard(rewriter.value("setp.lt.u32", lane, 8 * count), False)


@lowers("ldmatrix")
def _load(rewriter: Rewriter, instruction: Instruction) -> None:
    count, trans = _count(instruction), "trans" in instruction.modifiers
    target, address = instruction.operands[:2]
    guard = _rows(rewriter, count)
    row = [rewriter.value("mov.b32", 0) for _ in range(4)]
    # Other threads of the warp may have stored the values that are loaded here.
    rewriter.emit("bar.warp.sync.wl")
    rewriter.emit(f"ld{_space(instruction)}.v4.b32", Vector(tuple(row)), address, guard=guard)
    text = f"wl.permute.load.x{count}" + (".trans" if trans else "")
    rewriter.emit(text, Vector(elements_of(target)), Vector(tuple(row)))


@lowers("stmatrix")
def _store(rewriter: Rewriter, instruction: Instruction) -> None:
    count, trans = _count(instruction), "trans" in instruction.modifiers
    address, source = instruction.operands[:2]
    guard = _rows(rewriter, count)
    row = Vector(tuple(rewriter.register("b32") for _ in range(4)))
    text = f"wl.permute.store.x{count}" + (".trans" if trans else "")
    rewriter.emit(text, row, Vector(elements_of(source)))
    rewriter.emit(f"st{_space(instruction)}.v4.b32", address, row, guard=guard)
    rewriter.emit("bar.warp.sync.wl")


@lowers("movmatrix")
def _move(rewriter: Rewriter, instruction: Instruction) -> None:
    target, source = instruction.operands[:2]
    rewriter.emit("wl.permute.move.x1", Vector((target,)), Vector((source,)))


@lowers("wmma")
def _wmma(rewriter: Rewriter, instruction: Instruction) -> None:
    if instruction.modifiers[0] == "mma":
        rewriter.done.append(instruction)
        return
    rewriter.emit("bar.warp.sync.wl")
    _fragment(rewriter, instruction, stores=instruction.modifiers[0] == "store")
    if instruction.modifiers[0] == "store":
        rewriter.emit("bar.warp.sync.wl")


def _fragment(rewriter: Rewriter, instruction: Instruction, *, stores: bool) -> None:
    """Read or write a fragment, one run of elements of a row or a column for each thread."""
    modifiers = instruction.modifiers
    role, kind = modifiers[1], modifiers[-1]
    if kind not in ELEMENT_BITS or role not in "abcd":
        raise unsupported(instruction, "use f16, bf16, tf32, f32, f64, integer or single-bit elements")
    operands = instruction.operands
    address, held = (operands[0], operands[1]) if stores else (operands[1], operands[0])
    if not isinstance(address, Address):
        raise TypeError("address expected")
    registers = elements_of(held)
    found = lines(instruction, role, kind, len(registers))
    is_run = ("col" if role == "b" else "row") in modifiers
    bits = ELEMENT_BITS[kind]
    unit = 32 if bits == 1 else bits  # single bits are loaded and stored as whole words
    if bits < 8 and not is_run:
        raise unsupported(instruction, "use row-major A and column-major B")
    length = found.length if is_run else found.lines
    stride: Operand = operands[2] if len(operands) > 2 else Integer(length * unit // bits)
    lane = rewriter.value("mov.u32", Register("%laneid"))
    line = rewriter.value("rem.u32", rewriter.value("div.u32", lane, found.per_line), found.lines)
    start = rewriter.value("mul.lo.u32", rewriter.value("rem.u32", lane, found.per_line), found.elements)
    line64, start64 = rewriter.value("cvt.u64.u32", line), rewriter.value("cvt.u64.u32", start)
    stride64 = rewriter.value("cvt.s64.s32", stride) if isinstance(stride, Register) else stride
    # In bits, because the elements of some types are smaller than a byte; the stride counts elements.
    along, across = (start64, line64) if is_run else (line64, start64)
    far = rewriter.value("mul.lo.s64", rewriter.value("mul.lo.s64", across, stride64), bits)
    near = rewriter.value("mul.lo.s64", along, unit)
    offset = rewriter.value("shr.s64", rewriter.value("add.s64", far, near), 3)
    base = address.base if isinstance(address.base, Register) else rewriter.value("mov.b64", address.base)
    first = rewriter.value("add.s64", base, offset)
    place = Address(first, address.offset)
    opcode = f"{'st' if stores else 'ld'}{_space(instruction)}"
    if is_run or bits >= 32:
        step = None if is_run else rewriter.value("mul.lo.s64", stride64, bits // 8)
        _whole_registers(rewriter, opcode, place, registers, bits, step)
    else:
        _single_elements(rewriter, opcode, place, registers, bits, rewriter.value("mul.lo.s64", stride64, bits // 8))


def _access(rewriter: Rewriter, text: str, place: Address, value: Operand) -> None:
    if text.startswith("st"):
        rewriter.emit(text, place, value)
    else:
        rewriter.emit(text, value, place)


def _whole_registers(
    rewriter: Rewriter, opcode: str, place: Address, registers: tuple[Operand, ...], bits: int, step: Operand | None
) -> None:
    size = 64 if bits == 64 else 32
    for index, register in enumerate(registers):
        if step is None:
            _access(rewriter, f"{opcode}.b{size}", moved(place, index * size // 8), register)
        else:
            _access(rewriter, f"{opcode}.b{size}", place, register)
            place = Address(rewriter.value("add.s64", place.base, step), place.offset)


def _single_elements(
    rewriter: Rewriter, opcode: str, place: Address, registers: tuple[Operand, ...], bits: int, step: Operand
) -> None:
    """Access 8- and 16-bit elements one by one, each `step` bytes after the last."""
    stores = opcode.startswith("st")
    for register in registers:
        whole: Operand = rewriter.value("mov.b32", register if stores else 0)
        for element in range(32 // bits):
            if stores:
                part = rewriter.value("shr.u32", whole, element * bits)
                rewriter.emit(f"{opcode}.b{bits}", place, part)
            else:
                part = rewriter.register("b32")
                rewriter.emit(f"{opcode}.u{bits}", part, place)
                whole = rewriter.value("or.b32", whole, rewriter.value("shl.b32", part, element * bits))
            place = Address(rewriter.value("add.s64", place.base, step), place.offset)
        if not stores and not isinstance(register, Sink):
            rewriter.emit("mov.b32", register, whole)
