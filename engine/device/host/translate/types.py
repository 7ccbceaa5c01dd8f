"""PTX types as LLVM types."""

from __future__ import annotations

from engine.ptx.tree import Instruction

_LLVM = {
    "pred": "i1",
    "f16": "half",
    "bf16": "bfloat",
    "f32": "float",
    "f64": "double",
    "f16x2": "i32",
    "bf16x2": "i32",
}
TYPES = {
    f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)
} | {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "b128": 128, "f16x2": 32, "bf16x2": 32, "pred": 1}  # fmt: skip


def llvm_type(ptx_type: str) -> str:
    """Return the LLVM type that holds a PTX type."""
    return _LLVM.get(ptx_type) or f"i{TYPES[ptx_type]}"


def bits(ptx_type: str) -> int:
    """Return the width of a PTX type in bits."""
    return TYPES[ptx_type]


def is_float(ptx_type: str) -> bool:
    """Whether arithmetic on the type is floating-point."""
    return ptx_type in ("f16", "bf16", "f32", "f64")


def is_signed(ptx_type: str) -> bool:
    """Whether the type is a signed integer."""
    return ptx_type[0] == "s"


def types_of(instruction: Instruction) -> list[str]:
    """Return the types among an instruction's modifiers, in order: results first."""
    return [modifier for modifier in instruction.modifiers if modifier in TYPES]


def type_of(instruction: Instruction) -> str:
    """Return the type an instruction ends with."""
    return types_of(instruction)[-1]


def float_constant(bits_value: int, ptx_type: str) -> str:
    """Return an LLVM constant with exactly these bits."""
    kind = llvm_type(ptx_type)
    return f"bitcast (i{bits(ptx_type)} {bits_value} to {kind})"
