"""sqrt, rcp, rsqrt, copysign and testp, and the approximations ex2, lg2, sin, cos and tanh."""

import struct

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.elementwise import elementwise, finish
from warploom.engine.host_compiler.opcodes.floating import binary
from warploom.engine.host_compiler.opcodes.half import HALVES
from warploom.engine.host_compiler.opcodes.rounding import double_constant, flush, narrow, rounded64, rounding, truncate
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import PACKED, llvm_type, type_of
from warploom.engine.ptx.tree import Instruction


def square_root(body: Body, kind: str, a: str, mode: str = "") -> str:
    """Return the square root of an f32 or f64."""
    code, llvm = body.code, llvm_type(kind)
    if not mode:
        return code.value(f"call {llvm} @llvm.sqrt.{kind}({llvm} {a})")
    if kind == "f64":
        return rounded64(body, "sqrt", [a], mode)
    wide = code.value(f"fpext float {a} to double")
    nearest = code.value(f"call double @llvm.sqrt.f64(double {wide})")
    minus = code.value(f"fneg double {nearest}")
    # Only the sign of this number matters, which is the sign of the root's error.
    error = code.value(f"call double @llvm.fma.f64(double {minus}, double {nearest}, double {wide})")
    half = code.value(f"fmul double {error}, {code.value(f'fdiv double 0.5, {nearest}')}")
    return narrow(body, nearest, mode, half)


def _upper(body: Body, value: str) -> str:
    """Return an f64 rounded to its upper 32 bits: rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give no more."""
    code = body.code
    rounded = code.value(f"add i64 {code.value(f'bitcast double {value} to i64')}, 2147483648")
    return code.value(f"bitcast i64 {code.value(f'and i64 {rounded}, -4294967296')} to double")


def _flush64(body: Body, value: str) -> str:
    return flush(body, value, 2.0**-1022, kind="f64")


def _is_gross(instruction: Instruction, kind: str) -> bool:
    return kind == "f64" and {"approx", "ftz"} <= set(instruction.modifiers)


