"""Floating-point arithmetic for f32 and f64: rounding, flush to zero, saturation and the NaN rules of min and max."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import Emit, opcode
from engine.device.host.translate.types import llvm_type, type_of
from engine.ptx.tree import Instruction

DIRECTED = ("rz", "rm", "rp")


def flush(body: Body, value: str) -> str:
    """Return an f32 with subnormal values replaced by a zero of the same sign."""
    code = body.code
    raw = code.value(f"bitcast float {value} to i32")
    magnitude = code.value(f"and i32 {raw}, 2147483647")
    tiny = code.value(f"icmp ult i32 {magnitude}, 8388608")
    sign = code.value(f"and i32 {raw}, -2147483648")
    return code.value(f"bitcast i32 {code.value(f'select i1 {tiny}, i32 {sign}, i32 {raw}')} to float")


def saturate(body: Body, value: str, llvm: str) -> str:
    """Return a value clamped to [0, 1], NaN becoming +0."""
    code = body.code
    above = code.value(f"fcmp ogt {llvm} {value}, 0.0")
    value = code.value(f"select i1 {above}, {llvm} {value}, {llvm} 0.0")
    below = code.value(f"fcmp olt {llvm} {value}, 1.0")
    return code.value(f"select i1 {below}, {llvm} {value}, {llvm} 1.0")


def sources(body: Body, instruction: Instruction, count: int) -> tuple[str, str, list[str]]:
    """Return the PTX type, the LLVM type and the source values, flushed when the instruction says so."""
    kind = type_of(instruction)
    if kind not in ("f32", "f64"):
        raise body.unsupported(instruction, "use the .f32 form")
    values = [body.read(operand, kind, instruction.line) for operand in instruction.operands[1 : 1 + count]]
    if "ftz" in instruction.modifiers:
        values = [flush(body, value) for value in values]
    return kind, llvm_type(kind), values


def finish(body: Body, instruction: Instruction, kind: str, value: str) -> None:
    """Write a result, flushed and saturated when the instruction says so."""
    if "ftz" in instruction.modifiers:
        value = flush(body, value)
    if "sat" in instruction.modifiers:
        value = saturate(body, value, llvm_type(kind))
    body.write(instruction.operands[0], kind, value, instruction.line)


def rounding(instruction: Instruction) -> str:
    """Return the directed rounding an instruction asks for, or "" for to-nearest."""
    return next((item for item in instruction.modifiers if item in DIRECTED), "")


def directed(body: Body, llvm: str, nearest: str, error: str, mode: str) -> str:
    """Return `nearest` moved by at most one step, given the sign of exact minus nearest, to round in `mode`."""
    code = body.code
    integer = "i32" if llvm == "float" else "i64"
    raw = code.value(f"bitcast {llvm} {nearest} to {integer}")
    below = code.value(f"fcmp olt {llvm} {error}, 0.0")
    above = code.value(f"fcmp ogt {llvm} {error}, 0.0")
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
    """Round an f32 operation through f64: made odd there, a second rounding cannot go wrong."""
    code = body.code
    wide_a, wide_b = (code.value(f"fpext float {value} to double") for value in (a, b))
    nearest = code.value(f"{name} double {wide_a}, {wide_b}")
    if name == "fmul":
        return narrow(body, nearest, mode)  # a product of two f32 is exact in f64
    if name == "fdiv":
        minus = code.value(f"fneg double {nearest}")
        rest = code.value(f"call double @llvm.fma.f64(double {minus}, double {wide_b}, double {wide_a})")
        error = code.value(f"fmul double {rest}, {wide_b}")
    else:
        other = code.value(f"fneg double {wide_b}") if name == "fsub" else wide_b
        t = code.value(f"fsub double {nearest}, {wide_a}")
        rest = code.value(f"fsub double {wide_a}, {code.value(f'fsub double {nearest}, {t}')}")
        error = code.value(f"fadd double {rest}, {code.value(f'fsub double {other}, {t}')}")
    return narrow(body, odd(body, nearest, error), mode)


def odd(body: Body, nearest: str, error: str) -> str:
    """Return an f64 rounded to odd, given its rounding error: toward zero, with the last bit set when inexact."""
    code = body.code
    below = directed(body, "double", nearest, error, "rz")
    inexact = code.value(f"fcmp one double {error}, 0.0")
    raw = code.value(f"bitcast double {below} to i64")
    raw = code.value(f"or i64 {raw}, {code.value(f'zext i1 {inexact} to i64')}")
    return code.value(f"bitcast i64 {raw} to double")


def narrow(body: Body, value: str, mode: str) -> str:
    """Return an f64 as f32, rounded in `mode` ("" for to nearest even)."""
    code = body.code
    nearest = code.value(f"fptrunc double {value} to float")
    if not mode:
        return nearest
    back = code.value(f"fpext float {nearest} to double")
    below, above = (code.value(f"fcmp {test} double {value}, {back}") for test in ("olt", "ogt"))
    raw = code.value(f"bitcast float {nearest} to i32")
    negative = code.value(f"icmp slt i32 {raw}, 0")
    positive = code.value(f"xor i1 {negative}, true")
    inward = {"rz": (below, above), "rm": (below, None), "rp": (None, above)}[mode]
    outward = {"rz": (None, None), "rm": (None, below), "rp": (above, None)}[mode]
    step = raw
    for sign, condition, amount in (
        (positive, inward[0], -1),
        (negative, inward[1], -1),
        (positive, outward[0], 1),
        (negative, outward[1], 1),
    ):
        if condition is not None:
            both = code.value(f"and i1 {sign}, {condition}")
            step = code.value(f"add i32 {step}, {code.value(f'select i1 {both}, i32 {amount}, i32 0')}")
    return code.value(f"bitcast i32 {step} to float")


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
        value = narrow(body, odd(body, nearest, error), mode)
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
