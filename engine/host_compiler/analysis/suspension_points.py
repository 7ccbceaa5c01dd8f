"""Suspension points: the instructions at which a thread waits for others, and the values that they exchange there.

A thread that arrives writes its operands to its places in the exchange arrays. When all threads that must arrive have
arrived, the point's collective fills the result arrays, and each thread reads its results as it continues.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from warploom.engine.host_compiler.abi import COUNT, MEMBERS, NUMBER
from warploom.engine.host_compiler.analysis import matrix_fragments
from warploom.engine.host_compiler.analysis.control_flow import elements_of
from warploom.engine.host_compiler.analysis.matrix_fragments import Permutation, Product
from warploom.engine.host_compiler.errors import PtxOperandError, reading, unsupported
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Instruction, Integer, Operand, Pair, Register

#: At a YIELD a thread waits for a value that others write, at a LOCKSTEP it only lets them catch up.
BARRIER, WARP, YIELD, LOCKSTEP = 1, 2, 3, 4


@dataclass(frozen=True)
class Shuffle:
    """A shuffle of whole warps by constants: its mode, its lane or distance, the clamp, and its own exchange array."""

    mode: str
    step: int
    clamp: int
    array: int = 0


@dataclass(frozen=True)
class SuspensionPoint:
    """The exchange at one waiting instruction.

    `given` are (exchange array, operand, PTX type); `results` are (result array, destination, PTX type); `collective`
    names the function that computes the results, "" when nothing is exchanged; `matrices` is what that function does
    when it belongs to this instruction alone, `shuffle` what a shuffle by constants does. Values of 64 bits
    take two arrays.
    """

    kind: int
    given: tuple[tuple[int, Operand, str], ...]
    results: tuple[tuple[int, Operand, str], ...]
    collective: str
    matrices: Product | Permutation | None = None
    shuffle: Shuffle | None = None

    @property
    def is_plain_barrier(self) -> bool:
        """Whether it is a barrier at which threads hand over nothing but constants."""
        constant = all(isinstance(operand, Integer) for _, operand, _ in self.given)
        return self.kind == BARRIER and not self.collective and not self.results and constant

    def operand(self, place: int) -> Operand:
        """Return the value for an exchange array."""
        return next(operand for index, operand, _ in self.given if index == place)

    @property
    def is_idle(self) -> bool:
        """Whether an arriving thread writes nothing to the exchange arrays."""
        return self.is_plain_barrier or self.kind in (YIELD, LOCKSTEP)

    @property
    def names_members(self) -> bool:
        """Whether threads may name different members, or barriers, and the result depends on which."""
        place = {BARRIER: NUMBER, WARP: MEMBERS}.get(self.kind)
        return bool(self.collective) and any(
            index == place and not isinstance(operand, Integer) for index, operand, _ in self.given
        )

    @property
    def registers(self) -> frozenset[str]:
        """The registers that the results go to."""
        return frozenset(operand.name for _, operand, _ in self.results if isinstance(operand, Register))


_WARP = frozenset(("shfl", "vote", "match", "redux", "activemask", "elect", "mma", "wmma", "wl"))


def is_suspension_point(instruction: Instruction) -> bool:
    """Whether a thread waits at an instruction."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in ("bar", "barrier"):
        return "arrive" not in modifiers
    return opcode in _WARP


def suspension_point(instruction: Instruction) -> SuspensionPoint:
    """Return the exchange of a waiting instruction. Raise KernelError for forms that the host does not run."""
    with reading(instruction):
        return _POINTS[instruction.opcode](instruction)


def _wl(instruction: Instruction) -> SuspensionPoint:
    if instruction.modifiers[0] in ("yield", "lockstep"):
        return SuspensionPoint(YIELD if instruction.modifiers[0] == "yield" else LOCKSTEP, (), (), "")
    _, mode, count, *rest = instruction.modifiers
    words = matrix_fragments.permutation(mode, int(count[1:]), transposed="trans" in rest)
    target, source = (elements_of(operand) for operand in instruction.operands)
    return _matrices(
        instruction,
        [(item, "b32") for item in source],
        [(item, "b32") for item in target],
        words,
    )


def _product(instruction: Instruction) -> SuspensionPoint:
    item = matrix_fragments.mma(instruction) if instruction.opcode == "mma" else matrix_fragments.wmma(instruction)
    target, *sources = (elements_of(operand) for operand in instruction.operands[:4])
    kinds = ["b64" if matrix.kind == "f64" else "b32" for matrix in (item.a, item.b, item.c)]
    given = [(operand, kind) for held, kind in zip(sources, kinds, strict=True) for operand in held]
    kind = "b64" if item.d.kind == "f64" else "b32"
    return _matrices(
        instruction,
        given,
        [(operand, kind) for operand in target],
        item,
    )


def _matrices(
    instruction: Instruction,
    given: list[tuple[Operand, str]],
    results: list[tuple[Operand, str]],
    matrices: Product | Permutation,
) -> SuspensionPoint:
    counts = "x".join(str(len(elements_of(operand))) for operand in instruction.operands)
    return SuspensionPoint(
        WARP,
        (*_numbered(given), (MEMBERS, _EVERYONE, "b32")),
        _numbered(results),
        f"{instruction.text}.{counts}",
        matrices,
    )


def _numbered(values: list[tuple[Operand, str]]) -> tuple[tuple[int, Operand, str], ...]:
    found, index = [], 0
    for operand, kind in values:
        found.append((index, operand, kind))
        index += 2 if kind == "b64" else 1
    return tuple(found)


