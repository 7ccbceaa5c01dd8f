"""mov: copies, packing and unpacking of vectors, addresses of variables."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.special import clock64
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, type_of
from engine.ptx.tree import Instruction, Register, Vector

_WIDE = {"%clock64", "%globaltimer"}


@opcode("mov")
def _move(body: Body, instruction: Instruction) -> None:
    kind, line = type_of(instruction), instruction.line
    target, source = instruction.operands
    if isinstance(target, Vector):
        value = body.read(source, f"b{bits(kind)}", line)
        size = bits(kind) // len(target.elements)
        for index, element in enumerate(target.elements):
            part = body.code.value(f"lshr i{bits(kind)} {value}, {index * size}")
            body.write(element, f"b{size}", body.convert(part, f"i{bits(kind)}", f"i{size}"), line)
        return
    if isinstance(source, Vector):
        total, size, value = bits(kind), bits(kind) // len(source.elements), "0"
        for index, element in enumerate(source.elements):
            part = body.convert(body.read(element, f"b{size}", line), f"i{size}", f"i{total}")
            placed = body.code.value(f"shl i{total} {part}, {index * size}")
            value = body.code.value(f"or i{total} {value}, {placed}")
        body.write(target, f"b{total}", value, line)
        return
    if isinstance(source, Register) and source.name in _WIDE:
        body.write(target, "b64", clock64(body), line)
        return
    body.write(target, kind, body.read(source, kind, line), line)
