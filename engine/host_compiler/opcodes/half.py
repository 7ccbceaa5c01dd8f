"""f16 and bf16 as bits: widening, narrowing in every rounding mode, and registers that hold several elements."""

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.opcodes.rounding import QUIET_NAN, double_constant, stepped
from warploom.engine.host_compiler.operands import width
from warploom.engine.host_compiler.types import PACKED, llvm_type

HALVES = ("f16", "bf16")
_HIGHEST = {"f16": 0x7BFF, "bf16": 0x7F7F}


def widen(body: Body, value: str, kind: str) -> str:
    """Return an f16 or bf16 as f32, which holds it exactly; any other type as it is."""
    code = body.code
    if kind == "f16":
        return code.value(f"fpext half {code.value(f'bitcast i16 {value} to half')} to float")
    if kind == "bf16":
        raw = code.value(f"shl i32 {code.value(f'zext i16 {value} to i32')}, 16")
        return code.value(f"bitcast i32 {raw} to float")
    return value


def shrink(body: Body, value: str, kind: str, mode: str = "", *, finite: bool = False) -> str:
    """Return an f32 as f16 or bf16, rounded in `mode` ("" for to nearest even); NaN becomes 0x7fff.

    `finite` replaces infinities and overflowing values by the greatest finite value of the same sign.
    """
    code = body.code
    raw = code.value(f"bitcast float {value} to i32")
    rounded = _shrink_f16(body, value, mode) if kind == "f16" else _shrink_bf16(body, raw, mode)
    if finite:
        rounded = limit_magnitude(body, rounded, "i16", _HIGHEST[kind])
    is_nan = code.value(f"fcmp uno float {value}, {value}")
    return code.value(f"select i1 {is_nan}, i16 {QUIET_NAN[kind]}, i16 {rounded}")


def limit_magnitude(body: Body, raw: str, integer: str, highest: int) -> str:
    """Return the bits of a float whose magnitude is limited to that of the float with the bits `highest`."""
    code, sign = body.code, 1 << (width(integer) - 1)
    magnitude = code.value(f"and {integer} {raw}, {sign - 1}")
    limited = code.value(f"call {integer} @llvm.umin.{integer}({integer} {magnitude}, {integer} {highest})")
    return code.value(f"or {integer} {limited}, {code.value(f'and {integer} {raw}, {-sign}')}")


def _shrink_f16(body: Body, value: str, mode: str) -> str:
    code = body.code
    half = code.value(f"fptrunc float {value} to half")
    if mode:
        back = code.value(f"fpext half {half} to float")
        below, above = (code.value(f"fcmp {test} float {value}, {back}") for test in ("olt", "ogt"))
        half = stepped(body, half, "f16", below, above, mode)
    return code.value(f"bitcast half {half} to i16")


def _shrink_bf16(body: Body, raw: str, mode: str) -> str:
    """Round in integers: the processor's own conversion to bf16 loses subnormals."""
    code = body.code
    return code.value(f"trunc i32 {code.value(f'lshr i32 {rounded_bits(body, raw, 16, mode)}, 16')} to i16")


def rounded_bits(body: Body, raw: str, count: int, mode: str) -> str:
    """Return the bits of an f32, not NaN, rounded so that the lowest `count` bits no longer matter.

    `mode` is "" for to nearest even, "rna" for to nearest with ties away from zero, or a directed one.
    """
    code = body.code
    below = (1 << count) - 1
    if mode == "rz":
        return raw
    if mode == "rna":
        return code.value(f"add i32 {raw}, {1 << (count - 1)}")
    if mode:
        negative = code.value(f"icmp slt i32 {raw}, 0")
        away = negative if mode == "rm" else code.value(f"xor i1 {negative}, true")
        return code.value(f"add i32 {raw}, {code.value(f'select i1 {away}, i32 {below}, i32 0')}")
    odd = code.value(f"and i32 {code.value(f'lshr i32 {raw}, {count}')}, 1")
    return code.value(f"add i32 {raw}, {code.value(f'add i32 {odd}, {below >> 1}')}")