def _root(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    code, root = body.code, square_root(body, kind, values[0], rounding(instruction))
    if kind == "f32":
        return root
    # LLVM treats all NaNs as equal, so it drops a program's choice of another NaN for the root of a negative number.
    # Setting a bit that every quiet NaN has set hides from LLVM that this is a root.
    word = code.value(f"bitcast double {root} to i64")
    is_nan = code.value(f"icmp ugt i64 {code.value(f'and i64 {word}, {2**63 - 1}')}, {0x7FF << 52}")
    quiet = code.value(f"select i1 {is_nan}, i64 {1 << 51}, i64 0")
    return code.value(f"bitcast i64 {code.value(f'or i64 {word}, {quiet}')} to double")


def _reciprocal(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    if not _is_gross(instruction, kind):
        return binary(body, kind, "fdiv", "1.0", values[0], rounding(instruction))
    source = _flush64(body, values[0])
    return _upper(body, _flush64(body, body.code.value(f"fdiv double 1.0, {source}")))


def _reciprocal_root(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    gross, llvm = _is_gross(instruction, kind), llvm_type(kind)
    source = _flush64(body, values[0]) if gross else values[0]
    value = body.code.value(f"fdiv {llvm} 1.0, {square_root(body, kind, source)}")
    return _upper(body, value) if gross else value


opcode("sqrt")(elementwise(_root))
opcode("rcp")(elementwise(_reciprocal))
opcode("rsqrt")(elementwise(_reciprocal_root))


@opcode("copysign")
def _copy_sign(body: Body, instruction: Instruction) -> None:
    """Write the magnitude of the second source with the sign of the first."""
    kind = type_of(instruction)
    llvm = llvm_type(kind)
    sign, magnitude = (body.read(operand, kind) for operand in instruction.operands[1:3])
    value = body.code.value(f"call {llvm} @llvm.copysign.{kind}({llvm} {magnitude}, {llvm} {sign})")
    body.write(instruction.operands[0], kind, value)


# Classes of floats as LLVM numbers them; the manual counts zeros among the normal numbers.
_CLASSES = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 360, "subnormal": 144}


@opcode("testp")
def _test_property(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    value = body.read(instruction.operands[1], kind)
    name = next((item for item in instruction.modifiers if item in _CLASSES), "")
    if not name:
        raise unsupported(instruction, "name one of " + ", ".join(f".{item}" for item in _CLASSES))
    llvm = llvm_type(kind)
    result = body.code.value(f"call i1 @llvm.is.fpclass.{kind}({llvm} {value}, i32 {_CLASSES[name]})")
    body.write(instruction.operands[0], "pred", result)


# -- approximations: polynomials in plain arithmetic, so that loops over threads can be vectorised ---------------------
# Errors stay within the bounds of the PTX manual: ex2 and lg2 2^-22 relative, sin and cos 2^-20.5 absolute in one
# period, tanh 2^-11 relative.


# 2^f on [-1/2, 1/2]: least squares of the relative error on Chebyshev nodes, error below 2^-27.
_EXP2 = (
    1.0000000005920207, 0.6931472056005106, 0.24022646608714038, 0.0555032899751748,
    0.00961851953434766, 0.001339986036320331, 0.00015337576834181896,
)  # fmt: skip
# sin(r) / r in r^2 on [-pi/2, pi/2], Taylor terms.
_SINE = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800)
# log2((1+s)/(1-s)) / s in s^2: 2 / (ln 2 (2n+1)).
_LOG2 = tuple(2 / (0.6931471805599453 * n) for n in (1, 3, 5, 7, 9))
_PI = (3.140625, 0.0009675025939941406, 1.509957990978376e-07)


def constant(value: float) -> str:
    """Return the f32 nearest to a number as a constant."""
    return double_constant(struct.unpack("<f", struct.pack("<f", value))[0])


def _fma(body: Body, a: str, b: str, c: str) -> str:
    return body.code.value(f"call float @llvm.fma.f32(float {a}, float {b}, float {c})")


def polynomial(body: Body, x: str, coefficients: tuple[float, ...]) -> str:
    """Return the polynomial with the given coefficients, lowest first."""
    value = constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = _fma(body, value, x, constant(coefficient))
    return value


def exp2(body: Body, x: str) -> str:
    """Return 2^x, with overflow to infinity and gradual underflow."""
    code = body.code
    high = code.value(f"fcmp ogt float {x}, {constant(130.0)}")
    x = code.value(f"select i1 {high}, float {constant(130.0)}, float {x}")
    low = code.value(f"fcmp olt float {x}, {constant(-152.0)}")
    x = code.value(f"select i1 {low}, float {constant(-152.0)}, float {x}")
    whole = code.value(f"call float @llvm.roundeven.f32(float {x})")
    value = polynomial(body, code.value(f"fsub float {x}, {whole}"), _EXP2)
    n = truncate(body, whole, "f32", "s32")
    half = code.value(f"ashr i32 {n}, 1")
    for part in (half, code.value(f"sub i32 {n}, {half}")):
        raw = code.value(f"shl i32 {code.value(f'add i32 {part}, 127')}, 23")
        value = code.value(f"fmul float {value}, {code.value(f'bitcast i32 {raw} to float')}")
    return value


def log2(body: Body, x: str) -> str:
    """Return the base-2 logarithm; NaN below zero, -inf at zero."""
    code = body.code
    tiny = code.value(f"fcmp olt float {x}, {constant(2.0**-126)}")
    scaled = code.value(f"fmul float {x}, {constant(2.0**24)}")
    m = code.value(f"bitcast float {code.value(f'select i1 {tiny}, float {scaled}, float {x}')} to i32")
    # Split so that the mantissa lies in [sqrt(1/2), sqrt(2)): the series is shortest around one.
    offset = code.value(f"sub i32 {m}, {0x3F3504F3}")
    exponent = code.value(f"ashr i32 {offset}, 23")
    mantissa = code.value(f"sub i32 {m}, {code.value(f'shl i32 {exponent}, 23')}")
    value = code.value(f"bitcast i32 {mantissa} to float")
    top = code.value(f"fadd float {value}, -1.0")
    s = code.value(f"fdiv float {top}, {code.value(f'fadd float {value}, 1.0')}")
    series = polynomial(body, code.value(f"fmul float {s}, {s}"), _LOG2)
    less = code.value(f"select i1 {tiny}, i32 24, i32 0")
    whole = code.value(f"sitofp i32 {code.value(f'sub i32 {exponent}, {less}')} to float")
    result = _fma(body, s, series, whole)
    infinite = code.value(f"fcmp oeq float {x}, 0x7FF0000000000000")
    result = code.value(f"select i1 {infinite}, float {x}, float {result}")
    zero = code.value(f"fcmp oeq float {x}, 0.0")
    result = code.value(f"select i1 {zero}, float 0xFFF0000000000000, float {result}")
    invalid = code.value(f"fcmp ult float {x}, 0.0")
    return code.value(f"select i1 {invalid}, float 0x7FF8000000000000, float {result}")


def sine(body: Body, x: str, *, shifted: bool) -> str:
    """Return sin(x), or cos(x) when `shifted`: reduced by multiples of pi to [-pi/2, pi/2]."""
    code = body.code
    turns = _fma(body, x, constant(0.3183098861837907), constant(-0.5 if shifted else 0.0))
    k = code.value(f"call float @llvm.roundeven.f32(float {turns})")
    count = code.value(f"fadd float {k}, {constant(0.5)}") if shifted else k
    minus = code.value(f"fneg float {count}")
    r = x
    for part in _PI:
        r = _fma(body, minus, constant(part), r)
    # Past 2^24 the multiple of pi is not exact: any value within [-1, 1] will do, as on the device.
    beyond = code.value(f"fcmp ogt float {code.value(f'call float @llvm.fabs.f32(float {r})')}, 2.0")
    r = code.value(f"select i1 {beyond}, float 0.0, float {r}")
    value = code.value(f"fmul float {r}, {polynomial(body, code.value(f'fmul float {r}, {r}'), _SINE)}")
    n = truncate(body, k, "f32", "s32")
    sign = code.value(f"shl i32 {n}, 31")
    if shifted:
        sign = code.value(f"xor i32 {sign}, -2147483648")
    raw = code.value(f"xor i32 {code.value(f'bitcast float {value} to i32')}, {sign}")
    return code.value(f"bitcast i32 {raw} to float")


def tanh(body: Body, x: str) -> str:
    """Return tanh(x) as 1 - 2 / (exp(2|x|) + 1), or its series near zero."""
    code = body.code
    size = code.value(f"call float @llvm.fabs.f32(float {x})")
    power = exp2(body, code.value(f"fmul float {size}, {constant(2.8853900817779268)}"))
    ratio = code.value(f"fdiv float 2.0, {code.value(f'fadd float {power}, 1.0')}")
    far = code.value(f"fsub float 1.0, {ratio}")
    square = code.value(f"fmul float {size}, {size}")
    near = code.value(f"fmul float {size}, {polynomial(body, square, (1.0, -1 / 3, 2 / 15, -17 / 315))}")
    small = code.value(f"fcmp olt float {size}, {constant(0.25)}")
    value = code.value(f"select i1 {small}, float {near}, float {far}")
    value = code.value(f"call float @llvm.copysign.f32(float {value}, float {x})")
    # Below 2^-13 the cubic term is less than one unit in the last place. No arithmetic here: it may flush subnormals.
    raw = code.value(f"bitcast float {size} to i32")
    tiny = code.value(f"icmp ult i32 {raw}, {(127 - 13) << 23}")
    return code.value(f"select i1 {tiny}, float {x}, float {value}")


_FUNCTIONS = {"ex2": exp2, "lg2": log2, "tanh": tanh}


def _function(body: Body, instruction: Instruction, _kind: str, values: list[str]) -> str:
    return _FUNCTIONS[instruction.opcode](body, values[0])


_halves = elementwise(_function)


@opcode("ex2", "lg2", "sin", "cos", "tanh")
def _approximate(body: Body, instruction: Instruction) -> None:
    kind, name = type_of(instruction), instruction.opcode
    if name in ("ex2", "tanh") and PACKED.get(kind, kind) in HALVES:
        _halves(body, instruction)
        return
    if kind != "f32":
        raise unsupported(instruction, "use the .f32 form")
    # tanh of a tiny number is that number, bit for bit.
    x = (body.read if name == "tanh" else body.read_noncanonical)(instruction.operands[1], kind)
    if name == "lg2" and "ftz" in instruction.modifiers:
        x = flush(body, x)  # other functions have the same flushed result for a subnormal as for zero
    value = sine(body, x, shifted=name == "cos") if name in ("sin", "cos") else _FUNCTIONS[name](body, x)
    finish(body, instruction, kind, value)
