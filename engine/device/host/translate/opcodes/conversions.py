"""cvt between the scalar types, and from two f32 to two halves in one register."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.loose import is_arithmetic
from engine.device.host.translate.opcodes import small_floats
from engine.device.host.translate.opcodes.elementwise import put
from engine.device.host.translate.opcodes.half import HALVES, join, shrink, widen
from engine.device.host.translate.opcodes.rounding import (
    flush,
    narrow,
    narrow_sum,
    relu,
    rounded64,
    rounding,
    saturate,
    truncate,
)
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, is_float, is_signed, llvm_type, types_of
from engine.ptx.tree import Instruction, Operand

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@opcode("cvt")
def _convert(body: Body, instruction: Instruction) -> None:
    kinds, line = types_of(instruction), instruction.line
    if "rs" in instruction.modifiers:
        raise body.unsupported(instruction, "use .rn or .rz")
    if "pack" in instruction.modifiers:
        _pack(body, instruction)
        return
    if small_floats.is_small(instruction):
        small_floats.convert(body, instruction)
        return
    if len(kinds) != 2:
        raise body.unsupported(instruction, "name the type of the result and of the source")
    wanted, have = kinds
    if wanted in ("f16x2", "bf16x2"):
        # The first source goes to the upper half.
        high, low = (_read(body, operand, have, wanted, line) for operand in instruction.operands[1:3])
        halves = [_from_float(body, instruction, value, have, wanted[:-2]) for value in (low, high)]
        body.write(instruction.operands[0], wanted, join(body, halves, wanted), line)
        return
    value = _read(body, instruction.operands[1], have, wanted, line)
    if is_float(have):
        value = _from_float(body, instruction, value, have, wanted)
    elif is_float(wanted):
        value = _integer_to_float(body, instruction, value, have, wanted)
    else:
        value = _integer_to_integer(body, instruction, value, have, wanted)
    if is_arithmetic(instruction):
        put(body, instruction, wanted, value)
    else:
        body.write(instruction.operands[0], wanted, value, line)


def _read(body: Body, operand: Operand, have: str, wanted: str, line: int) -> str:
    """Return a source; it need not be settled where the bits of a NaN and a subnormal make no difference."""
    bits_matter = have != "f32" or wanted in ("f64", "bf16", "bf16x2")
    return body.read(operand, have, line) if bits_matter else body.read_loose(operand, have, line)


def _from_float(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    value = widen(body, value, have)
    computed = "f32" if have in HALVES else have
    if "ftz" in instruction.modifiers and have == "f32":
        value = flush(body, value)
    function = next((name for item, name in _INTEGRAL.items() if item in instruction.modifiers), "")
    if function and not (function == "trunc" and not is_float(wanted)):
        llvm = llvm_type(computed)
        value = body.code.value(f"call {llvm} @llvm.{function}.{computed}({llvm} {value})")
    if is_float(wanted):
        return _to_float(body, instruction, value, computed, wanted)
    result = truncate(body, value, computed, wanted)
    if have == "f64" or bits(wanted) == 64:
        # NaN gives 0, or the top bit alone when f64 or 64 bits take part.
        integer = llvm_type(wanted)
        is_nan = body.code.value(f"fcmp uno {llvm_type(computed)} {value}, {value}")
        top = -(1 << (bits(wanted) - 1))
        result = body.code.value(f"select i1 {is_nan}, {integer} {top}, {integer} {result}")
    return result


def _to_float(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    """Return an f32 or f64 in another floating-point type, rounded once, then limited as the instruction says."""
    code, modifiers, mode = body.code, instruction.modifiers, rounding(instruction)
    if "sat" in modifiers:
        value = saturate(body, value, llvm_type(have))
    if "relu" in modifiers:
        value = relu(body, value, have)
    if wanted in HALVES:
        single = narrow(body, value, "odd") if have == "f64" else value
        return shrink(body, single, wanted, mode, finite="satfinite" in modifiers)
    if have == "f32" and wanted == "f64":
        value = code.value(f"fpext float {value} to double")
    elif have == "f64" and wanted == "f32":
        single = narrow(body, value, mode)
        if "ftz" in modifiers:  # what rounds up to the least normal only for lack of bits is flushed, too
            double = code.value(f"fadd double {value}, {value}")
            single = flush(body, single, 2.0**-125, narrow(body, double, mode))
        return single
    return flush(body, value) if "ftz" in modifiers and wanted == "f32" else value


def _integer_to_float(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    code, mode = body.code, rounding(instruction)
    name, llvm = "sitofp" if is_signed(have) else "uitofp", llvm_type(have)
    if wanted in HALVES or mode:
        result = _rounded_integer(body, value, have, wanted, mode)
    else:
        result = code.value(f"{name} {llvm} {value} to {llvm_type(wanted)}")
    if "sat" not in instruction.modifiers:
        return result
    if wanted in HALVES:
        return shrink(body, saturate(body, widen(body, result, wanted), "float"), wanted)
    return saturate(body, result, llvm_type(wanted))


def _rounded_integer(body: Body, value: str, have: str, wanted: str, mode: str) -> str:
    """Return an integer as a float in any rounding: its two halves are exact f64, and their sum is rounded once."""
    code, llvm = body.code, llvm_type(have)
    name = "sitofp" if is_signed(have) else "uitofp"
    if bits(have) <= 32:
        high, low = code.value(f"{name} {llvm} {value} to double"), "0.0"
    else:
        upper = code.value(f"{'ashr' if is_signed(have) else 'lshr'} i64 {value}, 32")
        high = code.value(f"fmul double {code.value(f'{name} i64 {upper} to double')}, 0x41F0000000000000")
        low = code.value(f"uitofp i64 {code.value(f'and i64 {value}, 4294967295')} to double")
    if wanted == "f64":
        return high if low == "0.0" else rounded64(body, "fadd", [high, low], mode)
    if wanted == "f32":
        rounded = narrow_sum(body, high, low, mode)
        zero = code.value(f"icmp eq {llvm} {value}, 0")  # never -0
        return code.value(f"select i1 {zero}, float 0.0, float {rounded}")
    return shrink(body, narrow_sum(body, high, low, "odd"), wanted, mode)


def _integer_to_integer(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    code, have_bits, wanted_bits = body.code, bits(have), bits(wanted)
    if "sat" in instruction.modifiers:
        value = _clamp(body, value, have, wanted)
    if wanted_bits > have_bits:
        extend = "sext" if is_signed(have) else "zext"
        return code.value(f"{extend} {llvm_type(have)} {value} to {llvm_type(wanted)}")
    if wanted_bits < have_bits:
        return code.value(f"trunc {llvm_type(have)} {value} to {llvm_type(wanted)}")
    return value


def _clamp(body: Body, value: str, have: str, wanted: str) -> str:
    """Return an integer limited to what the wanted type holds, still in its own type."""
    low = -(1 << (bits(wanted) - 1)) if is_signed(wanted) else 0
    return limit(body, value, have, low, (1 << (bits(wanted) - is_signed(wanted))) - 1)


def limit(body: Body, value: str, have: str, low: int, high: int) -> str:
    """Return an integer limited to [low, high], still in its own type."""
    code, llvm = body.code, llvm_type(have)
    have_low = -(1 << (bits(have) - 1)) if is_signed(have) else 0
    have_high = (1 << (bits(have) - is_signed(have))) - 1
    sign = "s" if is_signed(have) else "u"
    if high < have_high:
        value = code.value(f"call {llvm} @llvm.{sign}min.{llvm}({llvm} {value}, {llvm} {high})")
    if low > have_low:
        value = code.value(f"call {llvm} @llvm.smax.{llvm}({llvm} {value}, {llvm} {low})")
    return value


def _pack(body: Body, instruction: Instruction) -> None:
    """cvt.pack.sat: two integers limited to a narrow type, side by side, below the upper bits of a third."""
    code, modifiers, line = body.code, instruction.modifiers, instruction.line
    narrow_type = modifiers[modifiers.index("pack") + 2]
    have = modifiers[modifiers.index("pack") + 3]
    size, signed = int(narrow_type[1:]), narrow_type[0] == "s"
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)
    first, second = (
        code.value(f"and i32 {limit(body, body.read(operand, have, line), have, low, high)}, {(1 << size) - 1}")
        for operand in instruction.operands[1:3]
    )
    result = code.value(f"or i32 {second}, {code.value(f'shl i32 {first}, {size}')}")
    if len(instruction.operands) == 4:
        above = body.read(instruction.operands[3], "b32", line)
        result = code.value(f"or i32 {result}, {code.value(f'shl i32 {above}, {2 * size}')}")
    body.write(instruction.operands[0], "b32", result, line)
