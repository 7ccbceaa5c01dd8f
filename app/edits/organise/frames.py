"""Edits of frames: titled boxes that move with the blocks in them. Each is one undo step of the patch."""

from collections.abc import Collection, Iterable, Mapping
from itertools import count

from msgspec.structs import replace

from warploom.app.edits.nodes import carry_dots, snapped
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import LEAST_SIDE, Frame

#: The space of a frame around its blocks: at the sides and below, and above for its title.
FRAME_MARGIN, FRAME_TOP = 24.0, 48.0
#: The height of a line of a comment, and the space below the last one, where times of blocks stand.
_LINE, _UNDER = 16.0, 8.0


def frame_of(patch: Patch, frame_id: str) -> Frame:
    """Return a frame by its id."""
    found = patch.annotations[f"frame {frame_id}"]
    assert isinstance(found, Frame)
    return found


def rect_of(frame: Frame) -> Rect:
    """Return the rectangle of a frame."""
    return Rect(*frame.position, *frame.size)


def around(rects: Iterable[Rect]) -> Rect | None:
    """Return the rectangle of a frame around these; None without any."""
    found: Rect | None = None
    for rect in rects:
        found = rect if found is None else found.united(rect)
    if found is None:
        return None
    x, y = snapped(found.x - FRAME_MARGIN, found.y - FRAME_TOP)
    return Rect(x, y, found.right + FRAME_MARGIN - x, found.bottom + FRAME_MARGIN - y)


def add_frame(patch: Patch, rect: Rect, group: str, *, gesture: object = None) -> str:
    """Add a frame to a group, or outside all, and return its id."""
    known = {frame.id for frame in patch.annotations_of(Frame)}
    frame_id = next(name for number in count(1) if (name := f"frame_{number}") not in known)
    patch.annotate(Frame(id=frame_id, title="Frame", position=rect[:2], size=rect[2:], group=group), gesture=gesture)
    return frame_id


def frames_in(patch: Patch, frame_id: str) -> list[str]:
    """Return the frames inside a frame."""
    outer = frame_of(patch, frame_id)
    inner = (frame for frame in patch.annotations_of(Frame) if frame.group == outer.group and frame.id != outer.id)
    return [frame.id for frame in inner if outer.holds(frame.position, frame.size)]


def move_frames(
    patch: Patch,
    frames: Collection[str],
    positions: Mapping[str, Position],
    way: Position,
    *,
    gesture: object = None,
) -> None:
    """Move frames, and nodes to new positions; dots between these nodes move along."""
    name = f"Move {frame_of(patch, next(iter(frames))).title or 'frame'}"
    with patch.edit(name, gesture=gesture):
        carry_dots(patch, positions)
        patch.move_nodes(positions)
        for frame_id in frames:
            frame = frame_of(patch, frame_id)
            patch.annotate(replace(frame, position=(frame.position[0] + way[0], frame.position[1] + way[1])))


def resize_frame(patch: Patch, frame_id: str, rect: Rect) -> None:
    """Give a frame another rectangle, which is at least as large as a title."""
    size = max(rect.width, LEAST_SIDE), max(rect.height, LEAST_SIDE)
    frame = frame_of(patch, frame_id)
    patch.annotate(replace(frame, position=(rect.x, rect.y), size=size), f"Resize {frame.title or 'frame'}")


def change_frames(patch: Patch, frames: Collection[str], *, gesture: object = None, **fields: str) -> None:
    """Change the title, the comment or the colour of frames. Raise PatchError for a wrong one.

    A frame grows upwards by the lines of a new comment, which would otherwise be behind its blocks.
    """
    changed = [name for name in fields if any(getattr(frame_of(patch, each), name) != fields[name] for each in frames)]
    if not changed:
        return
    with patch.edit(f"Change {' and '.join(changed)} of frame", gesture=gesture):
        for frame_id in frames:
            before = frame_of(patch, frame_id)
            after = replace(before, **fields)
            more = top_of(after) - top_of(before)
            (x, y), (width, height) = after.position, after.size
            size = width, max(height + more, LEAST_SIDE)
            patch.annotate(replace(after, position=(x, y + height - size[1]), size=size))


def top_of(frame: Frame) -> float:
    """Return the space of a frame above its blocks, for its title and comment."""
    lines = frame.comment.strip("\n").count("\n") + 1 if frame.comment.strip() else 0
    return FRAME_TOP + (_LINE * lines + _UNDER if lines else 0.0)