def _activemask(instruction: Instruction) -> SuspensionPoint:
    return SuspensionPoint(
        WARP, ((MEMBERS, _EVERYONE, "b32"),), ((0, instruction.operands[0], "b32"),), "wl.activemask"
    )


def _elect(instruction: Instruction) -> SuspensionPoint:
    return _warp((), _named(instruction.operands[1]), _results(instruction.operands[0], "b32"), "wl.elect")


def _members(instruction: Instruction, operands: tuple[Operand, ...]) -> Operand:
    """Return the member mask; the forms without .sync, from before PTX 6, take all threads that arrive."""
    return _named(operands[-1]) if "sync" in instruction.modifiers else _EVERYONE


def _named(members: Operand) -> Operand:
    """Return a member mask. Raise PtxOperandError for 0, which excludes the thread itself, and stands for all here."""
    if isinstance(members, Integer) and not members.value & 0xFFFFFFFF:
        raise PtxOperandError("member mask must name the thread that uses it, got 0")
    return members


def _shuffle(instruction: Instruction) -> SuspensionPoint:
    mode = next(item for item in instruction.modifiers if item in ("up", "down", "bfly", "idx"))
    operands = instruction.operands[1:]
    given = tuple((index, operand, "b32") for index, operand in enumerate(operands[:3]))
    results = _results(instruction.operands[0], "b32")
    members, step, clamp = _members(instruction, operands), operands[1], operands[2]
    point = _warp(given, members, results, f"wl.shfl_{mode}")
    is_whole = isinstance(members, Integer) and members.value & 0xFFFFFFFF in (0, 0xFFFFFFFF)
    if is_whole and isinstance(step, Integer) and isinstance(clamp, Integer):
        return replace(point, shuffle=Shuffle(mode, step.value & 31, clamp.value & 0x1F1F))
    return point


def _vote(instruction: Instruction) -> SuspensionPoint:
    mode = next(item for item in instruction.modifiers if item in ("all", "any", "uni", "ballot"))
    kind = "b32" if mode == "ballot" else "pred"
    operands = instruction.operands[1:]
    results = _results(instruction.operands[0], kind)
    return _warp(((0, operands[0], "pred"),), _members(instruction, operands), results, f"wl.vote_{mode}")


def _match(instruction: Instruction) -> SuspensionPoint:
    modifiers, operands = instruction.modifiers, instruction.operands[1:]
    kind = "b64" if "b64" in modifiers else "b32"
    mode = f"{'all' if 'all' in modifiers else 'any'}_{kind}"
    results = _results(instruction.operands[0], "b32")
    return _warp(((0, operands[0], kind),), _members(instruction, operands), results, f"wl.match_{mode}")


def _redux(instruction: Instruction) -> SuspensionPoint:
    modifiers, operands = instruction.modifiers, instruction.operands[1:]
    kind = next(item for item in modifiers if item in TYPES)
    mode = next(item for item in modifiers if item in ("add", "min", "max", "and", "or", "xor"))
    if kind == "f32" and mode in ("min", "max"):
        mode = f"f{mode}" + ("_abs" if "abs" in modifiers else "") + ("_NaN" if "NaN" in modifiers else "")
    elif kind not in ("b32", "u32", "s32"):
        raise unsupported(instruction, "use a 32-bit integer, or min or max of .f32")
    elif mode in ("min", "max"):
        mode = kind[0] + mode
    results = _results(instruction.operands[0], "b32")
    return _warp(((0, operands[0], "b32"),), _named(operands[1]), results, f"wl.redux_{mode}")


def _results(target: Operand, kind: str) -> tuple[tuple[int, Operand, str], ...]:
    if isinstance(target, Pair):
        return ((0, target.first, kind), (1, target.second, "pred"))
    return ((0, target, kind),)


def _warp(
    given: tuple[tuple[int, Operand, str], ...],
    members: Operand,
    results: tuple[tuple[int, Operand, str], ...],
    collective: str,
) -> SuspensionPoint:
    return SuspensionPoint(WARP, (*given, (MEMBERS, members, "b32")), results, collective)


def _barrier(instruction: Instruction) -> SuspensionPoint:
    modifiers, operands = instruction.modifiers, instruction.operands
    if "warp" in modifiers:
        members = _EVERYONE if "wl" in modifiers else _named(operands[0])  # .wl is a modifier of our own
        return SuspensionPoint(WARP, ((MEMBERS, members, "b32"),), (), "")
    none = Integer(0)
    if "red" in modifiers:
        mode = next(item for item in modifiers if item in ("and", "or", "popc"))
        target, *rest = operands
        number, count, predicate = rest[0], rest[1] if len(rest) == 3 else none, rest[-1]
        kind = "u32" if mode == "popc" else "pred"
        given = ((0, predicate, "pred"), (NUMBER, number, "b32"), (COUNT, count, "b32"))
        return SuspensionPoint(BARRIER, given, ((0, target, kind),), f"wl.bar_{mode}")
    number = operands[0] if operands else none
    return SuspensionPoint(
        BARRIER, ((NUMBER, number, "b32"), (COUNT, operands[1] if len(operands) > 1 else none, "b32")), (), ""
    )


_EVERYONE = Integer(0)
_POINTS: dict[str, Callable[[Instruction], SuspensionPoint]] = {
    "bar": _barrier,
    "barrier": _barrier,
    "activemask": _activemask,
    "elect": _elect,
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "mma": _product,
    "wmma": _product,
    "wl": _wl,
}
