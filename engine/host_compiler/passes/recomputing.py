"""Registers that are computed again after a wait, from values that all threads share.

Compilers compute an address once and use it behind several barriers. There each thread would have to reload it, and its
value would be unknown. When it follows from thread numbers and uniform registers that have not changed, it is computed
again in each block that reads it.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import ControlFlow, defined, used
from warploom.engine.host_compiler.analysis.phase_values import availability
from warploom.engine.host_compiler.analysis.reachability import Reachability
from warploom.engine.host_compiler.analysis.rematerialise import computed_once, rematerialisable
from warploom.engine.host_compiler.analysis.uniformity import uniformity
from warploom.engine.host_compiler.passes.web_splitting import with_other_sources
from warploom.engine.host_compiler.special_registers import SPECIAL
from warploom.engine.ptx.tree import Function, Instruction, Register, Statement

#: The most instructions that cost less than keeping a register.
_MOST = 4


def with_recomputed_registers(kernel: Function, flow: ControlFlow) -> Function:
    """Return a kernel that computes registers again where threads then need not keep them while they wait."""
    waiting = [block.index for block in flow.blocks if block.suspends]
    if not waiting:
        return kernel
    cheap = _cheap(kernel)
    kept = {name for index in waiting for name in flow.live_in(index + 1)} & cheap.keys()
    if not kept:
        return kernel
    available = availability(kernel)
    reachability = Reachability([[] if block.suspends else block.successors for block in flow.blocks])
    places = dict.fromkeys(kept, 0)
    for index in waiting:
        behind = reachability.reachable(index + 1)
        for name in flow.live_in(index + 1) & kept:
            places[name] |= behind
    registers = dict(kernel.registers)
    replaced: dict[int, list[Instruction]] = {}
    for block in flow.blocks:
        wanted = [name for name in _first_read(block.instructions) if name in kept and places[name] >> block.index & 1]
        known = partial(available, block.index)
        lines, names = list[Instruction](), dict[str, str]()
        for name in wanted:
            if _may_compute(name, cheap, known):
                lines += _again(name, cheap, names, registers)
        for position, item in enumerate(block.instructions if names else ()):
            replaced[id(item)] = [*([] if position else lines), with_other_sources(item, names)]
    if not replaced or kernel.body is None:
        return kernel
    body: list[Statement] = []
    for statement in kernel.body:
        body += replaced.get(id(statement), [statement])
    return replace(kernel, body=tuple(body), registers=registers)


def _cheap(kernel: Function) -> dict[str, tuple[Instruction, int]]:
    """Return the registers that differ from thread to thread and are cheap to compute again, each with its steps."""
    common = uniformity(kernel).keys() | rematerialisable(kernel).keys() | SPECIAL.keys()
    found: dict[str, tuple[Instruction, int]] = {}
    for name, item in computed_once(kernel):
        sources = used(item)
        if name not in common and defined(item) == {name} and all(each in common or each in found for each in sources):
            steps = 1 + sum(found[each][1] for each in sources if each in found)
            if steps <= _MOST:
                found[name] = item, steps
    return found


def _first_read(instructions: Collection[Instruction]) -> list[str]:
    """Return the registers that a block reads and does not write, in order."""
    written = {name for item in instructions for name in defined(item)}
    return sorted({name for item in instructions for name in used(item)} - written)


def _may_compute(name: str, cheap: Mapping[str, tuple[Instruction, int]], known: Callable[[str], object]) -> bool:
    """Whether a register, and each one from which it is computed, still has the value that its instruction would
    compute.
    """
    return known(name) is not None and all(
        _may_compute(item, cheap, known) for item in used(cheap[name][0]) if item in cheap
    )


def _again(
    name: str, cheap: Mapping[str, tuple[Instruction, int]], names: dict[str, str], registers: dict[str, str]
) -> list[Instruction]:
    """Return the instructions that compute a register again under a fresh name, which is recorded in `names`."""
    if name in names:
        return []
    item, _ = cheap[name]
    lines = [
        line for source in sorted(used(item)) if source in cheap for line in _again(source, cheap, names, registers)
    ]
    fresh = f"{name}$again{len(registers)}"
    registers[fresh] = registers[name]
    lines.append(
        replace(
            with_other_sources(item, names), operands=(Register(fresh), *with_other_sources(item, names).operands[1:])
        )
    )
    names[name] = fresh
    return lines
