"""Lays out blocks of a patch: regions and frames stay boxes around their blocks, and only places change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from warploom.app.edits.nodes import snapped
from warploom.app.edits.organise.frames import FRAME_MARGIN, FRAME_TOP, top_of
from warploom.engine.drawings.layers import GAP_X, GAP_Y, Edge, Place, Size, arrange_layers
from warploom.engine.drawings.rect import Rect
from warploom.engine.figures import plural
from warploom.engine.patch.changes import NodeMoved, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.patch.organise.annotations import Dots, Frame
from warploom.engine.patch.regions import branch_of, region_of, scope_text


@dataclass(frozen=True)
class Measures:
    """The sizes on the canvas: of a node, of a port's height in its node, and of a region's box.

    `box` gets the rectangle of the region block, and those that the blocks of each branch cover.
    """

    size: Callable[[str], Size]
    port_y: Callable[[PortRef, bool], float]
    box: Callable[[Rect, Mapping[str, Rect]], Rect]


@dataclass
class _Unit:
    """What is placed as a whole: its size, and what is in it, relative to its corner."""

    size: Size
    nodes: dict[str, Place]
    frames: dict[str, Rect] = field(default_factory=dict)


def arrange(patch: Patch, nodes: Collection[str], measures: Measures) -> None:
    """Lay out nodes around their present middle, as one undo step; blocks in regions among them move along.

    Connections between them become straight. The nodes don't cover others: if these are in the way, they go below.
    """
    chosen = _with_contents(patch, nodes)
    if not chosen:
        return
    made = _Layout(patch, chosen, measures).made()
    sizes = {node: measures.size(node) for node in chosen}
    before = _around(Rect(*patch.nodes[node].position, *sizes[node]) for node in chosen)
    after = _around(Rect(*made.nodes[node], *sizes[node]) for node in chosen)
    level = patch.group_of(next(iter(chosen)))
    shown = (node for node in patch.nodes.values() if node.id not in chosen and patch.group_of(node.id) == level)
    others = [Rect(*node.position, *measures.size(node.id)) for node in shown]
    dx, dy = snapped(before.x - after.x, before.y - after.y)
    while blocked := [other for other in others if after.moved(dx, dy).overlaps(other)]:
        dy += snapped(0, max(other.bottom for other in blocked) - (after.y + dy) + GAP_Y)[1]
    with patch.edit(f"Lay out {plural(len(chosen), 'node')}"):
        patch.move_nodes({node: (x + dx, y + dy) for node, (x, y) in made.nodes.items()})
        for frame, rect in made.frames.items():
            at = rect.moved(dx, dy)
            note = patch.annotations[f"frame {frame}"]
            assert isinstance(note, Frame)
            patch.annotate(replace(note, position=(at.x, at.y), size=(at.width, at.height)))
        for dots in patch.annotations_of(Dots):
            source = patch.source_of(PortRef(dots.node, dots.port))
            if dots.node in chosen and source is not None and source.node in chosen:
                patch.remove_annotation(dots.key)


def spread_pile(patch: Patch, measures: Measures) -> None:
    """Lay out nodes that were made without a position, which would lie in a pile at the origin.

    This is no undo step, and the patch counts as unchanged, so only a patch that is opened may be spread.
    """
    piles: dict[str, list[str]] = {}
    for node in patch.nodes.values() if not isinstance(patch, InnerPatch) else ():
        if node.position == (0.0, 0.0):
            piles.setdefault(patch.group_of(node.id), []).append(node.id)
    piles = {group: piled for group, piled in piles.items() if len(piled) > 1}
    if not piles:
        return
    trial = patch.excerpt(patch.nodes)
    for piled in piles.values():
        arrange(trial, piled, measures)
    moved = [(node.id, trial.nodes[node.id].position, node.position) for node in patch.nodes.values()]
    patch.restore([NodeMoved(node, now, before) for node, now, before in moved if now != before])


def _with_contents(patch: Patch, nodes: Collection[str]) -> set[str]:
    found = set(nodes)
    for node in nodes:
        if not patch.is_group(node):
            found.update(inner for inner in patch.within(node) if patch.group_of(inner) == patch.group_of(node))
    return found


def _around(rects: Iterable[Rect]) -> Rect:
    found: Rect | None = None
    for rect in rects:
        found = rect if found is None else found.united(rect)
    return found or Rect(0, 0, 0, 0)


class _Layout:
    """The layout of some nodes, from the innermost boxes outwards."""

    def __init__(self, patch: Patch, chosen: set[str], measures: Measures) -> None:
        self._patch, self._chosen, self._measures = patch, chosen, measures
        self._members: dict[str, list[str]] = {}
        for node in (node for node in patch.nodes if node in chosen):
            scope = patch.nodes[node].region
            inside = region_of(scope) in chosen and not patch.is_group(region_of(scope))
            self._members.setdefault(scope if inside else "", []).append(node)
        held = [c for c in patch.connections if c.source.node in chosen and c.target.node in chosen]
        # A delayed input is read in the next frame, so its connection leads backwards.
        self._connections = [c for c in held if not getattr(patch.find_end(c.target), "delayed", False)]
        level = patch.group_of(next(iter(chosen)))
        frames = (frame for frame in patch.annotations_of(Frame) if frame.group == level)
        self._frames = sorted(frames, key=lambda frame: frame.size[0] * frame.size[1])

    def made(self) -> _Unit:
        """Return the layout of all nodes."""
        return self._scope(self._members.get("", []))

    def _scope(self, members: Iterable[str]) -> _Unit:
        """Lay out the nodes of one scope; frames around some of them become boxes, the inner ones first."""
        units = {node: self._unit(node) for node in members}
        for frame in self._frames:
            inside = [name for name, unit in units.items() if self._is_in(frame, unit)]
            if inside:
                inner = self._placed({name: units.pop(name) for name in inside})
                units[f"frame {frame.id}"] = _framed(frame, inner)
        return self._placed(units)

    def _is_in(self, frame: Frame, unit: _Unit) -> bool:
        patch, size = self._patch, self._measures.size
        is_inner = all(
            frame.holds(patch.annotations[f"frame {inner}"].position, patch.annotations[f"frame {inner}"].size)  # type: ignore[union-attr]
            for inner in unit.frames
        )
        return is_inner and all(frame.holds(patch.nodes[node].position, size(node)) for node in unit.nodes)

    def _unit(self, node: str) -> _Unit:
        """Return a node, or the box of a region with all that is in it."""
        size = self._measures.size(node)
        own = Rect(0, 0, *size)
        block_type = self._patch.block_type(node)
        branches = block_type.regions if block_type is not None and not self._patch.is_group(node) else ()
        contents = dict.fromkeys(branches, Rect(0, 0, 0, 0))
        nodes, frames = {node: (0.0, 0.0)}, dict[str, Rect]()
        y = 0.0
        for scope in (scope_text(node, branch) for branch in self._patch.branches(node)):
            inner = self._scope(self._members.get(scope, []))
            if inner.nodes:
                x = own.right + GAP_X
                rect = Rect(x, y, *inner.size)
                nodes |= {name: (x + at[0], y + at[1]) for name, at in inner.nodes.items()}
                frames |= {name: at.moved(x, y) for name, at in inner.frames.items()}
                contents[branch_of(scope)] = rect
                y = rect.bottom + 2 * GAP_Y + FRAME_TOP
        if not contents:
            return _Unit(size, nodes)
        box = self._measures.box(own, contents)
        shifted = {name: (at[0] - box.x, at[1] - box.y) for name, at in nodes.items()}
        return _Unit((box.width, box.height), shifted, {f: r.moved(-box.x, -box.y) for f, r in frames.items()})

    def _placed(self, units: Mapping[str, _Unit]) -> _Unit:
        """Return units in layers, as one unit."""
        unit_of = {node: name for name, unit in units.items() for node in unit.nodes}
        edges = []
        for connection in self._connections:
            source, target = connection.source, connection.target
            a, b = unit_of.get(source.node), unit_of.get(target.node)
            if a is not None and b is not None and a != b:
                heights = [
                    units[name].nodes[port.node][1] + self._measures.port_y(port, is_input)
                    for name, port, is_input in ((a, source, False), (b, target, True))
                ]
                edges.append(Edge(a, b, *heights))
        boxes = arrange_layers({name: unit.size for name, unit in units.items()}, edges).boxes
        nodes, frames, width, height = dict[str, Place](), dict[str, Rect](), 0.0, 0.0
        for name, unit in units.items():
            x, y = snapped(boxes[name].x, boxes[name].y)
            nodes |= {node: (x + at[0], y + at[1]) for node, at in unit.nodes.items()}
            frames |= {frame: rect.moved(x, y) for frame, rect in unit.frames.items()}
            width, height = max(width, x + unit.size[0]), max(height, y + unit.size[1])
        return _Unit((width, height), nodes, frames)


def _framed(frame: Frame, inner: _Unit) -> _Unit:
    top = top_of(frame)
    size = inner.size[0] + 2 * FRAME_MARGIN, inner.size[1] + top + FRAME_MARGIN
    nodes = {node: (x + FRAME_MARGIN, y + top) for node, (x, y) in inner.nodes.items()}
    frames = {name: rect.moved(FRAME_MARGIN, top) for name, rect in inner.frames.items()}
    return _Unit(size, nodes, {**frames, frame.id: Rect(0, 0, *size)})
