"""Checks memory by replay: it simulates a plan, and each reader must see the contents written to its buffer.

The replay knows nothing of live ranges. It chooses branches and the turns of loops at random, so a few replays find
errors that depend on them. Operations that can run at the same time must not use the same bytes at all.
"""

from __future__ import annotations

import random
from itertools import product

from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.verifying.touches import Reach, Touch
from warploom.engine.descriptions.entries import RegionKind
from warploom.engine.patch.changes import PortRef

_REPLAYS = 6


def memory_problems(plan: Plan, reach: Reach, touches: list[list[Touch]]) -> list[str]:
    """Return the errors of buffers that share memory, and of those that are swapped between frames."""
    sharers = _sharers(plan)
    problems = _concurrent(sharers, reach, touches)
    for seed in range(_REPLAYS):
        replay = _Replay(plan, sharers, touches, seed)
        replay.run(0)
        problems |= replay.problems
        problems |= {
            f"{owner} must be there at the end of a frame, got other contents"
            for owner in _looked_at(plan)
            if owner in plan.placement.offsets and owner not in replay.there
        }
        problems |= {
            f"{owner} must be written in every frame, since it changes places with {target}"
            for target, owner in plan.buffers.swaps.items()
            if owner not in replay.there
        }
    return sorted(problems)


def _sharers(plan: Plan) -> dict[PortRef, set[PortRef]]:
    """Return, for each buffer in the arena, the other buffers that share some of its bytes."""
    ends = {o: at + plan.buffers.allocations[o].layout.size_bytes for o, at in plan.placement.offsets.items()}
    found: dict[PortRef, set[PortRef]] = {owner: set() for owner in ends}
    here: list[PortRef] = []
    for owner, start in sorted(plan.placement.offsets.items(), key=lambda item: item[1]):
        here = [other for other in here if ends[other] > start]
        for other in here:
            found[owner].add(other)
            found[other].add(owner)
        here.append(owner)
    return found


def _concurrent(sharers: dict[PortRef, set[PortRef]], reach: Reach, touches: list[list[Touch]]) -> set[str]:
    """Find buffers that share bytes although one operation uses both, or two that may run at the same time."""
    users: dict[PortRef, dict[int, None]] = {}
    for touch in (touch for found in touches for touch in found):
        users.setdefault(touch.place.owner, {})[touch.operation] = None
    return {
        f"{one} and {other} must not share bytes, since operations {a} and {b} use them at the same time"
        for one, others in sharers.items()
        for other in others
        for a, b in product(users.get(one, ()), users.get(other, ()))
        if a == b or reach.together(a, b)
    }


def _looked_at(plan: Plan) -> set[PortRef]:
    """Return the buffers that are read after a frame: displayed ports, and unconnected outputs."""
    fed = {connection.source for connection in plan.description.connections}
    ports = {PortRef(node.id, name) for node in plan.description.nodes for name in node.description.seen_buffers}
    outputs = {PortRef(node.id, s.name) for node in plan.description.nodes for s in node.description.outputs}
    return {plan.buffers.places[port].owner for port in ports | (outputs - fed)}


class _Replay:
    """One frame; `there` are the buffers that currently hold their own contents."""

    def __init__(self, plan: Plan, sharers: dict[PortRef, set[PortRef]], touches: list[list[Touch]], seed: int) -> None:
        self._plan = plan
        self._sharers = sharers
        self._touches = touches
        self._random = random.Random(seed)
        self._initially_invalid = {*plan.placement.offsets, *plan.buffers.swaps.values()}
        self.there: set[PortRef] = set()
        self.problems: set[str] = set()

    def run(self, scope: int) -> None:
        """Replay the operations of a scope."""
        for index in self._plan.scopes[scope].members:
            entry = self._plan.operations[index].entry
            if isinstance(entry, RegionEntry):
                for body in self._bodies(entry):
                    self.run(body)
            else:
                self._touch(index)

    def _bodies(self, entry: RegionEntry) -> list[int]:
        """Return the bodies that run, one after the other."""
        if entry.kind.is_loop:
            return list(entry.scopes) * self._random.randint(0, 2)
        chosen = self._random.randrange(len(entry.scopes) + (entry.kind is not RegionKind.IF_ELSE))
        return list(entry.scopes[chosen : chosen + 1])

    def _touch(self, index: int) -> None:
        nodes = self._plan.operations[index].nodes
        found = [touch for touch in self._touches[index] if touch.place.owner in self._initially_invalid]
        whole = {touch.place.owner for touch in found if touch.writes and self._is_whole(touch)}
        for touch in found:
            owner = touch.place.owner
            # A kernel may declare a buffer of its own block as read and written although it only writes it.
            if owner not in self.there and not (owner in whole and (touch.writes or owner.node in nodes)):
                self.problems.add(
                    f"operation {index} of {', '.join(nodes)} must find {owner} in memory, got other contents"
                )
        for touch in found:
            if touch.writes:
                self.there -= self._sharers.get(touch.place.owner, set())
                self.there.add(touch.place.owner)

    def _is_whole(self, touch: Touch) -> bool:
        return touch.place.size_bytes == self._plan.buffers.allocations[touch.place.owner].layout.size_bytes
