"""Scalar video instructions: arithmetic on bytes, half words or words of registers, computed in 64 bits.

The result may be limited (.sat), combined with a third operand (.add, .min, .max) or put into a part of it.
"""

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.compare import compare
from warploom.engine.host_compiler.opcodes.conversions import limit
from warploom.engine.host_compiler.opcodes.integers import field, intrinsic
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import is_signed, types_of
from warploom.engine.ptx.tree import Instruction, Operand, RegisterPart

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_SECOND = ("add", "min", "max")


def _span(operand: Operand) -> tuple[int, int]:
    """Return the first bit and the width of the part of a register that an operand names."""
    selector = operand.selector if isinstance(operand, RegisterPart) else ""
    if not selector:
        return 0, 32
    size = 8 if selector[0] == "b" else 16
    return int(selector[1:]) * size, size


def _source(body: Body, instruction: Instruction, index: int, kind: str) -> str:
    """Return a source's part as i64."""
    operand = instruction.operands[index]
    first, size = _span(operand)
    if first + size > 32 or (isinstance(operand, RegisterPart) and len(operand.selector) > 2):
        raise unsupported(instruction, "select one byte (.b0 to .b3) or half word (.h0, .h1)")
    value = body.read(_register(operand), "b32")
    return field(body, value, first, size, is_signed(kind), "i64")


def operation(body: Body, name: str, a: str, b: str) -> str:
    """Return add, sub, absdiff, min, max or avrg of two i64, or a comparison as 0 or 1."""
    code = body.code
    if name in COMPARISONS:
        return code.value(f"zext i1 {compare(body, 's64', name, a, b)} to i64")
    if name in ("add", "sub"):
        return code.value(f"{name} i64 {a}, {b}")
    if name == "absdiff":
        return code.value(f"call i64 @llvm.abs.i64(i64 {code.value(f'sub i64 {a}, {b}')}, i1 false)")
    if name == "avrg":  # ties away from zero
        total = code.value(f"add i64 {a}, {b}")
        up = code.value(f"zext i1 {code.value(f'icmp sge i64 {total}, 0')} to i64")
        return code.value(f"ashr i64 {code.value(f'add i64 {total}, {up}')}, 1")
    return intrinsic(body, name, "s64", a, b)


@opcode("vadd", "vsub", "vabsdiff", "vmin", "vmax")
def _arithmetic(body: Body, instruction: Instruction) -> None:
    wanted, *kinds = types_of(instruction)
    a, b = (_source(body, instruction, index, kind) for index, kind in enumerate(kinds, 1))
    _finish(body, instruction, wanted, operation(body, instruction.opcode[1:], a, b))


@opcode("vshl", "vshr")
def _shift(body: Body, instruction: Instruction) -> None:
    code = body.code
    wanted, kind, amount_kind = types_of(instruction)
    a, amount = _source(body, instruction, 1, kind), _source(body, instruction, 2, amount_kind)
    if "wrap" in instruction.modifiers:
        amount = code.value(f"and i64 {amount}, 31")
    else:
        amount = code.value(f"call i64 @llvm.umin.i64(i64 {amount}, i64 32)")
    if instruction.opcode == "vshr":
        result = code.value(f"ashr i64 {a}, {amount}")
    elif "sat" not in instruction.modifiers:
        result = code.value(f"shl i64 {a}, {amount}")
    else:  # a word of 32 bits moved up by 32 does not fit in a signed 64
        moved = code.value(
            f"shl i128 {code.value(f'sext i64 {a} to i128')}, {code.value(f'zext i64 {amount} to i128')}"
        )
        result = code.value(f"trunc i128 {limit(body, moved, 's128', 64, True)} to i64")
    _finish(body, instruction, wanted, result)


@opcode("vset")
def _compare(body: Body, instruction: Instruction) -> None:
    a, b = (_source(body, instruction, index, kind) for index, kind in enumerate(types_of(instruction), 1))
    _finish(body, instruction, "u32", operation(body, _test(instruction), a, b))


def _test(instruction: Instruction) -> str:
    return next(item for item in instruction.modifiers if item in COMPARISONS)


def _finish(body: Body, instruction: Instruction, wanted: str, value: str) -> None:
    """Write a result after .sat, the second operation and the merge with the third operand."""
    code, modifiers, target = body.code, instruction.modifiers, instruction.operands[0]
    first, size = _span(target)
    if "sat" in modifiers:
        value = limit(body, value, "s64", size, is_signed(wanted))
    second = next((item for item in modifiers if item in _SECOND), "")
    given = body.read(instruction.operands[3], "b32") if len(instruction.operands) > 3 else ""
    if second:
        extended = code.value(f"{'sext' if is_signed(wanted) else 'zext'} i32 {given} to i64")
        value = operation(body, second, value, extended)
    result = code.value(f"trunc i64 {value} to i32")
    if size < 32:
        if not given or second:
            raise unsupported(instruction, "give the register to merge with as the third source")
        mask = ((1 << size) - 1) << first
        placed = code.value(f"and i32 {code.value(f'shl i32 {result}, {first}')}, {mask}")
        result = code.value(f"or i32 {placed}, {code.value(f'and i32 {given}, {~mask}')}")
    body.write(_register(target), wanted, result)


