"""cvta and isspacep: addresses of one space as addresses of another."""

from __future__ import annotations

from engine.device.host.translate.accesses import space_of
from engine.device.host.translate.body import Body
from engine.device.host.translate.runtime import STACK_BYTES
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, types_of
from engine.ptx.tree import Instruction


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