def flush_half(body: Body, value: str) -> str:
    """Return an f16 with subnormal values replaced by a zero of the same sign."""
    code = body.code
    tiny = code.value(f"icmp eq i16 {code.value(f'and i16 {value}, 31744')}, 0")
    return code.value(f"select i1 {tiny}, i16 {code.value(f'and i16 {value}, -32768')}, i16 {value}")


def split_elements(body: Body, value: str, packed: str) -> list[str]:
    """Return the elements of a packed register, the lowest first; a scalar is its own single element."""
    return parts(body, value, llvm_type(packed), llvm_type(PACKED.get(packed, packed)))


def join(body: Body, values: list[str], packed: str) -> str:
    """Return a packed register made of its elements, the lowest first, or a scalar."""
    return concatenated(body, values, llvm_type(PACKED.get(packed, packed)), llvm_type(packed))


def parts(body: Body, value: str, kind: str, element: str) -> list[str]:
    """Return a value of one LLVM type as values of a narrower one, the lowest first."""
    found = []
    for first in range(0, width(kind), width(element)):
        part = body.code.value(f"lshr {kind} {value}, {first}") if first else value
        found.append(body.convert(part, kind, element))
    return found


def concatenated(body: Body, values: list[str], element: str, kind: str) -> str:
    """Return values of one LLVM type beside each other in one of a wider type, the first in the lowest bits."""
    result = body.convert(values[0], element, kind)
    for index, value in enumerate(values[1:], 1):
        part = body.code.value(f"shl {kind} {body.convert(value, element, kind)}, {index * width(element)}")
        result = body.code.value(f"or {kind} {result}, {part}")
    return result


def library(triple: str, features: str) -> str:
    """Return the functions that LLVM calls to convert f16 where the processor cannot; "" where it can.

    They must be right while the processor flushes subnormal f32. NaNs are canonicalised later.
    """
    if "+f16c" in features.split(",") or not triple.startswith("x86_64"):
        return ""
    return f"""
define weak_odr float @__extendhfsf2(half %x) #0 {{
  %half = bitcast half %x to i16
  %word = zext i16 %half to i32
  %magnitude = and i32 %word, 32767
  %place = shl i32 %magnitude, 13
  %rebased = add i32 %place, {112 << 23}
  %whole = uitofp i32 %magnitude to float
  %small = fmul float %whole, {double_constant(2.0**-24)}
  %small.raw = bitcast float %small to i32
  %is.small = icmp ult i32 %magnitude, 1024
  %finite = select i1 %is.small, i32 %small.raw, i32 %rebased
  %special = or i32 %place, {0x7F800000}
  %is.finite = icmp ult i32 %magnitude, {0x7C00}
  %positive = select i1 %is.finite, i32 %finite, i32 %special
  %sign.bit = and i32 %word, 32768
  %sign = shl i32 %sign.bit, 16
  %raw = or i32 %positive, %sign
  %result = bitcast i32 %raw to float
  ret float %result
}}
define weak_odr half @__truncsfhf2(float %x) #0 {{
  %raw = bitcast float %x to i32
  %magnitude = and i32 %raw, 2147483647
  %rebased = sub i32 %magnitude, {112 << 23}
  %odd.at = lshr i32 %rebased, 13
  %odd = and i32 %odd.at, 1
  %half.step = add i32 %odd, 4095
  %sum = add i32 %rebased, %half.step
  %normal = lshr i32 %sum, 13
  %limited = call i32 @llvm.umin.i32(i32 %normal, i32 {0x7C00})
  %size = bitcast i32 %magnitude to float
  %sum.small = fadd float %size, 0.5
  %sum.raw = bitcast float %sum.small to i32
  %small = sub i32 %sum.raw, {126 << 23}
  %is.small = icmp ult i32 %magnitude, {113 << 23}
  %number = select i1 %is.small, i32 %small, i32 %limited
  %is.nan = icmp ugt i32 %magnitude, {0x7F800000}
  %positive = select i1 %is.nan, i32 {0x7E00}, i32 %number
  %sign.high = lshr i32 %raw, 16
  %sign = and i32 %sign.high, 32768
  %word = or i32 %positive, %sign
  %half = trunc i32 %word to i16
  %result = bitcast i16 %half to half
  ret half %result
}}
"""
