"""Versions of a kernel for the outcomes of branches that are decided by its parameters alone.

A kernel that looks up the type of its elements, or a mode, branches alike in all threads of a launch. The optimiser
would mask the operations of all ways, and accesses that are never made would keep checks from being hoisted. So each
launch chooses a version without the ways that it does not take. If the arguments of some launches are known, the last
versions have only the ways that these launches take, with their distances between elements, and there are fewer others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import control_flow, used
from warploom.engine.host_compiler.analysis.launch_values import launch_values
from warploom.engine.host_compiler.analysis.reachability import Reachability, members
from warploom.engine.host_compiler.analysis.rematerialise import PURE, computed_once
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Function, Instruction, Integer, Register, Statement, Symbol

#: The most versions, the most instructions that they have together, in those of the kernel, and the most that they add.
_MOST, _GROWTH, _MOST_ADDED = 12, 4, 1500
#: How many times fewer instructions are added if there are versions for known launches.
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
    """A version of a kernel for launches in which predicates have these outcomes.

    If `most_threads` is not 0, thread blocks have at most so many threads along x.
    """

    kernel: Function
    outcomes: Mapping[str, bool] = field(default_factory=dict)
    most_threads: int = 0


@dataclass(frozen=True)
class LaunchVersions:
    """The versions of a kernel, of which a launch takes the last that fits.

    There is one version if no branch is worth another. `known` has the registers that decide, with their instructions,
    in order. `served` has the outcomes of each known launch: no others decide which version would be best for it. So a
    launch without any of these outcomes may be worth a version of its own.
    """

    versions: list[LaunchVersion]
    known: dict[str, Instruction]
    served: list[Mapping[str, bool]]

    @property
    def serve_all(self) -> bool:
        """Whether no launch is worth another version."""
        return {} in self.served


def for_launches(
    kernel: Function, launches: Sequence[bytes] = (), offsets: Mapping[str, int] = MappingProxyType({})
) -> LaunchVersions:
    """Return the versions of a kernel.

    `launches` are the argument blocks of known launches, of which the last counts most, and `offsets` those of the
    parameters in a block.
    """
    known = decided = _decided(kernel)
    usual, served = list[LaunchVersion](), list[Mapping[str, bool]]()
    size = 0
    for block in reversed(launches):
        version, tests, outcomes = _usual(kernel, decided, launch_values(decided, block, offsets))
        size += len(version.kernel.instructions) if version is not None else 0
        if served and size > _MOST_ADDED:
            break
        known = known | tests
        served.append(outcomes)
        if version is not None and version not in usual:
            usual.append(version)
    usual.sort(key=lambda version: len(version.outcomes))  # a launch may fit another one's version, which does less
    if not any(name in decided for name in _guards(kernel)) and not any(_factors(kernel, decided)):
        served = [{}]
    versions, pending = list[LaunchVersion](), [LaunchVersion(kernel)]
    room = min((_GROWTH - 1) * len(kernel.instructions), _MOST_ADDED) // (_LESS if usual else 1)
    while pending:
        version = pending.pop(0)
        split = _split(version, known, room) if len(versions) + len(pending) + 1 < _MOST else []
        if not split:
            versions.append(version)
        room -= sum(len(item.kernel.instructions) for item in split) - len(version.kernel.instructions) if split else 0
        pending += split
    return LaunchVersions(versions + usual, known, served)


def _usual(
    kernel: Function, known: Mapping[str, Instruction], values: Mapping[str, int]
) -> tuple[LaunchVersion | None, dict[str, Instruction], dict[str, bool]]:
    """Return the version for launches whose branches have the outcomes that follow from `values`, if it is worth it.

    Its factors are those of that launch, too. Also return tests of factors, and the outcomes of branches and tests.
    """
    outcomes, way = dict[str, bool](), kernel
    while names := [name for name in _guards(way) if name in known and name in values]:
        outcomes[names[0]] = bool(values[names[0]])
        way = _without(way, {names[0]: outcomes[names[0]]})
    work = _work(kernel)
    way, tests, replaced = _with_factors(way, known, values)
    is_worth_it = replaced or work - _work(way) > work // _SHARE
    version = LaunchVersion(way, outcomes | dict.fromkeys(replaced, True)) if is_worth_it else None
    return version, tests, outcomes | dict.fromkeys(tests, True)


def _factors(kernel: Function, known: Mapping[str, Instruction]) -> Iterator[tuple[int, int, Register]]:
    """Yield the known factors of what threads differ in: the places of instruction and operand, and the register."""
    for place, item in enumerate(kernel.body or ()):
        if isinstance(item, Instruction) and item.opcode in ("mul", "mad") and {"lo", "wide"} & {*item.modifiers}:
            for at, other in ((1, item.operands[2]), (2, item.operands[1])):
                factor = item.operands[at]
                if not isinstance(factor, Register) or not isinstance(other, Register):
                    continue
                if factor.name in known and other.name not in known:
                    yield place, at, factor


def _with_factors(
    kernel: Function, known: Mapping[str, Instruction], values: Mapping[str, int]
) -> tuple[Function, dict[str, Instruction], list[str]]:
    """Return a kernel with numbers in the place of small factors of what threads differ in.

    The distance between elements is such a factor. If it is a number, threads next to each other load neighbours. Also
    return tests that hold for all factors, and the names of those on which the kernel relies.
    """
    body = list(kernel.body or ())
    tests, replaced = dict[str, Instruction](), list[str]()
    for place, at, factor in _factors(kernel, known):
        value = values.get(factor.name)
        if value is None:
            continue
        item = body[place]
        assert isinstance(item, Instruction)
        is_small = value <= _MOST_FACTOR
        name = f"{factor.name} is {value}" if is_small else f"{factor.name} is large"
        order, bound = ("eq", value) if is_small else ("hi", _MOST_FACTOR)
        tested = Register(name), factor, Integer(bound)
        tests[name] = Instruction("setp", (order, f"u{TYPES[kernel.registers[factor.name]]}"), tested, None, item.line)
        if is_small and value:
            body[place] = replace(item, operands=(*item.operands[:at], Integer(value), *item.operands[at + 1 :]))
            replaced.append(name)
    return replace(kernel, body=tuple(body)), tests, replaced


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
