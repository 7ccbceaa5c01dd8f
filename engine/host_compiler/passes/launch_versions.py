"""Versions of a kernel for the outcomes of branches that are decided by its parameters alone.

A kernel that looks up the type of its elements, or a mode, branches alike in all threads of a launch. The optimiser
would mask the operations of all ways, and accesses that are never made would keep checks from being hoisted. So each
launch chooses a version without the ways that it does not take. If the arguments of a launch are known, the last
version has only the ways that this launch takes, with its distance between elements, and there are fewer others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from warploom.engine.host_compiler.analysis.control_flow import control_flow, used
from warploom.engine.host_compiler.analysis.launch_values import launch_values
from warploom.engine.host_compiler.analysis.reachability import Reachability, members
from warploom.engine.host_compiler.analysis.rematerialise import PURE, computed_once
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Function, Instruction, Integer, Register, Statement, Symbol

#: The most versions, the most instructions that they have together, in those of the kernel, and the most that they add.
_MOST, _GROWTH, _MOST_ADDED = 12, 4, 1500
#: How many times fewer instructions are added if one version is for a usual launch.
_LESS = 4
#: The least share of a kernel's work that a way must leave out: it costs less to mask a smaller one.
_SHARE = 16
#: The largest factor that a version has as a number: few bytes, elements or channels.
_MOST_FACTOR = 16
#: The work of a masked access, in other instructions.
_ACCESS = 8
#: The branches of which the best is chosen.
_TRIED = 6


@dataclass(frozen=True)
class LaunchVersion:
    """A version of a kernel for launches in which predicates have these outcomes."""

    kernel: Function
    outcomes: Mapping[str, bool] = field(default_factory=dict)


def for_launches(
    kernel: Function, arguments: bytes = b"", offsets: Mapping[str, int] = MappingProxyType({})
) -> tuple[list[LaunchVersion], dict[str, Instruction]]:
    """Return the versions of a kernel, of which a launch takes the last that fits, and the registers that decide.

    The registers come with their instructions, in order. There is one version if no branch is worth another.
    `arguments` is the argument block of a usual launch, if one is known, and `offsets` those of the parameters in it.
    """
    known = _decided(kernel)
    usual = list[LaunchVersion]()
    if arguments:
        usual, tests = _usual(kernel, known, launch_values(known, arguments, offsets))
        known |= tests
    versions, pending = list[LaunchVersion](), [LaunchVersion(kernel)]
    room = min((_GROWTH - 1) * len(kernel.instructions), _MOST_ADDED) // (_LESS if usual else 1)
    while pending:
        version = pending.pop(0)
        split = _split(version, known, room) if len(versions) + len(pending) + 1 < _MOST else []
        if not split:
            versions.append(version)
        room -= sum(len(item.kernel.instructions) for item in split) - len(version.kernel.instructions) if split else 0
        pending += split
    return versions + usual, known


def _usual(
    kernel: Function, known: Mapping[str, Instruction], values: Mapping[str, int]
) -> tuple[list[LaunchVersion], dict[str, Instruction]]:
    """Return the version for launches whose branches have the outcomes that follow from `values`, if it is worth it.

    Its factors are those of that launch, too. Tests of them are returned.
    """
    outcomes, way = dict[str, bool](), kernel
    while names := [name for name in _guards(way) if name in known and name in values]:
        outcomes[names[0]] = bool(values[names[0]])
        way = _without(way, {names[0]: outcomes[names[0]]})
    work = _work(kernel)
    way, tests = _with_factors(way, known, values)
    is_worth_it = tests or work - _work(way) > work // _SHARE
    return [LaunchVersion(way, outcomes | dict.fromkeys(tests, True))] if is_worth_it else [], tests


def _with_factors(
    kernel: Function, known: Mapping[str, Instruction], values: Mapping[str, int]
) -> tuple[Function, dict[str, Instruction]]:
    """Return a kernel with numbers in the place of small factors of what threads differ in, and the tests of these.

    The distance between elements is such a factor. If it is a number, threads next to each other load neighbours.
    """
    tests: dict[str, Instruction] = {}
    body: list[Statement] = []
    for item in kernel.body or ():
        if isinstance(item, Instruction) and item.opcode in ("mul", "mad") and "hi" not in item.modifiers:
            for at, other in ((1, item.operands[2]), (2, item.operands[1])):
                factor = item.operands[at]
                if not isinstance(factor, Register) or not isinstance(other, Register) or other.name in known:
                    continue
                value = values.get(factor.name, 0)
                if 0 < value <= _MOST_FACTOR:
                    item = replace(item, operands=(*item.operands[:at], Integer(value), *item.operands[at + 1 :]))
                    name, kind = f"usual {factor.name}", f"u{TYPES[kernel.registers[factor.name]]}"
                    tested = (Register(name), factor, Integer(value))
                    tests[name] = Instruction("setp", ("eq", kind), tested, None, item.line)
        body.append(item)
    return replace(kernel, body=tuple(body)), tests


def _decided(kernel: Function) -> dict[str, Instruction]:
    """Return the registers that follow from the kernel's parameters and constants alone."""
    found: dict[str, Instruction] = {}
    for name, item in computed_once(kernel, PURE | {"selp"}):
        names_place = item.opcode != "ld" and any(isinstance(operand, Symbol) for operand in item.operands)
        if not names_place and all(source in found for source in used(item)):
            found[name] = item
    return found


