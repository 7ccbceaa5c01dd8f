"""The launched graph as a drawing from left to right: a box for each operation, regions around their bodies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from warploom.engine.compiler.inspection.data import FramePlan, PlannedOperation
from warploom.engine.drawings.layers import arrange_columns, direct
from warploom.engine.drawings.rect import Rect
from warploom.engine.figures import format_time, plural
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import SpanProfile

#: The size of a box, and the margins and the strip of a title around the bodies of a region.
BOX, MARGIN, STRIP = (168.0, 36.0), 10.0, 20.0
#: What operations are in a CUDA graph, by their kinds in a plan.
KINDS = {
    "kernel": "kernel",
    "fill": "memset",
    "copy": "memcpy",
    "captured": "library",
    "region": "conditional",
    "upload": "memcpy",
    "clear": "memset",
    "download": "memcpy",
}
#: The points of an arrow.
Points = list[tuple[float, float]]


@dataclass
class GraphDrawing:
    """Boxes of operations by their indices, boxes of bodies with their names, and arrows by their two operations."""

    width: float = 0.0
    height: float = 0.0
    boxes: dict[int, Rect] = field(default_factory=dict)
    bodies: list[tuple[str, Rect]] = field(default_factory=list)
    arrows: dict[tuple[int, int], Points] = field(default_factory=dict)

    def take(self, part: GraphDrawing, x: float, y: float) -> None:
        """Add a part at a place."""
        self.boxes |= {index: box.moved(x, y) for index, box in part.boxes.items()}
        self.bodies += [(name, box.moved(x, y)) for name, box in part.bodies]
        self.arrows |= {ends: [(at + x, to + y) for at, to in way] for ends, way in part.arrows.items()}


def lay_out(operations: Sequence[PlannedOperation]) -> GraphDrawing:
    """Return the drawing of a plan's operations; an arrow that others imply is left out."""
    members: dict[tuple[int, str], list[int]] = {}
    for index, operation in enumerate(operations):
        members.setdefault((operation.region, operation.body), []).append(index)
    bodies: dict[int, list[tuple[int, str]]] = {}
    for place in members:
        bodies.setdefault(place[0], []).append(place)

    def body(indices: Iterable[int]) -> GraphDrawing:
        parts = {index: single(index) for index in indices}
        arrows = direct({index: operations[index].after for index in parts})
        layers = arrange_columns(arrows, {index: (part.width, part.height) for index, part in parts.items()})
        whole = GraphDrawing(layers.width, layers.height)
        for index, part in parts.items():
            whole.take(part, layers.boxes[index].x, layers.boxes[index].y)
        for (earlier, later), way in layers.ways.items():
            start, end = whole.boxes[earlier], whole.boxes[later]
            between = [point for at, left, right in way for point in ((left, at), (right, at))]
            first, last = (start.x + start.width, start.y + start.height / 2), (end.x, end.y + end.height / 2)
            whole.arrows[earlier, later] = [first, *between, last]
        return whole

    def single(index: int) -> GraphDrawing:
        inside = [(name, body(members[region, name])) for region, name in bodies.get(index, ())]
        if not inside:
            return GraphDrawing(*BOX, {index: Rect(0, 0, *BOX)})
        whole, y = GraphDrawing(), BOX[1]
        width = max(part.width for _, part in inside) + 2 * MARGIN
        for name, part in inside:
            height = STRIP + part.height + MARGIN
            whole.bodies.append((name, Rect(MARGIN, y, width, height)))
            whole.take(part, 2 * MARGIN, y + STRIP)
            y += height + MARGIN
        whole.width, whole.height = max(width + 2 * MARGIN, BOX[0]), y
        whole.boxes[index] = Rect(0, 0, whole.width, whole.height)
        return whole

    return body(members.get((-1, ""), ()))


def blocks_of(operation: PlannedOperation) -> list[str]:
    """Return the blocks of the patch whose work an operation does."""
    return list(dict.fromkeys(node.partition("/")[0] for node in operation.nodes))


def titles(plan: FramePlan, title: Callable[[str], str]) -> list[str]:
    """Return the blocks of each operation as people read them."""
    return [" + ".join(map(title, blocks_of(operation))) or operation.title for operation in plan.operations]


def times_of(plan: FramePlan, spans: Iterable[SpanProfile]) -> dict[int, int]:
    """Return the mean times of operations in nanoseconds: measured one by one, or as a block of a single operation."""
    owned = Counter(node for operation in plan.operations for node in operation.nodes)
    alone = {
        operation.nodes[0]: index
        for index, operation in enumerate(plan.operations)
        if len(operation.nodes) == 1 and owned[operation.nodes[0]] == 1
    }
    times: dict[int, int] = {}
    for span in spans:
        if 0 <= span.operation < len(plan.operations):
            if plan.operations[span.operation].name == span.name:
                times[span.operation] = span.mean_ns
        elif span.node in alone:
            times[alone[span.node]] = span.mean_ns
    return times


def summary(plan: FramePlan, level: ProfilingLevel) -> str:
    """Return what the graph consists of, as a line."""
    kinds = Counter(KINDS[operation.kind] for operation in plan.operations)
    counts = ", ".join(f"{kind} × {count:,}" for kind, count in kinds.most_common())
    text = f"{plural(len(plan.operations), 'node')}: {counts}"
    has_times = level >= ProfilingLevel.PER_KERNEL
    return text if has_times else f"{text}; for the times of all nodes, choose Run > Profiling > Each kernel"


def tooltip(plan: FramePlan, index: int, time_ns: int | None) -> str:
    """Return what is known about an operation, as lines."""
    operation = plan.operations[index]
    lines = [f"{index}: {operation.work}", f"{KINDS[operation.kind]} node of {operation.title}"]
    lines += [f"takes {format_time(time_ns)}"] if time_ns is not None else []
    lines += [f"reads {', '.join(operation.reads)}"] if operation.reads else []
    lines += [f"writes {', '.join(operation.writes)}"] if operation.writes else []
    return "\n".join(lines)
