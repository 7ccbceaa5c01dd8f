"""Instructions of hardware that the host does not imitate, with what to use instead."""

from __future__ import annotations

from engine.device.host.translate.lowering.writer import Lower, Writer, lowers, refused
from engine.ptx.tree import Instruction

_INSTEAD = {
    "use a buffer and compute the coordinates, or interpolate, in the kernel": (
        *("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"),
    ),
    "use mma.sync or wmma: compile for compute_80": (*("wgmma", "tcgen05"),),
    "use a buffer, and loads or cp.async from each thread": ("tensormap",),
    "use one atomic or load for each copy": ("multimem",),
    "use a launch for each kernel": ("clusterlaunchcontrol",),
}


def _refusal(instead: str) -> Lower:
    def refuse(_writer: Writer, instruction: Instruction) -> None:
        raise refused(instruction, instead)

    return refuse


@lowers("cvt")
def _convert(writer: Writer, instruction: Instruction) -> None:
    if any(item == "s2f6x2" or item.startswith("scaled") for item in instruction.modifiers):
        raise refused(instruction, "multiply by the scale in .f32 and convert to .s8 or to an unscaled type")
    if "rs" in instruction.modifiers:
        raise refused(instruction, "use .rn or .rz")
    writer.done.append(instruction)


for _text, _opcodes in _INSTEAD.items():
    lowers(*_opcodes)(_refusal(_text))
