"""Rounding: directed modes, flushing of subnormals, saturation, and sums with their rounding errors.

f32 goes through f64, where the error of an operation is at hand, so loops stay vectorisable. f64 has no wider type:
`rounded64` calls small functions that set the processor's rounding mode for one operation.
"""

import struct

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.types import bits, is_signed, limits, llvm_type
from warploom.engine.ptx.tree import Instruction

_FLOATS = {"f16": "half", "f32": "float", "f64": "double"}
DIRECTED = ("rz", "rm", "rp")
QUIET_NAN = {"f16": "32767", "bf16": "32767", "f32": "bitcast (i32 2147483647 to float)",
             "f64": "bitcast (i64 9223372036854775807 to double)"}  # fmt: skip


def double_constant(value: float) -> str:
    """Return a float or double constant; LLVM writes both as the bits of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def rounding(instruction: Instruction) -> str:
    """Return the directed rounding of an instruction, or "" for to-nearest."""
    return next((item for item in instruction.modifiers if item in DIRECTED), "")


def flush(body: Body, value: str, least: float = 2.0**-126, judged: str = "", kind: str = "f32") -> str:
    """Return a float, or zero of the same sign where its magnitude (or that of `judged`) is below `least`."""
    code, llvm = body.code, llvm_type(kind)
    magnitude = code.value(f"call {llvm} @llvm.fabs.{kind}({llvm} {judged or value})")
    tiny = code.value(f"fcmp olt {llvm} {magnitude}, {double_constant(least)}")
    zero = code.value(f"call {llvm} @llvm.copysign.{kind}({llvm} 0.0, {llvm} {value})")
    return code.value(f"select i1 {tiny}, {llvm} {zero}, {llvm} {value}")


def saturate(body: Body, value: str, llvm: str) -> str:
    """Return a value clamped to [0, 1], NaN becoming +0."""
    code = body.code
    above = code.value(f"fcmp ogt {llvm} {value}, 0.0")
    value = code.value(f"select i1 {above}, {llvm} {value}, {llvm} 0.0")
    below = code.value(f"fcmp olt {llvm} {value}, 1.0")
    return code.value(f"select i1 {below}, {llvm} {value}, {llvm} 1.0")


def relu(body: Body, value: str, kind: str) -> str:
    """Return an f32 or f64 with values below zero replaced by +0; NaN becomes the one quiet NaN."""
    code, llvm = body.code, llvm_type(kind)
    is_nan = code.value(f"fcmp uno {llvm} {value}, {value}")
    other = code.value(f"select i1 {is_nan}, {llvm} {QUIET_NAN[kind]}, {llvm} 0.0")
    above = code.value(f"fcmp ogt {llvm} {value}, 0.0")
    return code.value(f"select i1 {above}, {llvm} {value}, {llvm} {other}")


def truncate(body: Body, value: str, have: str, wanted: str) -> str:
    """Return an f32 or f64 cut to an integer and clamped to its range, NaN becoming 0.

    The value is clamped in floating point first, because LLVM does not vectorise its own saturating conversion.
    """
    code, llvm, size, signed = body.code, llvm_type(have), bits(wanted), is_signed(wanted)
    low, high = limits(size, signed)
    digits = {"f32": 24, "f64": 53}[have]
    excess = max(high.bit_length() - digits, 0)
    highest = high >> excess << excess  # the greatest value of the float type within the range
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


def stepped(body: Body, value: str, kind: str, below: str, above: str, mode: str) -> str:
    """Return a nearest f16, f32 or f64 moved by one step at most, so that it is rounded in `mode`.

    `below` and `above` say on which side of it the exact value lies. "odd" makes the last bit of all inexact values
    one. Floats of one sign are ordered as their bits are, so a step is an integer step: an infinity that finite values
    were rounded to steps back to the greatest finite value, and a zero steps up to the least subnormal.
    """
    code, llvm, integer = body.code, _FLOATS[kind], f"i{bits(kind)}"
    raw = code.value(f"bitcast {llvm} {value} to {integer}")
    negative = code.value(f"icmp slt {integer} {raw}, 0")
    if mode in ("rz", "odd"):
        shrinks = code.value(f"select i1 {negative}, i1 {above}, i1 {below}")
    else:
        off = below if mode == "rm" else above
        outward = negative if mode == "rm" else code.value(f"xor i1 {negative}, true")
        grows = code.value(f"and i1 {outward}, {off}")
        raw = code.value(f"add {integer} {raw}, {code.value(f'zext i1 {grows} to {integer}')}")
        shrinks = code.value(f"xor i1 {grows}, {off}")
    raw = code.value(f"sub {integer} {raw}, {code.value(f'zext i1 {shrinks} to {integer}')}")
    if mode == "odd":
        inexact = code.value(f"or i1 {below}, {above}")
        raw = code.value(f"or {integer} {raw}, {code.value(f'zext i1 {inexact} to {integer}')}")
    return code.value(f"bitcast {integer} {raw} to {llvm}")


def narrow(body: Body, value: str, mode: str, error: str = "") -> str:
    """Return an f64 as f32, rounded in `mode`: "" for to nearest even, "odd" to let the last bit show what was cut off.

    `error` is the exact value minus the f64; it decides where the f64 is exactly an f32. A value rounded to odd may be
    rounded again, to at least two bits less, with the same result as one rounding of the exact value.
    """
    code = body.code
    nearest = code.value(f"fptrunc double {value} to float")
    if not mode:
        return nearest
    rest = code.value(f"fsub double {value}, {code.value(f'fpext float {nearest} to double')}")
    if error:  # NaN for infinities and for exact zeros, which then stay as they are
        rest = code.value(f"fadd double {rest}, {error}")
    return _corrected(body, nearest, "f32", rest, mode)


def _corrected(body: Body, nearest: str, kind: str, error: str, mode: str) -> str:
    """Return a float rounded in `mode`, given the nearest one and an f64 of the sign of exact minus nearest."""
    below, above = (body.code.value(f"fcmp {test} double {error}, 0.0") for test in ("olt", "ogt"))
    return stepped(body, nearest, kind, below, above, mode)


def sum_with_error(body: Body, a: str, b: str) -> tuple[str, str]:
    """Return the f64 sum of two f64, and the exact value minus the sum, by Knuth's two-sum."""
    code = body.code
    total = code.value(f"fadd double {a}, {b}")
    t = code.value(f"fsub double {total}, {a}")
    rest = code.value(f"fsub double {a}, {code.value(f'fsub double {total}, {t}')}")
    return total, code.value(f"fadd double {rest}, {code.value(f'fsub double {b}, {t}')}")


