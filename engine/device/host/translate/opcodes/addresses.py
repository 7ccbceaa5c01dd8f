"""cvta and isspacep: addresses of one space as addresses of another."""

from __future__ import annotations

from engine.device.host.translate import abi
from engine.device.host.translate.accesses import space_of
from engine.device.host.translate.body import Body, quoted
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
    """Kernel parameters lie in the window of global memory, and so does whatever lies in no other window."""
    code, space = body.code, space_of(instruction)
    value = body.read(instruction.operands[1], "b64", instruction.line)
    if space == "param":
        result = _within(body, value, "%params", str(body.layout.parameter_bytes))
    elif space == "const":
        result = _is_constant(body, value)
    elif space == "global":
        parts = [_is_own(body, value, other) for other in ("shared", "local")] + [_is_constant(body, value)]
        elsewhere = code.value(f"or i1 {parts[0]}, {code.value(f'or i1 {parts[1]}, {parts[2]}')}")
        result = code.value(f"xor i1 {elsewhere}, true")
    else:
        result = _is_own(body, value, space)
    body.write(instruction.operands[0], "pred", result, instruction.line)


def _within(body: Body, value: str, pointer: str, size: str) -> str:
    """Return whether a generic address lies in the bytes from a pointer on."""
    start = body.code.value(f"ptrtoint ptr {pointer} to i64")
    return body.code.value(f"icmp ult i64 {body.code.value(f'sub i64 {value}, {start}')}, {size}")


def _is_own(body: Body, value: str, space: str) -> str:
    """Return whether a generic address lies in the thread block's shared or the thread's local memory."""
    code = body.code
    if space == "shared":
        return _within(body, value, "%shared", "%shared.bytes")
    if body.is_entry:
        return _within(body, value, "%local", str(body.local_bytes))
    # Local memory of the kernel and of every device function lies in the worker's scratch memory.
    first, size = (
        code.value(f"load i64, ptr {code.value(f'getelementptr i64, ptr %worker, i64 {index}')}")
        for index in (abi.SCRATCH, abi.SCRATCH_BYTES)
    )
    return code.value(f"icmp ult i64 {code.value(f'sub i64 {value}, {first}')}, {size}")


def _is_constant(body: Body, value: str) -> str:
    """Return whether a generic address lies in one of the module's constants."""
    found = "false"
    for name, variable in body.layout.module.items():
        if variable.space == "const":
            inside = _within(body, value, f"@{quoted(name)}", str(variable.size_bytes))
            found = body.code.value(f"or i1 {found}, {inside}")
    return found
