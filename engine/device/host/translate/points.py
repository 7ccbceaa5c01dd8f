"""The instructions at which a thread waits for others: what each hands over, how it is resolved, what comes back.

A thread that arrives writes its operands to its places in the exchange arrays. When all that must arrive have done so,
the point's resolver fills the result arrays, and each thread reads its results as it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.device.host.translate.types import TYPES
from engine.diagnostics import KernelError
from engine.ptx.tree import Instruction, Integer, Operand, Pair

BARRIER, WARP = 1, 2
#: Exchange arrays: 0 to 2 for operands, 3 and 4 for the barrier's number and count, 4 for the member mask.
EXCHANGES, RESULTS = 5, 2
NUMBER, COUNT, MEMBERS = 3, 4, 4


@dataclass(frozen=True)
class Point:
    """What happens at one waiting instruction.

    `given` are (exchange array, operand, PTX type); `results` are (result array, destination, PTX type); `resolver`
    names the function that turns one into the other, "" when nothing is exchanged.
    """

    kind: int
    given: tuple[tuple[int, Operand, str], ...]
    results: tuple[tuple[int, Operand, str], ...]
    resolver: str


def is_point(instruction: Instruction) -> bool:
    """Whether a thread waits at an instruction."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in ("bar", "barrier"):
        return "cluster" not in modifiers
    return opcode in ("shfl", "vote", "match", "redux", "activemask")


def point_of(instruction: Instruction) -> Point:
    """Return what a waiting instruction exchanges; KernelError for forms that the host does not run."""
    opcode = instruction.opcode
    if opcode in ("bar", "barrier"):
        return _barrier(instruction)
    first, operands = instruction.operands[0], instruction.operands[1:]
    if opcode == "activemask":
        return Point(WARP, ((MEMBERS, Integer(0), "b32"),), ((0, first, "b32"),), "wl.activemask")
    if "sync" not in instruction.modifiers:
        raise _refused(instruction, f"use {opcode}.sync with a member mask")
    if opcode == "shfl":
        mode = next(item for item in instruction.modifiers if item in ("up", "down", "bfly", "idx"))
        given = tuple((index, operand, "b32") for index, operand in enumerate(operands[:3]))
        return _warp(given, operands[3], _results(first, "b32"), f"wl.shfl.{mode}")
    if opcode == "vote":
        mode = next(item for item in instruction.modifiers if item in ("all", "any", "uni", "ballot"))
        kind = "b32" if mode == "ballot" else "pred"
        return _warp(((0, operands[0], "pred"),), operands[1], _results(first, kind), f"wl.vote.{mode}")
    kind = next(item for item in instruction.modifiers if item in TYPES)
    if kind not in ("b32", "u32", "s32"):
        raise _refused(instruction, "use a 32-bit value")
    if opcode == "match":
        mode = "all" if "all" in instruction.modifiers else "any"
        return _warp(((0, operands[0], "b32"),), operands[1], _results(first, "b32"), f"wl.match.{mode}")
    mode = next(item for item in instruction.modifiers if item in ("add", "min", "max", "and", "or", "xor"))
    if mode in ("min", "max"):
        mode = kind[0] + mode
    return _warp(((0, operands[0], "b32"),), operands[1], _results(first, "b32"), f"wl.redux.{mode}")


def _results(target: Operand, kind: str) -> tuple[tuple[int, Operand, str], ...]:
    if isinstance(target, Pair):
        return ((0, target.first, kind), (1, target.second, "pred"))
    return ((0, target, kind),)


def _warp(
    given: tuple[tuple[int, Operand, str], ...],
    members: Operand,
    results: tuple[tuple[int, Operand, str], ...],
    resolver: str,
) -> Point:
    return Point(WARP, (*given, (MEMBERS, members, "b32")), results, resolver)


def _barrier(instruction: Instruction) -> Point:
    modifiers, operands = instruction.modifiers, instruction.operands
    if "warp" in modifiers:
        return Point(WARP, ((MEMBERS, operands[0], "b32"),), (), "")
    none = Integer(0)
    if "red" in modifiers:
        mode = next(item for item in modifiers if item in ("and", "or", "popc"))
        target, *rest = operands
        number, count, predicate = rest[0], rest[1] if len(rest) == 3 else none, rest[-1]
        kind = "u32" if mode == "popc" else "pred"
        given = ((0, predicate, "pred"), (NUMBER, number, "b32"), (COUNT, count, "b32"))
        return Point(BARRIER, given, ((0, target, kind),), f"wl.bar.{mode}")
    if "arrive" in modifiers:
        raise _refused(instruction, "use bar.sync")
    number = operands[0] if operands else none
    return Point(BARRIER, ((NUMBER, number, "b32"), (COUNT, operands[1] if len(operands) > 1 else none, "b32")), (), "")


def _refused(instruction: Instruction, instead: str) -> KernelError:
    return KernelError(
        f"PTX line {instruction.line}: {instruction.text} must not be used on the host device; {instead}",
        line=instruction.line,
    )
