"""Barriers of a cluster, which on the host has one thread block, and waits that may not go on at once."""

from __future__ import annotations

from engine.device.host.translate.lowering.writer import Writer, lowers, refused
from engine.ptx.tree import Instruction

_CLUSTER_BARRIER = 16


@lowers("barrier")
def _barrier(writer: Writer, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if modifiers[0] != "cluster":
        writer.done.append(instruction)
    elif "wait" in modifiers:
        # Every thread of the thread block has arrived when all wait.
        writer.emit("barrier.sync", _CLUSTER_BARRIER)


@lowers("mapa", "getctarank")
def _rank(writer: Writer, instruction: Instruction) -> None:
    """The only thread block of the cluster has rank 0, and its memory is where it is."""
    kind = instruction.modifiers[-1]
    target, source = instruction.operands[:2]
    if instruction.opcode == "getctarank":
        writer.emit("mov.u32", target, 0)
    elif kind in ("u32", "u64"):
        writer.emit(f"mov.b{kind[1:]}", target, source)
    else:
        raise refused(instruction, "give .u32 or .u64")
