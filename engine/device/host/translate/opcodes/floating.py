"""Floating-point arithmetic for f32 and f64: rounding, flush to zero, saturation and the NaN rules of min and max."""

from __future__ import annotations

import struct

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import Emit, opcode
from engine.device.host.translate.types import bits, is_signed, llvm_type, type_of
from engine.ptx.tree import Instruction, Register

DIRECTED = ("rz", "rm", "rp")


def flush(body: Body, value: str) -> str:
    """Return an f32 with subnormal values replaced by a zero of the same sign."""
    code = body.code
    magnitude = code.value(f"call float @llvm.fabs.f32(float {value})")
    tiny = code.value(f"fcmp olt float {magnitude}, {double_constant(2.0**-126)}")
    zero = code.value(f"call float @llvm.copysign.f32(float 0.0, float {value})")
    return code.value(f"select i1 {tiny}, float {zero}, float {value}")


def saturate(body: Body, value: str, llvm: str) -> str:
    """Return a value clamped to [0, 1], NaN becoming +0."""
    code = body.code
    above = code.value(f"fcmp ogt {llvm} {value}, 0.0")
    value = code.value(f"select i1 {above}, {llvm} {value}, {llvm} 0.0")
    below = code.value(f"fcmp olt {llvm} {value}, 1.0")
    return code.value(f"select i1 {below}, {llvm} {value}, {llvm} 1.0")


