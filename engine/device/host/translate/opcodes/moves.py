"""mov: copies, packing and unpacking of vectors, addresses of variables."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, type_of
from engine.ptx.tree import Instruction, Register, Vector


@opcode("mov")
def _move(body: Body, instruction: Instruction) -> None:
    kind, line = type_of(instruction), instruction.line
    target, source = instruction.operands
    if isinstance(target, Vector) and isinstance(source, Vector) and {"v2", "v4"} & set(instruction.modifiers):
        values = [body.read(element, kind, line) for element in source.elements]
        for element, value in zip(target.elements, values, strict=True):
            body.write(element, kind, value, line)
        return
    if isinstance(source, Vector):
        value, kind = _packed(body, source, kind, line), f"b{bits(kind)}"
    elif isinstance(target, Vector):
        kind = f"b{bits(kind)}"
        value = body.read(source, kind, line)
    elif isinstance(target, Register) and target.name in body.loose:
        value = body.read_loose(source, kind, line)
    else:
        value = body.read(source, kind, line)
    if isinstance(target, Vector):
        _unpack(body, target, kind, value, line)
    else:
        body.write(target, kind, value, line)


def _packed(body: Body, source: Vector, kind: str, line: int) -> str:
    """Return the elements of a brace list beside each other, the first in the lowest bits."""
    total, size, value = bits(kind), bits(kind) // len(source.elements), "0"
    for index, element in enumerate(source.elements):
        part = body.convert(body.read(element, f"b{size}", line), f"i{size}", f"i{total}")
        placed = body.code.value(f"shl i{total} {part}, {index * size}")
        value = body.code.value(f"or i{total} {value}, {placed}")
    return value


def _unpack(body: Body, target: Vector, kind: str, value: str, line: int) -> None:
    whole, size = f"i{bits(kind)}", bits(kind) // len(target.elements)
    for index, element in enumerate(target.elements):
        part = body.code.value(f"lshr {whole} {value}, {index * size}")
        body.write(element, f"b{size}", body.convert(part, whole, f"i{size}"), line)
