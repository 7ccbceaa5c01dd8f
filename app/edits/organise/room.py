"""Makes room for a block that goes into a connection, and for one that becomes wider or higher."""

from collections.abc import Callable

from msgspec.structs import replace

from warploom.app.edits.nodes import STEP, carry_dots, snapped
from warploom.app.edits.rects import free_shift
from warploom.engine.drawings.layers import GAP_X
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import Connection, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Frame
from warploom.engine.patch.regions import TOP, region_of

#: The least gap to the blocks at both ends.
_LEAST = GAP_X / 2


def make_room(patch: Patch, node: str, connection: Connection, rect: Callable[[str], Rect]) -> None:
    """Put a node between the ends of a connection; if that is too short, what follows moves to the right.

    What follows is the target, what it feeds, and what these would cover, as far as it is to the right of the source.
    `rect` returns the rectangle of a node; that of a region is its box, and its blocks move along. If the target isn't
    to the right of the source, the node only goes to the nearest free place. Frames keep their blocks.
    """
    level, rects, whole = _shown_beside(patch, node, rect)
    source, target = rects.get(whole(connection.source.node)), whole(connection.target.node)
    x, y, width, height = rect(node)
    if source is not None and target in rects and rects[target].x >= source.right:
        if rects[target].x - source.right < width + 2 * _LEAST:
            by = snapped(source.right + width + 2 * GAP_X - rects[target].x, 0)[0]
            moved = _following(patch, [target], {n: r for n, r in rects.items() if r.x >= source.right}, (by, 0), whole)
            _carry_frames(patch, level, rects, set(moved), (by, 0))
            rects |= {each: rects[each].moved(by, 0) for each in moved}
            _move(patch, moved, (by, 0))
            x = (source.right + rects[target].x - width) / 2
        else:
            x = min(max(x, source.right + _LEAST), rects[target].x - _LEAST - width)
    x, y = snapped(x, y)
    dx, dy = free_shift([Rect(x, y, width, height)], [*rects.values()])
    patch.move(node, (x + dx, y + dy))


def keep_apart(patch: Patch, node: str, width: float, rect: Callable[[str], Rect]) -> None:
    """Move what a node would cover, and what that feeds, if the node has become wider than `width`.

    Nothing moves if there is room, or if it covered something before.
    """
    here = rect(node)
    by = snapped(here.width - width + STEP, 0)[0]
    if here.width <= width:
        return
    level, rects, whole = _shown_beside(patch, node, rect)
    right = {each: there for each, there in rects.items() if there.x >= here.x + width}
    needed = Rect(here.x, here.y, here.width + STEP, here.height)
    covered = [each for each, there in right.items() if needed.overlaps(there)]
    moved = _following(patch, covered, right, (by, 0), whole)
    _carry_frames(patch, level, rects, set(moved), (by, 0))
    _move(patch, moved, (by, 0))


def keep_below(patch: Patch, node: str, height: float, rect: Callable[[str], Rect]) -> None:
    """Move down what a node would cover, and what that would cover, if the node has become higher than `height`."""
    here = rect(node)
    by = snapped(0, here.height - height + STEP)[1]
    if here.height <= height:
        return
    level, rects, _ = _shown_beside(patch, node, rect)
    below = {each: there for each, there in rects.items() if there.y >= here.y + height}
    needed = Rect(here.x, here.y, here.width, here.height + STEP)
    moved = _following(patch, [each for each, there in below.items() if needed.overlaps(there)], below, (0, by))
    _carry_frames(patch, level, rects, set(moved), (0, by))
    _move(patch, moved, (0, by))


def _shown_beside(
    patch: Patch, node: str, rect: Callable[[str], Rect]
) -> tuple[str, dict[str, Rect], Callable[[str], str]]:
    """Return the group that a node is in, what is shown there beside it, and the part of that which holds a block."""
    around = (TOP, *patch.scopes.chain(patch.nodes[node].region))

    def whole(member: str) -> str:
        """Return a block, or the outermost region with it that the node isn't in."""
        while (scope := patch.nodes[member].region) not in around:
            member = region_of(scope)
        return member

    level, inside = patch.group_of(node), {node, *map(region_of, around)}
    shown = {whole(each) for each in patch.nodes if patch.group_of(each) == level} - inside
    return level, {each: rect(each) for each in shown}, whole


def _following(
    patch: Patch,
    targets: list[str],
    rects: dict[str, Rect],
    way: Position,
    whole: Callable[[str], str] | None = None,
) -> list[str]:
    """Return the nodes that move with some targets, of those with rectangles: what these would cover.

    With `whole`, which returns what is shown of a node, what they feed is among them.
    """
    feeds: dict[str, set[str]] = {}
    if whole is not None:
        for line in patch.connections:
            feeds.setdefault(whole(line.source.node), set()).add(whole(line.target.node))
    moved, waiting, still = [], list(targets), dict(rects)
    while waiting:
        each = waiting.pop()
        if still.pop(each, None) is None:
            continue
        moved.append(each)
        before, after = rects[each], rects[each].moved(*way)
        waiting += feeds.get(each, ())
        waiting += [other for other, there in still.items() if there.overlaps(after) and not there.overlaps(before)]
    return moved


def _carry_frames(patch: Patch, level: str, rects: dict[str, Rect], moved: set[str], way: Position) -> None:
    """Move the frames whose blocks all move, and enlarge those in which only some do."""
    dx, dy = way
    for frame in patch.annotations_of(Frame):
        held = {node for node, (x, y, *size) in rects.items() if frame.holds((x, y), (size[0], size[1]))}
        if frame.group != level or not held & moved:
            continue
        (x, y), (width, height) = frame.position, frame.size
        if held <= moved:
            patch.annotate(replace(frame, position=(x + dx, y + dy)))
        else:
            patch.annotate(replace(frame, size=(width + dx, height + dy)))


def _move(patch: Patch, nodes: list[str], way: Position) -> None:
    inside = [each for node in nodes if not patch.is_group(node) for each in patch.within(node)]
    places = {each: patch.nodes[each].position for each in (*nodes, *inside)}
    positions = {each: (x + way[0], y + way[1]) for each, (x, y) in places.items()}
    carry_dots(patch, positions)
    patch.move_nodes(positions)
