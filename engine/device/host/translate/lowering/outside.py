"""fma.oob: the product is zero where a factor is the NaN that tensor copies fill in for what is out of bounds."""

from __future__ import annotations

from engine.device.host.translate.lowering.writer import Writer, lowers
from engine.ptx.tree import Instruction, Operand, Register, Vector

#: The NaN without its sign, in f16 and in bf16.
_OUTSIDE = 0x7FF7


@lowers("fma")
def _fma(writer: Writer, instruction: Instruction) -> None:
    """Write a plain fma, then select by the bits of its factors: arithmetic may change those of a NaN."""
    if "oob" not in instruction.modifiers:
        writer.done.append(instruction)
        return
    target, a, b, c = instruction.operands
    kept = ".".join(item for item in instruction.modifiers if item != "oob")
    is_pair = kept.endswith("x2")
    result = writer.register("b32" if is_pair else "b16")
    writer.emit(f"fma.{kept}", result, a, b, c)
    values, firsts, seconds = (_halves(writer, item, is_pair=is_pair) for item in (result, a, b))
    zeros = []
    for half, first, second in zip(values, firsts, seconds, strict=True):
        value = half
        for factor in (first, second):
            size = writer.value("and.b16", factor, 0x7FFF)
            value = writer.register("b16")
            writer.emit("selp.b16", value, 0, half, writer.value("setp.eq.u16", size, _OUTSIDE))
            half = value
        zeros.append(value)
    if is_pair:
        writer.emit("mov.b32", target, Vector(tuple(zeros)))
    else:
        writer.emit("mov.b16", target, zeros[0])


def _halves(writer: Writer, operand: Operand, *, is_pair: bool) -> list[Register]:
    """Return the one or two elements of an operand in registers of their own."""
    if not is_pair:
        return [writer.value("mov.b16", operand)]
    parts = [writer.register("b16") for _ in range(2)]
    writer.emit("mov.b32", Vector(tuple(parts)), operand)
    return parts