def _split(version: LaunchVersion, known: Mapping[str, Instruction], room: int) -> list[LaunchVersion]:
    """Return the two versions for the outcomes of a branch; none if no branch is worth it, or they are too long.

    Of the outermost branches, the one that leaves the fewest instructions is chosen. If the outcomes so far decide one,
    there is one version.
    """
    count, work = len(version.kernel.instructions), _work(version.kernel)
    best, least = list[LaunchVersion](), count + room + 1
    for name in islice((name for name in _guards(version.kernel) if name in known), _TRIED):
        outcome = _outcome(known[name], version.outcomes, known)
        if outcome is not None:
            return [LaunchVersion(_without(version.kernel, {name: outcome}), version.outcomes)]
        ways = [
            LaunchVersion(_without(version.kernel, {name: outcome}), {**version.outcomes, name: outcome})
            for outcome in (True, False)
        ]
        size = sum(len(way.kernel.instructions) for way in ways)
        if work - min(_work(way.kernel) for way in ways) > work // _SHARE and size < least:
            best, least = ways, size
    return best


def _work(kernel: Function) -> int:
    """Return the number of a kernel's instructions, of which accesses count more than others."""
    accesses = sum(item.opcode in ("ld", "st") and "param" not in item.modifiers for item in kernel.instructions)
    return len(kernel.instructions) + (_ACCESS - 1) * accesses


def _guards(kernel: Function) -> list[str]:
    """Return the predicates of a kernel's branches, those first that threads reach by the fewest jumps."""
    flow = control_flow(kernel)
    found, reached = dict[str, None](), dict.fromkeys([0])
    for index in (pending := [0]):
        block = flow.blocks[index]
        last = block.instructions[-1] if block.instructions else None
        if last is not None and last.opcode == "bra" and last.guard is not None:
            found[last.guard.register.name] = None
        pending += [following for following in block.successors if following not in reached]
        reached |= dict.fromkeys(block.successors)
    return [*found]


def _outcome(setter: Instruction, outcomes: Mapping[str, bool], known: Mapping[str, Instruction]) -> bool | None:
    """Return what a comparison of a register with a number yields, if others of that register decide it."""
    wanted = _equality(setter)
    if wanted is None:
        return None
    for name, outcome in outcomes.items():
        other = _equality(known[name])
        if other is None or other[0] != wanted[0]:
            continue
        is_equal = outcome == other[2]
        if other[1] == wanted[1]:
            return is_equal == wanted[2]
        if is_equal:
            return not wanted[2]
    return None


def _equality(setter: Instruction) -> tuple[str, int, bool] | None:
    """Return the register and the number that a `setp` compares, and whether it holds if they are equal."""
    if setter.opcode != "setp" or len(setter.operands) != 3 or setter.modifiers[0] not in ("eq", "ne"):
        return None
    _, left, right = setter.operands
    if len(setter.modifiers) != 2 or not isinstance(left, Register) or not isinstance(right, Integer):
        return None
    return left.name, right.value % (1 << TYPES[setter.modifiers[1]]), setter.modifiers[0] == "eq"


def _without(kernel: Function, outcomes: Mapping[str, bool]) -> Function:
    """Return a kernel without the instructions that do not run if predicates have these outcomes."""
    body: list[Statement] = []
    for item in kernel.body or ():
        if isinstance(item, Instruction) and item.guard is not None and item.guard.register.name in outcomes:
            if outcomes[item.guard.register.name] == item.guard.negated:
                continue
            item = replace(item, guard=None)
        body.append(item)
    flow = control_flow(replace(kernel, body=tuple(body)))
    reached = Reachability([block.successors for block in flow.blocks]).reachable(0)
    runs = {id(item) for index in members(reached) for item in flow.blocks[index].instructions}
    kept = (item for item in body if not isinstance(item, Instruction) or id(item) in runs)
    return replace(kernel, body=tuple(kept))
