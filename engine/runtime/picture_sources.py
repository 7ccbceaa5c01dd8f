"""Where a plan's viewers find their pictures in the graph's memory."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.inlining import owner
from engine.compiler.instantiate import CompiledGraph
from engine.compiler.plan import Plan
from engine.device.memory import MemoryPart
from engine.diagnostics import Diagnostic, error
from engine.patch.changes import PortRef
from engine.types import uchar4


@dataclass(frozen=True)
class Source:
    """A viewer's picture: its buffer's owner, offset and extent in bytes, size and strides."""

    owner: PortRef
    offset: int
    span_bytes: int
    size: tuple[int, int]  # width and height
    strides: tuple[int, int]  # elements from row to row and from column to column

    @property
    def is_dense(self) -> bool:
        """True when pixels follow each other without gaps."""
        return self.strides == (self.size[0], 1)

    def memory(self, compiled: CompiledGraph) -> MemoryPart:
        """Return the memory that held the picture in the last launch."""
        return MemoryPart(compiled.memory[self.owner], self.offset, self.span_bytes)


def picture_sources(plan: Plan) -> tuple[dict[str, Source], list[Diagnostic]]:
    """Return the picture of each viewer, by the id that its node has in the patch, and what can't be shown.

    A composite shows what the first viewer inside it shows. A picture without pixels is none.
    """
    found: dict[str, Source] = {}
    problems = []
    shown = [(block.id, display) for block in plan.description.nodes for display in block.description.displays]
    for node, display in sorted(shown, key=lambda item: item[0]):
        if display.path is not None or owner(node) in found:
            continue
        port = plan.inlined.output(PortRef(node, display.buffer))
        layout, place = plan.layouts[port], plan.buffers.places[port]
        if layout.dtype != uchar4 or len(layout.shape) != 2:
            text = f"shown buffer must be 2-D uchar4, got {layout.dtype} of shape {list(layout.shape)}"
            problems.append(error(text, node=owner(node)))
            continue
        height, width = layout.shape
        row, column = layout.strides or (width, 1)
        if width and height:
            found[owner(node)] = Source(place.owner, place.offset, layout.span_bytes, (width, height), (row, column))
    return found, problems
