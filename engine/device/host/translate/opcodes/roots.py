"""sqrt, rcp, rsqrt, copysign and testp."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.opcodes.elementwise import elementwise
from engine.device.host.translate.opcodes.floating import binary
from engine.device.host.translate.opcodes.rounding import narrow, rounded64, rounding
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import llvm_type, type_of
from engine.ptx.tree import Instruction


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
    # Only its sign matters, and that is the sign of the error of the root.
    error = code.value(f"call double @llvm.fma.f64(double {minus}, double {nearest}, double {wide})")
    half = code.value(f"fmul double {error}, {code.value(f'fdiv double 0.5, {nearest}')}")
    return narrow(body, nearest, mode, half)


def _upper(body: Body, value: str) -> str:
    """Return an f64 rounded to its upper 32 bits: rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give no more."""
    code = body.code
    rounded = code.value(f"add i64 {code.value(f'bitcast double {value} to i64')}, 2147483648")
    return code.value(f"bitcast i64 {code.value(f'and i64 {rounded}, -4294967296')} to double")


def _flush64(body: Body, value: str) -> str:
    code = body.code
    size = code.value(f"call double @llvm.fabs.f64(double {value})")
    tiny = code.value(f"fcmp olt double {size}, 0x0010000000000000")
    zero = code.value(f"call double @llvm.copysign.f64(double 0.0, double {value})")
    return code.value(f"select i1 {tiny}, double {zero}, double {value}")


def _is_gross(instruction: Instruction, kind: str) -> bool:
    return kind == "f64" and {"approx", "ftz"} <= set(instruction.modifiers)


def _root(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    code, root = body.code, square_root(body, kind, values[0], rounding(instruction))
    if kind == "f32":
        return root
    # LLVM takes any NaN for any other, and for the root's own what a program selects when the root is none. Setting the
    # bit that a quiet NaN has anyway hides from LLVM that this is a root.
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


opcode("sqrt")(elementwise(1, _root))
opcode("rcp")(elementwise(1, _reciprocal))
opcode("rsqrt")(elementwise(1, _reciprocal_root))


@opcode("copysign")
def _copy_sign(body: Body, instruction: Instruction) -> None:
    """The magnitude of the second source with the sign of the first."""
    kind, line = type_of(instruction), instruction.line
    llvm = llvm_type(kind)
    sign, magnitude = (body.read(operand, kind, line) for operand in instruction.operands[1:3])
    value = body.code.value(f"call {llvm} @llvm.copysign.{kind}({llvm} {magnitude}, {llvm} {sign})")
    body.write(instruction.operands[0], kind, value, line)


# Classes of floats as LLVM numbers them; the manual counts zeros among the normal numbers.
_CLASSES = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 360, "subnormal": 144}


@opcode("testp")
def _test_property(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    value = body.read(instruction.operands[1], kind, instruction.line)
    name = next((item for item in instruction.modifiers if item in _CLASSES), "")
    if not name:
        raise body.unsupported(instruction, "name one of " + ", ".join(f".{item}" for item in _CLASSES))
    llvm = llvm_type(kind)
    result = body.code.value(f"call i1 @llvm.is.fpclass.{kind}({llvm} {value}, i32 {_CLASSES[name]})")
    body.write(instruction.operands[0], "pred", result, instruction.line)
