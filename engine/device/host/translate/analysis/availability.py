"""Availability: registers that still are what an instruction would compute again from the registers it reads.

Compilers compute an address once and use it behind several barriers. Where the address is available, its range follows
from the loop's index, which is uniform, although the address itself is reloaded in each phase.
"""

from collections.abc import Callable

from engine.device.host.translate.analysis.control_flow import ControlFlow, defined, predecessors, used, writes
from engine.device.host.translate.analysis.reachability import members
from engine.device.host.translate.analysis.rematerialise import is_pure
from engine.ptx.tree import Function, Instruction, Register


def availability(function: Function, flow: ControlFlow) -> Callable[[int], dict[str, Instruction]]:
    """Return a function that gives the registers available at the start of a block, each with its instruction.

    They come in the order in which the function computes them.
    """
    candidates = [
        item
        for name, items in writes(function).items()
        for item in items
        if len(items) == 1 and item.guard is None and item.operands[0] == Register(name) and is_pure(function, item)
    ]
    numbers = {id(item): number for number, item in enumerate(candidates)}
    readers: dict[str, int] = {}
    for number, item in enumerate(candidates):
        for name in used(item):
            readers[name] = readers.get(name, 0) | 1 << number
    kept, added = [], []
    for block in flow.blocks:
        lost = gained = 0
        for item in block.instructions:
            for name in defined(item):
                lost |= readers.get(name, 0)
                gained &= ~readers.get(name, 0)
            if id(item) in numbers:
                lost &= ~(1 << numbers[id(item)])
                gained |= 1 << numbers[id(item)]
        kept.append(~lost)
        added.append(gained)
    before = predecessors(flow.blocks)
    everything = (1 << len(candidates)) - 1
    ends = [everything] * len(flow.blocks)
    starts = [everything] * len(flow.blocks)
    pending = dict.fromkeys(range(len(flow.blocks)))
    while pending:
        index = next(iter(pending))
        del pending[index]
        start = everything if index and before[index] else 0
        for source in before[index] if index else ():
            start &= ends[source]
        starts[index] = start
        end = start & kept[index] | added[index]
        if end != ends[index]:
            ends[index] = end
            pending.update(dict.fromkeys(flow.blocks[index].successors))

    def at(index: int) -> dict[str, Instruction]:
        found = (candidates[number] for number in members(starts[index]))
        return {name: item for item in found for name in defined(item)}

    return at
