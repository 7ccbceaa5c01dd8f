"""The loops of a function, as its blocks show them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.device.host.translate.flow import Flow


@dataclass(frozen=True)
class Loop:
    """A back edge from block `latch` to block `header`, with all blocks between them."""

    header: int
    latch: int
    blocks: frozenset[int]

    def exits(self, flow: Flow) -> list[tuple[int, int]]:
        """Return the edges that leave the loop."""
        return [
            (index, following)
            for index in sorted(self.blocks)
            for following in flow.blocks[index].successors
            if following not in self.blocks
        ]


def loops(flow: Flow) -> list[Loop]:
    """Return a loop for each branch that goes back in the text: every way round has one."""
    before: dict[int, list[int]] = {}
    for block in flow.blocks:
        for following in block.successors:
            before.setdefault(following, []).append(block.index)
    return [
        Loop(following, block.index, _between(before, following, block.index))
        for block in flow.blocks
        if block.instructions and block.instructions[-1].opcode in ("bra", "brx")
        for following in block.successors
        if following <= block.index
    ]


def _between(before: dict[int, list[int]], header: int, latch: int) -> frozenset[int]:
    found, pending = {latch, header}, [latch]
    while pending:
        index = pending.pop()
        if index == header:
            continue
        for item in before.get(index, ()):
            if item not in found:
                found.add(item)
                pending.append(item)
    return frozenset(found)
