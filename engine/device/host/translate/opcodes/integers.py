"""Integer arithmetic. Everything wraps and nothing traps: x/0 is all ones and x%0 is x, as the hardware gives."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import Emit, opcode
from engine.device.host.translate.types import bits, is_signed, llvm_type, type_of
from engine.ptx.tree import Instruction, Register


def _two(body: Body, instruction: Instruction) -> tuple[str, str, str, str]:
    kind = type_of(instruction)
    a, b = (body.read(operand, kind, instruction.line) for operand in instruction.operands[1:3])
    return kind, llvm_type(kind), a, b


def _binary(name: str) -> Emit:
    def emit(body: Body, instruction: Instruction) -> None:
        if "cc" in instruction.modifiers:
            from engine.device.host.translate.opcodes.carry import with_carry

            with_carry(body, instruction)
            return
        kind, llvm, a, b = _two(body, instruction)
        if "sat" in instruction.modifiers:
            value = body.code.value(f"call {llvm} @llvm.s{name}.sat.{llvm}({llvm} {a}, {llvm} {b})")
        else:
            value = body.code.value(f"{name} {llvm} {a}, {b}")
        body.write(instruction.operands[0], kind, value, instruction.line)

    return emit


def _product(body: Body, instruction: Instruction) -> tuple[str, str]:
    """Return the product that .lo, .hi or .wide ask for, and its PTX type."""
    kind, llvm, a, b = _two(body, instruction)
    code, size = body.code, bits(kind)
    if "lo" in instruction.modifiers or not {"hi", "wide"} & set(instruction.modifiers):
        return code.value(f"mul {llvm} {a}, {b}"), kind
    double, extend = f"i{2 * size}", "sext" if is_signed(kind) else "zext"
    a, b = (code.value(f"{extend} {llvm} {value} to {double}") for value in (a, b))
    flags = "nsw" if is_signed(kind) else "nuw"
    wide = code.value(f"mul {flags} {double} {a}, {b}")
    if "wide" in instruction.modifiers:
        return wide, f"{kind[0]}{2 * size}"
    high = code.value(f"lshr {double} {wide}, {size}")
    return code.value(f"trunc {double} {high} to {llvm}"), kind


def _multiply(body: Body, instruction: Instruction) -> None:
    value, kind = _product(body, instruction)
    body.write(instruction.operands[0], kind, value, instruction.line)


def mad(body: Body, instruction: Instruction) -> None:
    """mad.lo, .hi and .wide."""
    if "cc" in instruction.modifiers:
        from engine.device.host.translate.opcodes.carry import with_carry

        with_carry(body, instruction)
        return
    value, kind = _product(body, instruction)
    llvm = llvm_type(kind)
    addend = body.read(instruction.operands[3], kind, instruction.line)
    if "sat" in instruction.modifiers:
        value = body.code.value(f"call {llvm} @llvm.sadd.sat.{llvm}({llvm} {value}, {llvm} {addend})")
    else:
        # The launcher refuses grids whose thread numbers leave 31 bits, so a thread's own number never wraps.
        flags = " nuw nsw" if _is_thread_number(body, instruction) else ""
        value = body.code.value(f"add{flags} {llvm} {value}, {addend}")
    body.write(instruction.operands[0], kind, value, instruction.line)


def _is_thread_number(body: Body, instruction: Instruction) -> bool:
    sources = [
        body.copies.get(operand.name, operand.name) if isinstance(operand, Register) else ""
        for operand in instruction.operands[1:4]
    ]
    return any(
        sorted(sources[:2]) == [f"%ctaid.{axis}", f"%ntid.{axis}"] and sources[2] == f"%tid.{axis}" for axis in "xyz"
    )


def divide(code_body: Body, kind: str, a: str, b: str, remainder: bool) -> str:
    """Return a quotient or remainder with the two cases that would trap replaced by what the hardware gives."""
    code, llvm = code_body.code, llvm_type(kind)
    zero = code.value(f"icmp eq {llvm} {b}, 0")
    unsafe = zero
    if is_signed(kind):
        least = code.value(f"icmp eq {llvm} {a}, {-(1 << (bits(kind) - 1))}")
        minus_one = code.value(f"icmp eq {llvm} {b}, -1")
        unsafe = code.value(f"or i1 {zero}, {code.value(f'and i1 {least}, {minus_one}')}")
    divisor = code.value(f"select i1 {unsafe}, {llvm} 1, {llvm} {b}")
    name = ("s" if is_signed(kind) else "u") + ("rem" if remainder else "div")
    value = code.value(f"{name} {llvm} {a}, {divisor}")
    return code.value(f"select i1 {zero}, {llvm} {a if remainder else -1}, {llvm} {value}")


def _divide(body: Body, instruction: Instruction) -> None:
    kind, _, a, b = _two(body, instruction)
    body.write(instruction.operands[0], kind, divide(body, kind, a, b, False), instruction.line)


@opcode("rem")
def _remainder(body: Body, instruction: Instruction) -> None:
    kind, _, a, b = _two(body, instruction)
    body.write(instruction.operands[0], kind, divide(body, kind, a, b, True), instruction.line)


def _negate(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    a = body.read(instruction.operands[1], kind, instruction.line)
    body.write(instruction.operands[0], kind, body.code.value(f"sub {llvm_type(kind)} 0, {a}"), instruction.line)


def _absolute(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    llvm = llvm_type(kind)
    a = body.read(instruction.operands[1], kind, instruction.line)
    value = body.code.value(f"call {llvm} @llvm.abs.{llvm}({llvm} {a}, i1 false)")
    body.write(instruction.operands[0], kind, value, instruction.line)


def _extreme(name: str) -> Emit:
    def emit(body: Body, instruction: Instruction) -> None:
        kind, llvm, a, b = _two(body, instruction)
        sign = "s" if is_signed(kind) else "u"
        value = body.code.value(f"call {llvm} @llvm.{sign}{name}.{llvm}({llvm} {a}, {llvm} {b})")
        if "relu" in instruction.modifiers:
            value = body.code.value(f"call {llvm} @llvm.smax.{llvm}({llvm} {value}, {llvm} 0)")
        body.write(instruction.operands[0], kind, value, instruction.line)

    return emit


@opcode("mul24", "mad24")
def _short_product(body: Body, instruction: Instruction) -> None:
    raise body.unsupported(instruction, f"use {instruction.opcode[:3]}.lo")


@opcode("sad")
def _sum_of_difference(body: Body, instruction: Instruction) -> None:
    kind, llvm, a, b = _two(body, instruction)
    code, sign = body.code, "s" if is_signed(kind) else "u"
    high = code.value(f"call {llvm} @llvm.{sign}max.{llvm}({llvm} {a}, {llvm} {b})")
    low = code.value(f"call {llvm} @llvm.{sign}min.{llvm}({llvm} {a}, {llvm} {b})")
    addend = body.read(instruction.operands[3], kind, instruction.line)
    value = code.value(f"add {llvm} {code.value(f'sub {llvm} {high}, {low}')}, {addend}")
    body.write(instruction.operands[0], kind, value, instruction.line)


FORMS: dict[str, Emit] = {
    "add": _binary("add"),
    "sub": _binary("sub"),
    "mul": _multiply,
    "div": _divide,
    "neg": _negate,
    "abs": _absolute,
    "min": _extreme("min"),
    "max": _extreme("max"),
}