@opcode("vmad")
def _multiply_add(body: Body, instruction: Instruction) -> None:
    """Write a * b + c, with an optional negation, plus one (.po), shift to the right and limit."""
    code, modifiers, operands = body.code, instruction.modifiers, instruction.operands
    wanted, *kinds = types_of(instruction)
    negative = [isinstance(item, RegisterPart) and item.negative for item in operands[1:4]]
    a, b = (_source(body, instruction, index, kind) for index, kind in enumerate(kinds, 1))
    product = code.value(f"mul i128 {code.value(f'sext i64 {a} to i128')}, {code.value(f'sext i64 {b} to i128')}")
    minus_product = negative[0] != negative[1]
    signed = any(is_signed(kind) for kind in kinds) or minus_product or negative[2]
    c = body.read(_register(operands[3]), "b32")
    c = code.value(f"{'sext' if signed else 'zext'} i32 {c} to i128")
    if "po" in modifiers:
        product = code.value(f"add i128 {product}, 1")
    elif minus_product:
        product = code.value(f"sub i128 0, {product}")
    elif negative[2]:
        c = code.value(f"sub i128 0, {c}")
    total = code.value(f"add i128 {product}, {c}")
    shift = {"shr7": 7, "shr15": 15}.get(next((item for item in modifiers if item in ("shr7", "shr15")), ""), 0)
    if shift:
        total = code.value(f"{'ashr' if signed else 'lshr'} i128 {total}, {shift}")
    if "sat" in modifiers:
        total = limit(body, total, "s128", 32, signed)
    body.write(operands[0], wanted, code.value(f"trunc i128 {total} to i32"))


# -- two half words or four bytes at once: vadd2, vadd4 and the like -------------------------------------------------
# Each element is computed in 64 bits from elements that the sources select from both registers. The results are packed,
# or with .add added to the third operand.


_NAMES = ("add", "sub", "avrg", "absdiff", "min", "max", "set")


@opcode(*(f"v{name}{count}" for name in _NAMES for count in (2, 4)))
def _lanes(body: Body, instruction: Instruction) -> None:
    code, modifiers, operands = body.code, instruction.modifiers, instruction.operands
    name, count = instruction.opcode[1:-1], int(instruction.opcode[-1])
    size, kinds = 32 // count, types_of(instruction)
    wanted = "u32" if name == "set" else kinds.pop(0)
    name = _test(instruction) if name == "set" else name
    words = [body.read(_register(operand), "b32") for operand in operands[1:4]]
    selected = [
        _selection(body, instruction, operand, count, default)
        for operand, default in zip(operands[1:3], (0, count), strict=True)
    ]
    results = []
    for lanes in zip(*selected, strict=True):
        a, b = (
            field(body, words[lane // count], lane % count * size, size, is_signed(kind), "i64")
            for lane, kind in zip(lanes, kinds, strict=True)
        )
        value = operation(body, name, a, b)
        results.append(limit(body, value, "s64", size, is_signed(wanted)) if "sat" in modifiers else value)
    written = _mask(body, instruction, operands[0], count)
    kept = sum(((1 << size) - 1) << size * lane for lane in range(count) if lane not in written)
    result = words[2] if "add" in modifiers else code.value(f"and i32 {words[2]}, {kept}")
    for lane in written:
        value = code.value(f"trunc i64 {results[lane]} to i32")
        if "add" in modifiers:
            result = code.value(f"add i32 {result}, {value}")
        else:
            value = code.value(f"and i32 {value}, {(1 << size) - 1}")
            result = code.value(f"or i32 {result}, {code.value(f'shl i32 {value}, {size * lane}')}")
    body.write(_register(operands[0]), wanted, result)


def _register(operand: Operand) -> Operand:
    return operand.register if isinstance(operand, RegisterPart) else operand


def _selection(body: Body, instruction: Instruction, operand: Operand, count: int, default: int) -> list[int]:
    """Return which element of the two registers each lane takes, the lowest lane first."""
    if not isinstance(operand, RegisterPart):
        return list(range(default, default + count))
    lanes = [int(digit) for digit in reversed(operand.selector[1:])]
    if len(lanes) != count or operand.selector[0] != ("h" if count == 2 else "b") or max(lanes) >= 2 * count:
        raise unsupported(instruction, f"select {count} elements of the {2 * count}")
    return lanes


def _mask(body: Body, instruction: Instruction, target: Operand, count: int) -> list[int]:
    """Return the lanes that are written; the others keep the third operand's elements."""
    if not isinstance(target, RegisterPart):
        return list(range(count))
    lanes = sorted(int(digit) for digit in target.selector[1:])
    if lanes[-1] >= count or target.selector[0] != ("h" if count == 2 else "b"):
        raise unsupported(instruction, f"write elements 0 to {count - 1}")
    return lanes
