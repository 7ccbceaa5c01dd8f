"""The layout of a region's box: around its region block and the blocks in it, in scene units (pixels at 100 %)."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

#: The distance from the blocks to the edge of their box, and from a branch's box to the edge of the region's.
MARGIN = 24.0
INNER_MARGIN = 16.0
#: The height of the title strip along the top of a box; below, the space under it.
STRIP = 24.0
GAP = 8.0
#: The space that an empty region keeps for blocks.
EMPTY = (208.0, 72.0)


@dataclass(frozen=True)
class Slot:
    """The area of one branch's blocks. A region with two branches draws each as a separate box."""

    branch: str
    rect: QRectF
    is_empty: bool


@dataclass(frozen=True)
class RegionLayout:
    """A region's box and the slots in it."""

    box: QRectF
    slots: tuple[Slot, ...]

    @property
    def strip(self) -> QRectF:
        """The title strip, with which the whole region is dragged."""
        return QRectF(self.box.left(), self.box.top(), self.box.width(), STRIP)

    def slot_at(self, point: QPointF) -> Slot:
        """Return the slot for a drop at a point of the box: the nearest one."""
        return min(self.slots, key=lambda slot: distance(slot.rect, point))


def region_layout(block: QRectF, contents: Mapping[str, QRectF]) -> RegionLayout:
    """Return the layout of a region block at `block`; `contents` are the rectangles that branches' blocks cover.

    An empty rectangle stands for an empty branch. It gets space beside the region block or, when another branch holds
    blocks, below these.
    """
    parted = len(contents) > 1
    slots = {
        branch: Slot(branch, _around(rect, INNER_MARGIN) if parted else rect, False)
        for branch, rect in contents.items()
        if not rect.isEmpty()
    }
    used = block
    for slot in slots.values():
        used = used.united(slot.rect)
    if slots:
        place = QPointF(next(iter(slots.values())).rect.left(), used.bottom() + INNER_MARGIN)
    else:
        place = QPointF(block.right() + MARGIN, block.top())
    for branch in contents:
        if branch not in slots:
            height = EMPTY[1] + (STRIP if parted else 0)
            slots[branch] = Slot(branch, QRectF(place.x(), place.y(), EMPTY[0], max(height, block.height())), True)
            used = used.united(slots[branch].rect)
            place = QPointF(place.x(), used.bottom() + INNER_MARGIN)
    box = _around(used, MARGIN)
    ordered = tuple(slots[branch] for branch in contents)
    if not parted:
        # A drop anywhere in the box goes into its only branch.
        ordered = tuple(slot if slot.is_empty else Slot(slot.branch, box, False) for slot in ordered)
    return RegionLayout(box, ordered)


def distance(rect: QRectF, point: QPointF) -> float:
    """Return the distance of a point from a rectangle, along x and y together; 0 inside."""
    dx = max(rect.left() - point.x(), point.x() - rect.right(), 0.0)
    dy = max(rect.top() - point.y(), point.y() - rect.bottom(), 0.0)
    return dx + dy


def _around(rect: QRectF, margin: float) -> QRectF:
    return rect.adjusted(-margin, -(STRIP + max(GAP, margin - GAP)), margin, margin)
