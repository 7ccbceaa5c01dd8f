"""cvt: between scalar types, to packed halves, and to and from tf32 and the floats of 4, 6 and 8 bits."""

from dataclasses import dataclass

from warploom.engine.host_compiler.analysis.canonical_floats import is_arithmetic
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.elementwise import put
from warploom.engine.host_compiler.opcodes.half import (
    HALVES,
    join,
    limit_magnitude,
    rounded_bits,
    shrink,
    split_elements,
    widen,
)
from warploom.engine.host_compiler.opcodes.rounding import (
    double_constant,
    flush,
    narrow,
    narrow_sum,
    relu,
    rounded64,
    rounding,
    saturate,
    truncate,
)
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import bits, is_float, is_signed, limits, llvm_type, types_of
from warploom.engine.ptx.tree import Instruction, Operand

# -- tf32, and the floats of 4, 6 and 8 bits, which are packed two to a register ---------------------------------------
# The formats are those of the OCP microscaling specification and of the PTX manual: e4m3 has no infinity and NaN only
# as all ones, the formats of 4 and 6 bits have neither, and ue8m0 is a bare exponent.


@dataclass(frozen=True)
class SmallFloat:
    """Widths of exponent and mantissa, the greatest finite magnitude as bits, NaN as bits, and bits per element.

    A format without NaN turns it into the greatest positive value.
    """

    exponent: int
    mantissa: int
    highest: int
    nan: int
    slot: int

    @property
    def bias(self) -> int:
        """The exponent field of 2^0."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.exponent + self.mantissa)


FORMATS = {
    "e4m3x2": SmallFloat(4, 3, 0x7E, 0x7F, 8),
    "e5m2x2": SmallFloat(5, 2, 0x7B, 0x7F, 8),
    "e2m3x2": SmallFloat(2, 3, 0x1F, 0x1F, 8),
    "e3m2x2": SmallFloat(3, 2, 0x1F, 0x1F, 8),
    "e2m1x2": SmallFloat(2, 1, 0x07, 0x07, 4),
}
_NAMES = {*FORMATS, "ue8m0x2", "tf32"}
_PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}


def _convert_small(body: Body, instruction: Instruction) -> None:
    """Write the result of a cvt to or from tf32 or a small format."""
    kinds = [item for item in instruction.modifiers if item in _NAMES or item in types_of(instruction)]
    if len(kinds) != 2:
        raise unsupported(instruction, "name the type of the result and of the source")
    wanted, have = kinds
    if wanted == "tf32":
        value = body.read(instruction.operands[1], "f32")
        body.write(instruction.operands[0], "b32", _tf32(body, instruction, value))
    elif wanted in _NAMES:
        _pack(body, instruction, wanted, have)
    elif wanted in _PAIRS:
        _unpack(body, instruction, wanted, have)
    else:
        raise unsupported(instruction, "convert through .f32 or .f16x2")


def _tf32(body: Body, instruction: Instruction, value: str) -> str:
    """Return an f32 with a mantissa of 10 bits, the rest zero."""
    code, modifiers = body.code, instruction.modifiers
    if "relu" in modifiers:
        value = relu(body, value, "f32")
    raw = code.value(f"bitcast float {value} to i32")
    rounded = code.value(
        f"and i32 {rounded_bits(body, raw, 13, 'rna' if 'rna' in modifiers else rounding(instruction))}, -8192"
    )
    if "satfinite" in modifiers:
        rounded = limit_magnitude(body, rounded, "i32", 0x7F7FE000)
    is_nan = code.value(f"fcmp uno float {value}, {value}")
    return code.value(f"select i1 {is_nan}, i32 2147483647, i32 {rounded}")


def _pack(body: Body, instruction: Instruction, wanted: str, have: str) -> None:
    if have in _PAIRS:
        packed = body.read(instruction.operands[1], have)
        values = [widen(body, item, _PAIRS[have]) for item in split_elements(body, packed, have)]
    elif have == "f32":
        # The first source goes to the upper half.
        values = [body.read(operand, have) for operand in (instruction.operands[2], instruction.operands[1])]
    else:
        raise unsupported(instruction, "convert from .f32, .f16x2 or .bf16x2")
    if "relu" in instruction.modifiers:
        values = [relu(body, value, "f32") for value in values]
    code = body.code
    if wanted == "ue8m0x2":
        slot, elements = 8, [_exponent(body, instruction, value) for value in values]
    else:
        form = FORMATS[wanted]
        slot, elements = form.slot, [_encode(body, form, value) for value in values]
    result = code.value(f"or i32 {elements[0]}, {code.value(f'shl i32 {elements[1]}, {slot}')}")
    kind = f"b{2 * slot}"
    body.write(instruction.operands[0], kind, code.value(f"trunc i32 {result} to {llvm_type(kind)}"))


def _encode(body: Body, form: SmallFloat, value: str) -> str:
    """Return an f32 in a small format, to nearest even, limited to the finite values, as i32."""
    code = body.code
    raw = code.value(f"bitcast float {value} to i32")
    magnitude = code.value(f"and i32 {raw}, 2147483647")
    is_nan = code.value(f"icmp ugt i32 {magnitude}, 2139095040")
    magnitude = code.value(f"call i32 @llvm.umin.i32(i32 {magnitude}, i32 2139095039)")
    # Subnormals share the least normal exponent, so the steps are never finer than there.
    least = 128 - form.bias
    exponent = code.value(f"call i32 @llvm.umax.i32(i32 {code.value(f'lshr i32 {magnitude}, 23')}, i32 {least})")
    power = code.value(f"shl i32 {code.value(f'sub i32 {254 + form.mantissa}, {exponent}')}, 23")
    steps = code.value(
        f"fmul float {code.value(f'bitcast i32 {magnitude} to float')}, {code.value(f'bitcast i32 {power} to float')}"
    )
    count = code.value(f"fptosi float {code.value(f'call float @llvm.roundeven.f32(float {steps})')} to i32")
    base = code.value(f"shl i32 {code.value(f'sub i32 {exponent}, {least}')}, {form.mantissa}")
    limited = code.value(f"call i32 @llvm.umin.i32(i32 {code.value(f'add i32 {base}, {count}')}, i32 {form.highest})")
    negative = code.value(f"icmp slt i32 {raw}, 0")
    signed = code.value(f"or i32 {limited}, {code.value(f'select i1 {negative}, i32 {form.sign}, i32 0')}")
    return code.value(f"select i1 {is_nan}, i32 {form.nan}, i32 {signed}")


def _exponent(body: Body, instruction: Instruction, value: str) -> str:
    """Return the power of two below (.rz) or above (.rp) the magnitude of an f32, as its biased exponent."""
    code = body.code
    raw = code.value(f"bitcast float {value} to i32")
    magnitude = code.value(f"and i32 {raw}, 2147483647")
    is_nan = code.value(f"icmp ugt i32 {magnitude}, 2139095040")
    field = code.value(f"lshr i32 {magnitude}, 23")
    if rounding(instruction) == "rp":
        rest = code.value(f"and i32 {magnitude}, 8388607")
        # 2^-127 is the least value; as an f32 it is the subnormal with only its top mantissa bit.
        tiny = code.value(f"icmp eq i32 {field}, 0")
        bound = code.value(f"select i1 {tiny}, i32 4194304, i32 0")
        above = code.value(f"icmp ugt i32 {rest}, {bound}")
        field = code.value(f"add i32 {field}, {code.value(f'zext i1 {above} to i32')}")
    if "satfinite" in instruction.modifiers:
        field = code.value(f"call i32 @llvm.umin.i32(i32 {field}, i32 254)")
    return code.value(f"select i1 {is_nan}, i32 255, i32 {field}")


def _unpack(body: Body, instruction: Instruction, wanted: str, have: str) -> None:
    code, target = body.code, _PAIRS[wanted]
    slot = 8 if have == "ue8m0x2" else FORMATS[have].slot
    whole = f"b{2 * slot}"
    packed = code.value(f"zext {llvm_type(whole)} {body.read(instruction.operands[1], whole)} to i32")
    values = []
    for first in (0, slot):
        element = code.value(f"and i32 {code.value(f'lshr i32 {packed}, {first}')}, {(1 << slot) - 1}")
        value = _power(body, element) if have == "ue8m0x2" else _decode(body, FORMATS[have], element)
        values.append(shrink(body, relu(body, value, "f32") if "relu" in instruction.modifiers else value, target))
    body.write(instruction.operands[0], wanted, join(body, values, wanted))


def _decode(body: Body, form: SmallFloat, element: str) -> str:
    """Return an element of a small format as f32: its fields as those of an f32, scaled to the other bias."""
    code = body.code
    magnitude = code.value(f"and i32 {element}, {form.sign - 1}")
    raw = code.value(f"shl i32 {magnitude}, {23 - form.mantissa}")
    scaled = code.value(
        f"fmul float {code.value(f'bitcast i32 {raw} to float')}, {double_constant(2.0 ** (127 - form.bias))}"
    )
    if form.nan != form.highest:
        if form.exponent == 5:
            infinite = code.value(f"icmp eq i32 {magnitude}, {form.highest + 1}")
            scaled = code.value(f"select i1 {infinite}, float 0x7FF0000000000000, float {scaled}")
        is_nan = code.value(f"icmp ugt i32 {magnitude}, {form.highest + (form.exponent == 5)}")
        scaled = code.value(f"select i1 {is_nan}, float 0x7FF8000000000000, float {scaled}")
    negative = code.value(f"icmp ne i32 {code.value(f'and i32 {element}, {form.sign}')}, 0")
    return code.value(f"select i1 {negative}, float {code.value(f'fneg float {scaled}')}, float {scaled}")


def _power(body: Body, element: str) -> str:
    """Return the power of two that a ue8m0 stands for, as f32; all ones is NaN."""
    code = body.code
    least = code.value(f"icmp eq i32 {element}, 0")
    raw = code.value(f"select i1 {least}, i32 4194304, i32 {code.value(f'shl i32 {element}, 23')}")
    is_nan = code.value(f"icmp eq i32 {element}, 255")
    raw = code.value(f"select i1 {is_nan}, i32 2143289344, i32 {raw}")
    return code.value(f"bitcast i32 {raw} to float")


_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@opcode("cvt")
def _convert(body: Body, instruction: Instruction) -> None:
    kinds = types_of(instruction)
    if any(item == "s2f6x2" or item.startswith("scaled") for item in instruction.modifiers):
        raise unsupported(instruction, "multiply by the scale in .f32 and convert to .s8 or to an unscaled type")
    if "rs" in instruction.modifiers:
        raise unsupported(instruction, "use .rn or .rz")
    if "pack" in instruction.modifiers:
        _pack_small(body, instruction)
        return
    if _NAMES & set(instruction.modifiers):
        _convert_small(body, instruction)
        return
    if len(kinds) != 2:
        raise unsupported(instruction, "name the type of the result and of the source")
    wanted, have = kinds
    if wanted in ("f16x2", "bf16x2"):
        # The first source goes to the upper half.
        high, low = (_read(body, operand, have, wanted) for operand in instruction.operands[1:3])
        halves = [_from_float(body, instruction, value, have, wanted[:-2]) for value in (low, high)]
        body.write(instruction.operands[0], wanted, join(body, halves, wanted))
        return
    value = _read(body, instruction.operands[1], have, wanted)
    if is_float(have):
        value = _from_float(body, instruction, value, have, wanted)
    elif is_float(wanted):
        value = _integer_to_float(body, instruction, value, have, wanted)
    else:
        value = _integer_to_integer(body, instruction, value, have, wanted)
    if is_arithmetic(instruction):
        put(body, instruction, wanted, value)
    else:
        body.write(instruction.operands[0], wanted, value)


def _read(body: Body, operand: Operand, have: str, wanted: str) -> str:
    """Return a source; it may be non-canonical where the bits of NaNs and subnormals make no difference."""
    bits_matter = have != "f32" or wanted in ("f64", "bf16", "bf16x2")
    return body.read(operand, have) if bits_matter else body.read_noncanonical(operand, have)


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
        if "ftz" in modifiers:  # values that round up to normal only because subnormals have fewer bits are flushed too
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
    """Return an integer as a float in a rounding mode.

    Each half of a 64-bit integer is exact in f64. The result is the correctly rounded sum of the halves.
    """
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
        value = limit(body, value, have, bits(wanted), is_signed(wanted))
    if wanted_bits > have_bits:
        extend = "sext" if is_signed(have) else "zext"
        return code.value(f"{extend} {llvm_type(have)} {value} to {llvm_type(wanted)}")
    if wanted_bits < have_bits:
        return code.value(f"trunc {llvm_type(have)} {value} to {llvm_type(wanted)}")
    return value


def limit(body: Body, value: str, have: str, size: int, signed: bool) -> str:
    """Return an integer limited to the range of `size` bits, still in its own type."""
    code, llvm = body.code, llvm_type(have)
    low, high = limits(size, signed)
    have_low, have_high = limits(bits(have), is_signed(have))
    sign = "s" if is_signed(have) else "u"
    if high < have_high:
        value = code.value(f"call {llvm} @llvm.{sign}min.{llvm}({llvm} {value}, {llvm} {high})")
    if low > have_low:
        value = code.value(f"call {llvm} @llvm.smax.{llvm}({llvm} {value}, {llvm} {low})")
    return value


def _pack_small(body: Body, instruction: Instruction) -> None:
    """cvt.pack.sat: two integers limited to a narrow type and packed, with bits of a third above them."""
    code, modifiers = body.code, instruction.modifiers
    narrow_type = modifiers[modifiers.index("pack") + 2]
    have = modifiers[modifiers.index("pack") + 3]
    size, signed = int(narrow_type[1:]), narrow_type[0] == "s"
    first, second = (
        code.value(f"and i32 {limit(body, body.read(operand, have), have, size, signed)}, {(1 << size) - 1}")
        for operand in instruction.operands[1:3]
    )
    result = code.value(f"or i32 {second}, {code.value(f'shl i32 {first}, {size}')}")
    if len(instruction.operands) == 4:
        above = body.read(instruction.operands[3], "b32")
        result = code.value(f"or i32 {result}, {code.value(f'shl i32 {above}, {2 * size}')}")
    body.write(instruction.operands[0], "b32", result)
