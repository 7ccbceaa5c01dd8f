"""Floating-point arithmetic for f16, bf16, f32 and f64 and for registers that hold two of them."""

from warploom.engine.host_compiler.analysis.rematerialise import holds_parameter
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.opcodes import integers
from warploom.engine.host_compiler.opcodes.elementwise import Compute, elementwise, wide
from warploom.engine.host_compiler.opcodes.extremes import extreme
from warploom.engine.host_compiler.opcodes.rounding import (
    double_constant,
    narrow,
    narrow_sum,
    rounded64,
    rounding,
)
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import bits, is_float, llvm_type, type_of
from warploom.engine.ptx.tree import Instruction, Register


def binary(body: Body, kind: str, name: str, a: str, b: str, mode: str = "") -> str:
    """Return fadd, fsub, fmul or fdiv; for halves an f32 that one more rounding makes the correct half."""
    code, llvm = body.code, llvm_type(wide(kind))
    if kind == "bf16" and name == "fmul":
        # A product below the least normal f32 is inexact in f32, so it would be rounded twice.
        wide_a, wide_b = (code.value(f"fpext float {value} to double") for value in (a, b))
        return narrow(body, code.value(f"fmul double {wide_a}, {wide_b}"), "odd")
    if not mode:
        return code.value(f"{name} {llvm} {a}, {b}")
    if kind == "f64":
        return rounded64(body, name, [a, b], mode)
    wide_a, wide_b = (code.value(f"fpext float {value} to double") for value in (a, b))
    if name in ("fadd", "fsub"):
        return narrow_sum(body, wide_a, code.value(f"fneg double {wide_b}") if name == "fsub" else wide_b, mode)
    nearest = code.value(f"{name} double {wide_a}, {wide_b}")
    if name == "fmul":
        return narrow(body, nearest, mode)  # a product of two f32 is exact in f64
    minus = code.value(f"fneg double {nearest}")
    rest = code.value(f"call double @llvm.fma.f64(double {minus}, double {wide_b}, double {wide_a})")
    return narrow(body, nearest, mode, code.value(f"fdiv double {rest}, {wide_b}"))


def _binary(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    a, b = values
    return binary(body, kind, f"f{instruction.opcode}", a, b, rounding(instruction))


def fused(body: Body, kind: str, a: str, b: str, c: str, mode: str = "") -> str:
    """Return a * b + c, rounded once; for halves an f32 that one more rounding makes the correct half."""
    code = body.code
    if kind in ("f32", "f64") and not mode:
        llvm = llvm_type(kind)
        return code.value(f"call {llvm} @llvm.fma.{kind}({llvm} {a}, {llvm} {b}, {llvm} {c})")
    if kind == "f64":
        return rounded64(body, "fma", [a, b, c], mode)
    doubles = [code.value(f"fpext float {item} to double") for item in (a, b, c)]
    product = code.value(f"fmul double {doubles[0]}, {doubles[1]}")
    return narrow_sum(body, product, doubles[2], mode or "odd")


def _fma(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    a, b, c = values
    return fused(body, kind, a, b, c, rounding(instruction))


def _negate(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    return body.code.value(f"fneg {llvm_type(wide(kind))} {values[0]}")


def _absolute(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    llvm = llvm_type(wide(kind))
    return body.code.value(f"call {llvm} @llvm.fabs.{wide(kind)}({llvm} {values[0]})")


def _divide(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    """Divide; div.approx multiplies by a reciprocal, so a divisor above 2^126 counts as infinite."""
    a, b = values
    code = body.code
    if "approx" in instruction.modifiers:
        size = code.value(f"call float @llvm.fabs.f32(float {b})")
        large = code.value(f"fcmp ogt float {size}, {double_constant(2.0**126)}")
        infinite = code.value(f"call float @llvm.copysign.f32(float 0x7FF0000000000000, float {b})")
        b = code.value(f"select i1 {large}, float {infinite}, float {b}")
    return binary(body, kind, "fdiv", a, b, rounding(instruction))


def _extreme(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    code, modifiers, computed = body.code, instruction.modifiers, wide(kind)
    llvm, raw = llvm_type(computed), f"i{bits(computed)}"
    signs = [code.value(f"bitcast {llvm} {item} to {raw}") for item in values] if "xorsign" in modifiers else []
    if "abs" in modifiers:
        values = [code.value(f"call {llvm} @llvm.fabs.{computed}({llvm} {item})") for item in values]
    if modifiers == ("f32",) and len(values) == 2 and not body.layout.has_range:
        first, second = (holds_parameter(body.function, item) for item in instruction.operands[1:])
        if first or second:
            return _bounded(body, instruction.opcode, *(values if second else reversed(values)))
    value = values[0]
    quiet = [isinstance(item, Register) and item.name in body.quiet for item in instruction.operands[1:]]
    for number, other in enumerate(values[1:], 1):
        propagate, any_nan = "NaN" in modifiers, kind == "f32"  # `put` makes NaNs of f32 canonical where that matters
        known = number > 1 or quiet[0], quiet[number]
        value = extreme(
            body, instruction.opcode, computed, value, other, propagate=propagate, any_nan=any_nan, quiet=known
        )
    if signs:
        sign = code.value(f"bitcast {raw} {code.value(f'xor {raw} {signs[0]}, {signs[1]}')} to {llvm}")
        signed = code.value(f"call {llvm} @llvm.copysign.{computed}({llvm} {value}, {llvm} {sign})")
        is_nan = code.value(f"fcmp uno {llvm} {value}, {value}")
        value = code.value(f"select i1 {is_nan}, {llvm} {value}, {llvm} {signed}")
    return value


def _bounded(body: Body, name: str, value: str, bound: str) -> str:
    """Return the minimum or maximum of an f32 and a parameter, as `extreme` does; any NaN will do.

    A comparison and a selection, which are one instruction of the processor, are right for every bound but NaN and one
    of the zeros. Those two get another comparison. The optimiser turns this choice into a jump, as it is the same for
    all threads.
    """
    code = body.code
    beyond, reaches, zero, end = (
        ("olt", "ole", 0, "0x7FF0000000000000") if name == "min" else ("ogt", "oge", 1 << 31, "0xFFF0000000000000")
    )
    is_beyond = code.value(f"fcmp {beyond} float {value}, {bound}")
    usual = code.value(f"select i1 {is_beyond}, float {value}, float {bound}")
    is_nan = code.value(f"fcmp uno float {bound}, {bound}")
    limit = code.value(f"select i1 {is_nan}, float {end}, float {bound}")
    is_kept = code.value(f"fcmp {reaches} float {value}, {limit}")
    unusual = code.value(f"select i1 {is_kept}, float {value}, float {bound}")
    is_zero = code.value(f"icmp eq i32 {code.value(f'bitcast float {bound} to i32')}, {zero}")
    is_unusual = code.value(f"or i1 {is_zero}, {is_nan}")
    return code.value(f"select i1 {is_unusual}, float {unusual}, float {usual}")


_COMPUTED: dict[str, Compute] = {
    "add": _binary,
    "sub": _binary,
    "mul": _binary,
    "div": _divide,
    "fma": _fma,
    "mad": _fma,
    "neg": _negate,
    "abs": _absolute,
    "min": _extreme,
    "max": _extreme,
}


@opcode(*_COMPUTED)
def _arithmetic(body: Body, instruction: Instruction) -> None:
    """Send an instruction to the integer or the floating-point family by its type."""
    if is_float(type_of(instruction)):
        elementwise(_COMPUTED[instruction.opcode])(body, instruction)
    else:
        integers.FORMS[instruction.opcode](body, instruction)