def double_constant(value: float) -> str:
    """Return a float or double constant; LLVM writes both as the bits of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def truncate(body: Body, value: str, have: str, wanted: str) -> str:
    """Return a float cut to an integer and clamped to its range, NaN becoming 0.

    Clamped in floating point first: LLVM's own saturating conversion is not done on vectors.
    """
    code, llvm, size, signed = body.code, llvm_type(have), bits(wanted), is_signed(wanted)
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)
    digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[have]
    excess = max(high.bit_length() - digits, 0)
    highest = high >> excess << excess  # the greatest value of the float type within the range
    if have in ("f16", "bf16"):
        value, llvm = code.value(f"fpext {llvm} {value} to float"), "float"
        highest = high >> max(high.bit_length() - 24, 0) << max(high.bit_length() - 24, 0)
    above_low = code.value(f"fcmp ogt {llvm} {value}, {double_constant(low)}")
    clamped = code.value(f"select i1 {above_low}, {llvm} {value}, {llvm} {double_constant(low)}")
    below_high = code.value(f"fcmp olt {llvm} {clamped}, {double_constant(highest)}")
    clamped = code.value(f"select i1 {below_high}, {llvm} {clamped}, {llvm} {double_constant(highest)}")
    integer, step = llvm_type(wanted), f"i{max(size, 32)}"
    name = "fptosi" if signed or size < 32 else "fptoui"
    result = code.value(f"{name} {llvm} {clamped} to {step}")
    if step != integer:
        result = code.value(f"trunc {step} {result} to {integer}")
    if highest != high:
        over = code.value(f"fcmp ogt {llvm} {value}, {double_constant(highest)}")
        result = code.value(f"select i1 {over}, {integer} {high}, {integer} {result}")
    if low:
        is_nan = code.value(f"fcmp uno {llvm} {value}, {value}")
        result = code.value(f"select i1 {is_nan}, {integer} 0, {integer} {result}")
    return result


def sources(body: Body, instruction: Instruction, count: int) -> tuple[str, str, list[str]]:
    """Return the PTX type, the LLVM type and the source values, flushed when the instruction says so."""
    kind = type_of(instruction)
    if kind not in ("f32", "f64"):
        raise body.unsupported(instruction, "use the .f32 form")
    values = [body.read(operand, kind, instruction.line) for operand in instruction.operands[1 : 1 + count]]
    if "ftz" in instruction.modifiers and kind == "f32":  # f64 keeps subnormals: there .ftz names a form of rcp
        values = [
            value if isinstance(operand, Register) and operand.name in body.flushed else flush(body, value)
            for operand, value in zip(instruction.operands[1:], values, strict=False)
        ]
    return kind, llvm_type(kind), values


def finish(body: Body, instruction: Instruction, kind: str, value: str) -> None:
    """Write a result, flushed and saturated when the instruction says so."""
    if "ftz" in instruction.modifiers and kind == "f32":
        value = flush(body, value)
    if "sat" in instruction.modifiers:
        value = saturate(body, value, llvm_type(kind))
    body.write(instruction.operands[0], kind, value, instruction.line)


def rounding(instruction: Instruction) -> str:
    """Return the directed rounding an instruction asks for, or "" for to-nearest."""
    return next((item for item in instruction.modifiers if item in DIRECTED), "")


def directed(body: Body, llvm: str, nearest: str, error: str, mode: str) -> str:
    """Return `nearest` moved by at most one step, given exact minus nearest as f64, to round in `mode`."""
    code = body.code
    integer = "i32" if llvm == "float" else "i64"
    raw = code.value(f"bitcast {llvm} {nearest} to {integer}")
    below = code.value(f"fcmp olt double {error}, 0.0")
    above = code.value(f"fcmp ogt double {error}, 0.0")
    negative = code.value(f"icmp slt {integer} {raw}, 0")
    positive = code.value(f"xor i1 {negative}, true")
    toward_zero = code.value(
        f"or i1 {code.value(f'and i1 {positive}, {below}')}, {code.value(f'and i1 {negative}, {above}')}"
    )
    if mode == "rz":
        shrink, grow = toward_zero, "false"
    elif mode == "rm":
        shrink = code.value(f"and i1 {positive}, {below}")
        grow = code.value(f"and i1 {negative}, {below}")
    else:
        shrink = code.value(f"and i1 {negative}, {above}")
        grow = code.value(f"and i1 {positive}, {above}")
    down = code.value(f"sub {integer} {raw}, {code.value(f'zext i1 {shrink} to {integer}')}")
    moved = code.value(f"add {integer} {down}, {code.value(f'zext i1 {grow} to {integer}')}")
    return code.value(f"bitcast {integer} {moved} to {llvm}")


def _rounded(body: Body, instruction: Instruction, llvm: str, name: str, values: list[str]) -> str:
    """Return add, sub, mul or div in the rounding the instruction asks for."""
    code, mode = body.code, rounding(instruction)
    a, b = values
    if not mode:
        return code.value(f"{name} {llvm} {a}, {b}")
    if llvm == "float":
        return _rounded_through_double(body, name, a, b, mode)
    nearest = code.value(f"{name} double {a}, {b}")
    if name in ("fadd", "fsub"):
        if name == "fsub":
            b = code.value(f"fneg double {b}")
        t = code.value(f"fsub double {nearest}, {a}")
        rest = code.value(f"fsub double {a}, {code.value(f'fsub double {nearest}, {t}')}")
        error = code.value(f"fadd double {rest}, {code.value(f'fsub double {b}, {t}')}")
    elif name == "fmul":
        minus = code.value(f"fneg double {nearest}")
        error = code.value(f"call double @llvm.fma.f64(double {a}, double {b}, double {minus})")
    else:
        minus = code.value(f"fneg double {nearest}")
        rest = code.value(f"call double @llvm.fma.f64(double {minus}, double {b}, double {a})")
        sign = code.value(f"call double @llvm.copysign.f64(double 1.0, double {b})")
        error = code.value(f"fmul double {rest}, {sign}")
    return directed(body, llvm, nearest, error, mode)


def _rounded_through_double(body: Body, name: str, a: str, b: str, mode: str) -> str:
    """Round an f32 operation through f64, with the error of the f64 operation at hand."""
    code = body.code
    wide_a, wide_b = (code.value(f"fpext float {value} to double") for value in (a, b))
    nearest = code.value(f"{name} double {wide_a}, {wide_b}")
    if name == "fmul":
        return narrow(body, nearest, mode)  # a product of two f32 is exact in f64
    if name == "fdiv":
        minus = code.value(f"fneg double {nearest}")
        rest = code.value(f"call double @llvm.fma.f64(double {minus}, double {wide_b}, double {wide_a})")
        error = code.value(f"fdiv double {rest}, {wide_b}")
    else:
        other = code.value(f"fneg double {wide_b}") if name == "fsub" else wide_b
        t = code.value(f"fsub double {nearest}, {wide_a}")
        rest = code.value(f"fsub double {wide_a}, {code.value(f'fsub double {nearest}, {t}')}")
        error = code.value(f"fadd double {rest}, {code.value(f'fsub double {other}, {t}')}")
    return narrow(body, nearest, mode, error)


def narrow(body: Body, value: str, mode: str, error: str = "") -> str:
    """Return an f64 as f32, rounded in `mode` ("" for to nearest even).

    `error` is what the f64 itself lacks to the exact value; it decides where the f64 falls on an f32.
    """
    code = body.code
    nearest = code.value(f"fptrunc double {value} to float")
    if not mode:
        return nearest
    rest = code.value(f"fsub double {value}, {code.value(f'fpext float {nearest} to double')}")
    if error:
        rest = code.value(f"fadd double {rest}, {error}")
    return directed(body, "float", nearest, rest, mode)


def _binary(name: str) -> Emit:
    def emit(body: Body, instruction: Instruction) -> None:
        kind, llvm, values = sources(body, instruction, 2)
        finish(body, instruction, kind, _rounded(body, instruction, llvm, name, values))

    return emit


@opcode("fma")
def fma(body: Body, instruction: Instruction) -> None:
    """Fused multiply-add; directed rounding for f32 only."""
    kind, llvm, (a, b, c) = sources(body, instruction, 3)
    code, mode = body.code, rounding(instruction)
    if not mode:
        suffix = "f32" if llvm == "float" else "f64"
        value = code.value(f"call {llvm} @llvm.fma.{suffix}({llvm} {a}, {llvm} {b}, {llvm} {c})")
    elif llvm == "double":
        raise body.unsupported(instruction, "use fma.rn.f64")
    else:
        wide = [code.value(f"fpext float {item} to double") for item in (a, b, c)]
        product = code.value(f"fmul double {wide[0]}, {wide[1]}")
        nearest = code.value(f"fadd double {product}, {wide[2]}")
        t = code.value(f"fsub double {nearest}, {product}")
        rest = code.value(f"fsub double {product}, {code.value(f'fsub double {nearest}, {t}')}")
        error = code.value(f"fadd double {rest}, {code.value(f'fsub double {wide[2]}, {t}')}")
        value = narrow(body, nearest, mode, error)
    finish(body, instruction, kind, value)


def _negate(body: Body, instruction: Instruction) -> None:
    kind, llvm, (a,) = sources(body, instruction, 1)
    finish(body, instruction, kind, body.code.value(f"fneg {llvm} {a}"))


def _absolute(body: Body, instruction: Instruction) -> None:
    kind, llvm, (a,) = sources(body, instruction, 1)
    finish(body, instruction, kind, body.code.value(f"call {llvm} @llvm.fabs.{kind}({llvm} {a})"))


def _extreme(name: str) -> Emit:
    def emit(body: Body, instruction: Instruction) -> None:
        if len(instruction.operands) == 4 or "xorsign" in instruction.modifiers:
            raise body.unsupported(instruction, f"use two-operand {name}")
        kind, _, (a, b) = sources(body, instruction, 2)
        value = extreme(body, name, kind, a, b, propagate="NaN" in instruction.modifiers)
        if "abs" in instruction.modifiers:
            raise body.unsupported(instruction, "take abs first")
        finish(body, instruction, kind, value)

    return emit


def extreme(body: Body, name: str, kind: str, a: str, b: str, *, propagate: bool = False) -> str:
    """Return the minimum or maximum: of a number and a NaN the number, or the NaN when `propagate`; -0 is below +0."""
    code, llvm = body.code, llvm_type(kind)
    less = code.value(f"fcmp {'olt' if name == 'min' else 'ogt'} {llvm} {a}, {b}")
    value = code.value(f"select i1 {less}, {llvm} {a}, {llvm} {b}")
    integer = "i32" if kind == "f32" else "i64"
    raw_a, raw_b = (code.value(f"bitcast {llvm} {item} to {integer}") for item in (a, b))
    zeros = code.value(f"{'or' if name == 'min' else 'and'} {integer} {raw_a}, {raw_b}")
    equal = code.value(f"fcmp oeq {llvm} {a}, {b}")
    value = code.value(
        f"select i1 {equal}, {llvm} {code.value(f'bitcast {integer} {zeros} to {llvm}')}, {llvm} {value}"
    )
    nan_b = code.value(f"fcmp uno {llvm} {b}, {b}")
    nan_a = code.value(f"fcmp uno {llvm} {a}, {a}")
    if propagate:
        some = code.value(f"or i1 {nan_a}, {nan_b}")
    else:
        value = code.value(f"select i1 {nan_b}, {llvm} {a}, {llvm} {value}")
        some = code.value(f"and i1 {nan_a}, {nan_b}")
    quiet = "bitcast (i32 2147483647 to float)" if kind == "f32" else "bitcast (i64 9223372036854775807 to double)"
    return code.value(f"select i1 {some}, {llvm} {quiet}, {llvm} {value}")


@opcode("copysign")
def _copy_sign(body: Body, instruction: Instruction) -> None:
    """The magnitude of the second source with the sign of the first."""
    kind, llvm, (sign, magnitude) = sources(body, instruction, 2)
    value = body.code.value(f"call {llvm} @llvm.copysign.{kind}({llvm} {magnitude}, {llvm} {sign})")
    finish(body, instruction, kind, value)


@opcode("sqrt")
def _square_root(body: Body, instruction: Instruction) -> None:
    kind, llvm, (a,) = sources(body, instruction, 1)
    code, mode = body.code, rounding(instruction)
    value = code.value(f"call {llvm} @llvm.sqrt.{kind}({llvm} {a})")
    if mode:
        minus = code.value(f"fneg {llvm} {value}")
        error = code.value(f"call {llvm} @llvm.fma.{kind}({llvm} {minus}, {llvm} {value}, {llvm} {a})")
        if kind == "f32":
            error = code.value(f"fpext float {error} to double")
        value = directed(body, llvm, value, error, mode)
    finish(body, instruction, kind, value)


@opcode("rcp")
def _reciprocal(body: Body, instruction: Instruction) -> None:
    kind, llvm, (a,) = sources(body, instruction, 1)
    finish(body, instruction, kind, _rounded(body, instruction, llvm, "fdiv", ["1.0", a]))


@opcode("rsqrt")
def _reciprocal_root(body: Body, instruction: Instruction) -> None:
    kind, llvm, (a,) = sources(body, instruction, 1)
    root = body.code.value(f"call {llvm} @llvm.sqrt.{kind}({llvm} {a})")
    finish(body, instruction, kind, body.code.value(f"fdiv {llvm} 1.0, {root}"))


@opcode("testp")
def _test_property(body: Body, instruction: Instruction) -> None:
    kind, llvm, (a,) = sources(body, instruction, 1)
    mask = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 264, "subnormal": 144}
    name = next(item for item in instruction.modifiers if item in mask)
    value = body.code.value(f"call i1 @llvm.is.fpclass.{kind}({llvm} {a}, i32 {mask[name]})")
    body.write(instruction.operands[0], "pred", value, instruction.line)


FORMS: dict[str, Emit] = {
    "add": _binary("fadd"),
    "sub": _binary("fsub"),
    "mul": _binary("fmul"),
    "div": _binary("fdiv"),
    "neg": _negate,
    "abs": _absolute,
    "min": _extreme("min"),
    "max": _extreme("max"),
}
