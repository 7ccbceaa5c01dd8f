"""Touches: the bytes that each operation reads and writes, and the order of operations that a plan implies.

They are derived only from a plan's entries, places and dependencies; `verify.py` compares them with the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import msgspec

from warploom.engine.compiler.operations import (
    FRAME,
    ClearStatus,
    DownloadStatus,
    FusedEntry,
    Operation,
    Place,
    RegionEntry,
    Scope,
    UploadFrame,
)
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import BufferArgument, CopyEntry, KernelEntry, buffer_arguments
from warploom.engine.patch.changes import PortRef


class Touch(msgspec.Struct, frozen=True):
    """A read or a write of a place's bytes by an operation; an operation that does both makes two touches."""

    operation: int
    place: Place
    writes: bool


def all_touches(plan: Plan) -> list[list[Touch]]:
    """Return the touches of every operation.

    A region touches only its condition, since its bodies' touches are separate.
    """
    status = [
        plan.buffers.places[PortRef(node.id, status.buffer)]
        for node in plan.description.nodes
        for status in node.description.statuses
    ]
    return [_touches(plan, index, operation, status) for index, operation in enumerate(plan.operations)]


def _touches(plan: Plan, index: int, operation: Operation, status: list[Place]) -> list[Touch]:
    frame, condition = Place(FRAME, 0, 16), Place(PortRef(operation.node, ""), 0, 8)
    match operation.entry:
        case UploadFrame():
            return [Touch(index, frame, True)]
        case ClearStatus():
            return [Touch(index, place, True) for place in status]
        case DownloadStatus():
            return [Touch(index, place, False) for place in status]
        case RegionEntry():
            return [Touch(index, condition, False)]
        case entry:
            found = []
            origins = entry.origins if isinstance(entry, FusedEntry) else repeat(operation.node)
            arguments = entry.arguments if isinstance(entry, FusedEntry) else buffer_arguments(entry)
            for argument, node in zip(arguments, origins, strict=False):
                if not isinstance(argument, BufferArgument):
                    continue
                place = plan.buffers.places.get(PortRef(node, argument.name))
                if place is not None:
                    found += [Touch(index, place, False)] * argument.reads + [
                        Touch(index, place, True)
                    ] * argument.writes
            if isinstance(entry, KernelEntry):
                found += [Touch(index, frame, False)] * entry.uses_frame
                found += [Touch(index, condition, True)] * entry.sets_condition
            return found


def is_copy_of_delay(operation: Operation) -> bool:
    """True for the copies of a delay at the start and end of its scope."""
    return operation.place < 0 and isinstance(operation.entry, CopyEntry)


def is_fill(operation: Operation) -> bool:
    """True for an operation that fills a region's output before the region."""
    return operation.place < 0 and operation.node != "" and not is_copy_of_delay(operation)


class Reach:
    """The order that dependencies give any two operations, in any scopes."""

    def __init__(self, operations: Sequence[Operation], scopes: Sequence[Scope]) -> None:
        self._ancestors: list[int] = []
        self._ways: list[tuple[tuple[int, int], ...]] = []
        for index, operation in enumerate(operations):
            mask = 0
            for earlier in operation.after:
                mask |= self._ancestors[earlier] | 1 << earlier
            self._ancestors.append(mask)
            around = self._ways[scopes[operation.scope].region] if operation.scope else ()
            self._ways.append((*around, (operation.scope, index)))

    def lift(self, a: int, b: int) -> tuple[int, int]:
        """Return each operation's representative in the innermost common scope: itself, or the region around it."""
        for (scope_a, up), (scope_b, down) in zip(self._ways[a], self._ways[b], strict=False):
            if scope_a != scope_b:
                break
            pair = up, down
            if up != down:
                break
        return pair

    def before(self, a: int, b: int) -> bool:
        """True when `a`, or the region around it, ends before `b` starts."""
        first, second = self.lift(a, b)
        return bool(self._ancestors[second] >> first & 1)

    def together(self, a: int, b: int) -> bool:
        """True when nothing orders two different operations, so they may run at the same time."""
        first, second = self.lift(a, b)
        return first != second and not (self._ancestors[second] >> first | self._ancestors[first] >> second) & 1

    def exclusive(self, a: int, b: int) -> bool:
        """True when two operations are in different branches of one region, so only one of them runs."""
        first, second = self.lift(a, b)
        return first == second and a != b

    def around(self, operation: int) -> tuple[int, ...]:
        """Return the region operations around an operation, outermost first, followed by the operation itself."""
        return tuple(index for _, index in self._ways[operation])

    def inside(self, operation: int, scope: int) -> bool:
        """True when an operation is in a scope, at any depth."""
        return any(around == scope for around, _ in self._ways[operation])
