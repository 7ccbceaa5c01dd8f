"""Logic, shifts and bit counts."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import Emit, opcode
from engine.device.host.translate.types import bits, is_signed, llvm_type, type_of
from engine.ptx.tree import Instruction, Integer, Pair


def _logic(name: str) -> Emit:
    def emit(body: Body, instruction: Instruction) -> None:
        kind = type_of(instruction)
        a, b = (body.read(operand, kind, instruction.line) for operand in instruction.operands[1:3])
        body.write(instruction.operands[0], kind, body.code.value(f"{name} {llvm_type(kind)} {a}, {b}"))

    return emit


for _name in ("and", "or", "xor"):
    opcode(_name)(_logic(_name))


@opcode("not")
def _not(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    a = body.read(instruction.operands[1], kind, instruction.line)
    body.write(instruction.operands[0], kind, body.code.value(f"xor {llvm_type(kind)} {a}, -1"))


@opcode("cnot")
def _cnot(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    a = body.read(instruction.operands[1], kind, instruction.line)
    zero = body.code.value(f"icmp eq {llvm_type(kind)} {a}, 0")
    body.write(instruction.operands[0], kind, body.code.value(f"zext i1 {zero} to {llvm_type(kind)}"))


@opcode("shl", "shr")
def _shift(body: Body, instruction: Instruction) -> None:
    """Shift; an amount past the width counts as the width."""
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), bits(kind)
    a = body.read(instruction.operands[1], kind, instruction.line)
    amount = body.read(instruction.operands[2], "u32", instruction.line)
    arithmetic = instruction.opcode == "shr" and is_signed(kind)
    limit = size - 1 if arithmetic else size
    clamped = code.value(f"call i32 @llvm.umin.i32(i32 {amount}, i32 {limit})")
    step = body.convert(clamped, "i32", llvm)
    if arithmetic:
        value = code.value(f"ashr {llvm} {a}, {step}")
    else:
        inside = code.value(f"icmp ult i32 {clamped}, {size}")
        step = code.value(f"select i1 {inside}, {llvm} {step}, {llvm} 0")
        shifted = code.value(f"{'shl' if instruction.opcode == 'shl' else 'lshr'} {llvm} {a}, {step}")
        value = code.value(f"select i1 {inside}, {llvm} {shifted}, {llvm} 0")
    body.write(instruction.operands[0], kind, value, instruction.line)


@opcode("shf")
def _funnel(body: Body, instruction: Instruction) -> None:
    code = body.code
    low, high, amount = (body.read(operand, "b32", instruction.line) for operand in instruction.operands[1:4])
    pair = code.value(f"shl i64 {code.value(f'zext i32 {high} to i64')}, 32")
    pair = code.value(f"or i64 {pair}, {code.value(f'zext i32 {low} to i64')}")
    if "wrap" in instruction.modifiers:
        amount = code.value(f"and i32 {amount}, 31")
    else:
        amount = code.value(f"call i32 @llvm.umin.i32(i32 {amount}, i32 32)")
    step = code.value(f"zext i32 {amount} to i64")
    if "l" in instruction.modifiers:
        shifted = code.value(f"lshr i64 {code.value(f'shl i64 {pair}, {step}')}, 32")
    else:
        shifted = code.value(f"lshr i64 {pair}, {step}")
    body.write(instruction.operands[0], "b32", code.value(f"trunc i64 {shifted} to i32"), instruction.line)


@opcode("lop3")
def _lookup3(body: Body, instruction: Instruction) -> None:
    """Look every bit up in a table of eight; with .and or .or also combine "any bit set" with a predicate."""
    code, line, target = body.code, instruction.line, instruction.operands[0]
    if not isinstance(instruction.operands[4], Integer):
        raise body.unsupported(instruction, "give the table as a constant")
    a, b, c = (body.read(operand, "b32", instruction.line) for operand in instruction.operands[1:4])
    table, terms = instruction.operands[4].value & 255, []
    inverse = {value: code.value(f"xor i32 {value}, -1") for value in (a, b, c)}
    for index in range(8):
        if table >> index & 1:
            parts = [value if index & bit else inverse[value] for value, bit in ((a, 4), (b, 2), (c, 1))]
            terms.append(code.value(f"and i32 {code.value(f'and i32 {parts[0]}, {parts[1]}')}, {parts[2]}"))
    result = "0"
    for term in terms:
        result = code.value(f"or i32 {result}, {term}")
    body.write(target, "b32", result, line)
    if isinstance(target, Pair):
        name = "or" if "or" in instruction.modifiers else "and"
        some = code.value(f"icmp ne i32 {result}, 0")
        other = body.read(instruction.operands[5], "pred", line)
        body.write(target.second, "pred", code.value(f"{name} i1 {some}, {other}"), line)


def _unsigned_count(body: Body, operand_value: str, kind: str) -> str:
    return body.convert(operand_value, llvm_type(kind), "i32")


@opcode("popc", "clz", "brev")
def _bits(body: Body, instruction: Instruction) -> None:
    kind, code = type_of(instruction), body.code
    llvm = llvm_type(kind)
    a = body.read(instruction.operands[1], kind, instruction.line)
    if instruction.opcode == "brev":
        body.write(instruction.operands[0], kind, code.value(f"call {llvm} @llvm.bitreverse.{llvm}({llvm} {a})"))
        return
    if instruction.opcode == "popc":
        value = code.value(f"call {llvm} @llvm.ctpop.{llvm}({llvm} {a})")
    else:
        value = code.value(f"call {llvm} @llvm.ctlz.{llvm}({llvm} {a}, i1 false)")
    body.write(instruction.operands[0], "u32", _unsigned_count(body, value, kind), instruction.line)


@opcode("bfind")
def _find_leading(body: Body, instruction: Instruction) -> None:
    """The position of the highest bit that differs from the sign, all ones when there is none."""
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), bits(kind)
    a = body.read(instruction.operands[1], kind, instruction.line)
    if is_signed(kind):
        a = code.value(f"xor {llvm} {a}, {code.value(f'ashr {llvm} {a}, {size - 1}')}")
    zeros = code.value(f"call {llvm} @llvm.ctlz.{llvm}({llvm} {a}, i1 false)")
    count = _unsigned_count(body, zeros, kind)
    if "shiftamt" not in instruction.modifiers:
        count = code.value(f"sub i32 {size - 1}, {count}")
    none = code.value(f"icmp eq {llvm} {a}, 0")
    body.write(instruction.operands[0], "u32", code.value(f"select i1 {none}, i32 -1, i32 {count}"))
