"""Values of registers in a launch whose arguments are known: of those that follow from arguments and constants."""

import math
import operator
import struct
from collections.abc import Callable, Mapping

from warploom.engine.host_compiler.types import TYPES, is_float, is_signed
from warploom.engine.ptx.tree import Address, Float, Instruction, Integer, Operand, Register, Symbol

_BOTH: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "min": min,
    "max": max,
    "shl": lambda a, b: a << b if b < 64 else 0,
    "shr": operator.rshift,
}
_ORDERS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_COMPARISONS = _ORDERS | {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
#: Floats that are compared, as `struct` unpacks their bits.
_FLOATS = {"f32": ("<I", "<f"), "f64": ("<Q", "<d")}


def launch_values(known: Mapping[str, Instruction], block: bytes, offsets: Mapping[str, int]) -> dict[str, int]:
    """Return the values of registers, predicates as 0 or 1, whose instructions follow each other in order.

    `block` are the arguments, and `offsets` those of the parameters in it. Floats are given by their bits; results of
    their arithmetic, and what depends on these, are left out.
    """
    found: dict[str, int] = {}
    for name, item in known.items():
        value = _value(item, found, block, offsets)
        if value is not None:
            found[name] = value
    return found


def _value(item: Instruction, found: Mapping[str, int], block: bytes, offsets: Mapping[str, int]) -> int | None:
    """Return the result of an instruction; None if it is not known."""
    kinds = [each for each in item.modifiers if each in TYPES]
    opcode, of_floats = item.opcode, any(map(is_float, kinds))
    if not kinds or (of_floats and opcode not in ("ld", "mov", "selp", "setp")):
        return None
    kind = kinds[-1]
    if opcode == "ld":
        place = item.operands[1]
        if not isinstance(place, Address) or not isinstance(place.base, Symbol) or place.base.name not in offsets:
            return None
        first = offsets[place.base.name] + place.offset
        word = block[first : first + TYPES[kind] // 8]
        return int.from_bytes(word, "little") if len(word) == TYPES[kind] // 8 else None
    bits = TYPES[kind]
    values = [_operand(each, found, bits) for each in item.operands[1:]]
    if None in values:
        return None
    numbers = [_as(each, kind) for each in values if each is not None]
    match opcode, numbers:
        case "mov" | "cvta", [a]:
            return a % (1 << bits)
        case "not", [a]:
            return ~a % (1 << bits)
        case "neg", [a]:
            return -a % (1 << bits)
        case "cvt", [a] if len(kinds) == 2 and "sat" not in item.modifiers:
            return a % (1 << TYPES[kinds[0]])
        case "selp", [a, b, _]:
            return (a if values[2] else b) % (1 << bits)
        case "setp", [a, b] if of_floats:
            return _compared(item.modifiers[0], a, b, kind) if len(item.modifiers) == 2 else None
        case "setp", [a, b] if item.modifiers[0] in _COMPARISONS and len(item.modifiers) == 2:
            return int(_COMPARISONS[item.modifiers[0]](a, b))
        case _, [a, b] if opcode in _BOTH and not {"hi", "sat", "cc"} & {*item.modifiers}:
            if opcode in ("shl", "shr"):
                b = values[1] or 0  # an unsigned number
            wide = 2 * bits if "wide" in item.modifiers else bits
            return _BOTH[opcode](a, b) % (1 << wide)
    return None


def _compared(order: str, a: int, b: int, kind: str) -> int | None:
    """Return the result of a comparison of floats with these bits; orders that end with "u" hold for NaN."""
    if kind not in _FLOATS or order[:2] not in _ORDERS or order[2:] not in ("", "u"):
        return None
    bits, number = _FLOATS[kind]
    x, y = (struct.unpack(number, struct.pack(bits, each))[0] for each in (a, b))
    return int(order[2:] == "u" if math.isnan(x) or math.isnan(y) else _ORDERS[order[:2]](x, y))


def _operand(operand: Operand, found: Mapping[str, int], bits: int) -> int | None:
    if isinstance(operand, Integer):
        return operand.value
    if isinstance(operand, Float):
        return operand.bits if operand.width == bits else None
    return found.get(operand.name) if isinstance(operand, Register) else None


def _as(value: int, kind: str) -> int:
    """Return the lowest bits of a value as a number of a type."""
    bits = TYPES[kind]
    value %= 1 << bits
    return value - (1 << bits) if is_signed(kind) and value >> (bits - 1) else value
