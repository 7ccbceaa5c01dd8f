"""PTX types as LLVM types."""

from functools import lru_cache

from warploom.engine.ptx.tree import REGISTER_TYPES, Instruction, type_size

#: f16 and bf16 are kept as their bits: their arithmetic is done in wider types (`opcodes/half.py`).
_LLVM = {"pred": "i1", "f32": "float", "f64": "double"}

#: Types of several elements in one register, with the type of an element; element 0 is in the lowest bits.
PACKED = {
    "f16x2": "f16",
    "bf16x2": "bf16",
    "f32x2": "f32",
    "u16x2": "u16",
    "s16x2": "s16",
    "u8x4": "u8",
    "s8x4": "s8",
}
_FLOATS = ("f16", "bf16", "f32", "f64")
#: The bits of each type; tf32 is kept as b32.
TYPES = {kind: 8 * type_size(kind) for kind in REGISTER_TYPES - {"tf32"}} | {"pred": 1}


def llvm_type(ptx_type: str) -> str:
    """Return the LLVM type that holds a PTX type."""
    return _LLVM.get(ptx_type) or f"i{TYPES[ptx_type]}"


def bits(ptx_type: str) -> int:
    """Return the width of a PTX type in bits."""
    return TYPES[ptx_type]


def is_float(ptx_type: str) -> bool:
    """Whether arithmetic on the type, or on its elements, is floating-point."""
    return PACKED.get(ptx_type, ptx_type) in _FLOATS


def is_signed(ptx_type: str) -> bool:
    """Whether the type is a signed integer."""
    return ptx_type[0] == "s"


def limits(size: int, signed: bool) -> tuple[int, int]:
    """Return the least and the greatest integer of a number of bits."""
    return (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)


def types_of(instruction: Instruction) -> list[str]:
    """Return the types among an instruction's modifiers, in order: results first."""
    return [*_types(instruction.modifiers)]


@lru_cache(4096)
def _types(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(modifier for modifier in modifiers if modifier in TYPES)


def type_of(instruction: Instruction) -> str:
    """Return the type an instruction ends with."""
    return types_of(instruction)[-1]


def float_constant(bits_value: int, ptx_type: str) -> str:
    """Return an LLVM constant with exactly these bits."""
    kind = llvm_type(ptx_type)
    return str(bits_value) if kind[0] == "i" else f"bitcast (i{bits(ptx_type)} {bits_value} to {kind})"
