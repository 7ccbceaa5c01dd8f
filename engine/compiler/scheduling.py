"""Phase 5, operations: the blocks' entries as a flat list with explicit dependencies.

Dependencies follow from what each operation reads and writes (read after write, write after read, write after write),
in the blocks' topological order. Operations that touch different buffers stay independent and may run in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.blocktypes.description import Entry, FrameArgument, KernelEntry, buffer_arguments
from engine.compiler.buffers import BufferPlan
from engine.compiler.description import GraphDescription
from engine.compiler.ordering import Levels
from engine.patch.changes import PortRef

#: The buffer of the frame uniforms, which the first operation of a graph that needs them fills.
FRAME = PortRef("", "frame")


@dataclass(frozen=True)
class Operation:
    """One graph node to be. `after` are indices of earlier operations; buffers are named by their owners."""

    node: str
    entry: Entry
    reads: frozenset[PortRef]
    writes: frozenset[PortRef]
    after: tuple[int, ...]


@dataclass(frozen=True)
class UploadFrame:
    """The copy that brings the frame uniforms to the device; operation 0 of a graph whose kernels read them."""

    node: str = ""
    reads: frozenset[PortRef] = frozenset()
    writes: frozenset[PortRef] = frozenset({FRAME})
    after: tuple[int, ...] = ()


AnyOperation = Operation | UploadFrame


@dataclass
class _Hazards:
    """Who wrote each buffer last, and who has read it since."""

    writer: dict[PortRef, int] = field(default_factory=dict)
    readers: dict[PortRef, list[int]] = field(default_factory=dict)

    def dependencies(self, reads: frozenset[PortRef], writes: frozenset[PortRef]) -> tuple[int, ...]:
        found = {self.writer[b] for b in reads | writes if b in self.writer}
        for buffer in writes:
            found.update(self.readers.get(buffer, ()))
        return tuple(sorted(found))

    def add(self, index: int, reads: frozenset[PortRef], writes: frozenset[PortRef]) -> None:
        for buffer in reads:
            self.readers.setdefault(buffer, []).append(index)
        for buffer in writes:
            self.writer[buffer] = index
            self.readers[buffer] = []


def schedule(description: GraphDescription, levels: Levels, plan: BufferPlan) -> tuple[AnyOperation, ...]:
    """Return the operations in an order in which each comes after what it depends on."""
    blocks = [description.by_id[node] for level in levels for node in level]
    operations: list[AnyOperation] = []
    hazards = _Hazards()
    if any(_uses_frame(entry) for block in blocks for entry in block.description.entries):
        operations.append(UploadFrame())
        hazards.add(0, frozenset(), frozenset({FRAME}))
    for block in blocks:
        for entry in block.description.entries:
            touched = [(a, plan.owner_of.get(PortRef(block.id, a.name))) for a in buffer_arguments(entry)]
            reads = frozenset(owner for a, owner in touched if a.reads and owner)
            writes = frozenset(owner for a, owner in touched if a.writes and owner)
            if _uses_frame(entry):
                reads |= {FRAME}
            after = hazards.dependencies(reads, writes)
            hazards.add(len(operations), reads, writes)
            operations.append(Operation(block.id, entry, reads, writes, after))
    return tuple(operations)


def _uses_frame(entry: Entry) -> bool:
    return isinstance(entry, KernelEntry) and any(isinstance(a, FrameArgument) for a in entry.arguments)