def narrow_sum(body: Body, a: str, b: str, mode: str) -> str:
    """Return the sum of two f64 as f32, rounded once: in a directed mode, or "odd" for one more rounding."""
    code = body.code
    total, error = sum_with_error(body, a, b)
    if mode == "odd":
        return narrow(body, _corrected(body, total, "f64", error, mode), mode)
    value = narrow(body, total, mode, error)
    if mode == "rm":  # there an exact zero is -0 unless both terms are +0
        signs = [code.value(f"bitcast double {item} to i64") for item in (a, b)]
        negative = code.value(f"icmp slt i64 {code.value(f'or i64 {signs[0]}, {signs[1]}')}, 0")
        zero = code.value(f"fcmp oeq double {total}, 0.0")
        minus = code.value(f"and i1 {zero}, {negative}")
        value = code.value(f"select i1 {minus}, float -0.0, float {value}")
    return value


# The rounding modes as LLVM numbers them.
_MODES = {"rz": 0, "rp": 2, "rm": 3}
_COUNTS = {"fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "fma": 3, "sqrt": 1}
PREFIX = "@wl.rounded."


def rounded64(body: Body, name: str, values: list[str], mode: str) -> str:
    """Return an f64 operation (fadd, fsub, fmul, fdiv, fma or sqrt) in a directed rounding mode."""
    arguments = ", ".join(f"double {value}" for value in values)
    return body.code.value(f"call double {PREFIX}{name}.{mode}({arguments})")


def rounded64_functions(target: str) -> str:
    """Return the text of the functions that `rounded64` calls, with the function attributes `target`.

    To their callers they are pure: they restore the rounding mode before they return.
    """
    parts = []
    for name, count in _COUNTS.items():
        for mode, number in _MODES.items():
            formal = ", ".join(f"double %{index}" for index in range(count))
            parts.append(
                f"define internal double {PREFIX}{name}.{mode}({formal}) #1 {{\n"
                f"  call void @llvm.set.rounding(i32 {number}) #2\n"
                f"  %result = call double @llvm.experimental.constrained.{name}.f64({formal}, "
                'metadata !"round.dynamic", metadata !"fpexcept.strict") #2\n'
                "  call void @llvm.set.rounding(i32 1) #2\n"
                "  ret double %result\n}"
            )
    parts.append(f"attributes #1 = {{ noinline nounwind strictfp willreturn memory(none) {target} }}")
    parts.append("attributes #2 = { strictfp }")
    return "\n".join(parts)
