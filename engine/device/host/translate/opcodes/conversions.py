"""cvt, cvta and isspacep: conversions between types and between address spaces."""

from __future__ import annotations

from engine.device.host.translate.accesses import space_of
from engine.device.host.translate.body import Body
from engine.device.host.translate.opcodes.floating import DIRECTED, flush, narrow, saturate, truncate
from engine.device.host.translate.runtime import STACK_BYTES
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, is_float, is_signed, llvm_type, types_of
from engine.ptx.tree import Instruction

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_SUFFIX = {"f16": "f16", "f32": "f32", "f64": "f64", "bf16": "bf16"}


@opcode("cvt")
def _convert(body: Body, instruction: Instruction) -> None:
    kinds = types_of(instruction)
    if len(kinds) != 2 or kinds[0] in ("f16x2", "bf16x2"):
        raise body.unsupported(instruction, "convert one value at a time")
    wanted, have = kinds
    value = body.read(instruction.operands[1], have, instruction.line)
    if "ftz" in instruction.modifiers and have == "f32":
        value = flush(body, value)
    if is_float(have) and is_float(wanted):
        value = _float_to_float(body, instruction, value, have, wanted)
    elif is_float(have):
        value = _float_to_integer(body, instruction, value, have, wanted)
    elif is_float(wanted):
        value = _integer_to_float(body, instruction, value, have, wanted)
    else:
        value = _integer_to_integer(body, instruction, value, have, wanted)
    body.write(instruction.operands[0], wanted, value, instruction.line)


def _float_to_float(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    code = body.code
    directed = next((item for item in instruction.modifiers if item in DIRECTED), "")
    for modifier, function in _INTEGRAL.items():
        if modifier in instruction.modifiers:
            value = code.value(f"call {llvm_type(have)} @llvm.{function}.{_SUFFIX[have]}({llvm_type(have)} {value})")
    if bits(wanted) > bits(have):
        value = code.value(f"fpext {llvm_type(have)} {value} to {llvm_type(wanted)}")
    elif bits(wanted) < bits(have):
        if directed:
            if (have, wanted) != ("f64", "f32"):
                raise body.unsupported(instruction, f"use cvt.rn.{wanted}.{have}")
            value = narrow(body, value, directed)
        else:
            value = code.value(f"fptrunc {llvm_type(have)} {value} to {llvm_type(wanted)}")
    elif have != wanted:
        raise body.unsupported(instruction, "convert through .f32")
    if "ftz" in instruction.modifiers and wanted == "f32":
        value = flush(body, value)
    if "sat" in instruction.modifiers:
        value = saturate(body, value, llvm_type(wanted))
    if "relu" in instruction.modifiers:
        raise body.unsupported(instruction, "use max with zero")
    return value


def _float_to_integer(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    """Round, then clamp to the integer's range; NaN gives 0, or the top bit alone when f64 or 64 bits take part."""
    code, llvm = body.code, llvm_type(have)
    function = next((name for item, name in _INTEGRAL.items() if item in instruction.modifiers), "trunc")
    if function != "trunc":
        value = code.value(f"call {llvm} @llvm.{function}.{_SUFFIX[have]}({llvm} {value})")
    result = truncate(body, value, have, wanted)
    integer = llvm_type(wanted)
    if have == "f64" or bits(wanted) == 64:
        is_nan = code.value(f"fcmp uno {llvm} {value}, {value}")
        top = -(1 << (bits(wanted) - 1))
        result = code.value(f"select i1 {is_nan}, {integer} {top}, {integer} {result}")
    return result


def _integer_to_float(body: Body, instruction: Instruction, value: str, have: str, wanted: str) -> str:
    code, name = body.code, "sitofp" if is_signed(have) else "uitofp"
    directed = next((item for item in instruction.modifiers if item in DIRECTED), "")
    if directed:
        if wanted == "f32" and bits(have) <= 32:
            wide = code.value(f"{name} {llvm_type(have)} {value} to double")
            return narrow(body, wide, directed)
        if not (wanted == "f64" and bits(have) <= 32):
            raise body.unsupported(instruction, f"use cvt.rn.{wanted}.{have}")
    result = code.value(f"{name} {llvm_type(have)} {value} to {llvm_type(wanted)}")
    return saturate(body, result, llvm_type(wanted)) if "sat" in instruction.modifiers else result


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
    code, llvm = body.code, llvm_type(have)
    low = -(1 << (bits(wanted) - 1)) if is_signed(wanted) else 0
    high = (1 << (bits(wanted) - is_signed(wanted))) - 1
    have_low = -(1 << (bits(have) - 1)) if is_signed(have) else 0
    have_high = (1 << (bits(have) - is_signed(have))) - 1
    sign = "s" if is_signed(have) else "u"
    if high < have_high:
        value = code.value(f"call {llvm} @llvm.{sign}min.{llvm}({llvm} {value}, {llvm} {high})")
    if low > have_low:
        value = code.value(f"call {llvm} @llvm.smax.{llvm}({llvm} {value}, {llvm} {low})")
    return value


def window(body: Body, space: str) -> str:
    """Return the generic address of the start of a space; 0 for global and constant memory."""
    if space == "shared" or (space == "local" and body.is_entry):
        return body.code.value(f"ptrtoint ptr %{space} to i64")
    if space == "param" and body.layout.parameters:
        return body.code.value("ptrtoint ptr %params to i64")
    return "0"


@opcode("cvta")
def _convert_address(body: Body, instruction: Instruction) -> None:
    kind = types_of(instruction)[-1]
    value = body.read(instruction.operands[1], "b64", instruction.line)
    base = window(body, space_of(instruction))
    if base != "0":
        value = body.code.value(f"{'sub' if 'to' in instruction.modifiers else 'add'} i64 {value}, {base}")
    body.write(instruction.operands[0], "b64", value, instruction.line)
    if bits(kind) != 64:
        raise body.unsupported(instruction, "use 64-bit addresses")


@opcode("isspacep")
def _is_in_space(body: Body, instruction: Instruction) -> None:
    code, space = body.code, space_of(instruction)
    value = body.read(instruction.operands[1], "b64", instruction.line)
    if space not in ("shared", "local"):
        inside = [_within(body, value, other) for other in ("shared", "local")]
        either = code.value(f"or i1 {inside[0]}, {inside[1]}")
        result = code.value(f"xor i1 {either}, true") if space == "global" else "false"
    else:
        result = _within(body, value, space)
    body.write(instruction.operands[0], "pred", result, instruction.line)


def _within(body: Body, value: str, space: str) -> str:
    code = body.code
    if space == "local" and not body.is_entry:
        here = code.value("ptrtoint ptr %local to i64")
        distance = code.value(f"sub i64 {value}, {code.value(f'sub i64 {here}, {STACK_BYTES}')}")
        return code.value(f"icmp ult i64 {distance}, {2 * STACK_BYTES}")
    distance = code.value(f"sub i64 {value}, {window(body, space)}")
    size = "%shared.bytes" if space == "shared" else str(body.local_bytes)
    return body.code.value(f"icmp ult i64 {distance}, {size}")
