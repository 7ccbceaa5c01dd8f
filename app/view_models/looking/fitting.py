"""Which ports can be looked at, which view fits a buffer, and what each view needs of it."""

from collections.abc import Sequence
from enum import StrEnum

from warploom.app.view_models.looking.series import MOST_LANES
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.types import NAMED


class ViewKind(StrEnum):
    """A way to show a buffer."""

    IMAGE = "image"
    PLOT = "plot"
    TABLE = "table"
    POINTS = "points"
    TEXT = "text"


TITLES = {
    ViewKind.IMAGE: "Image",
    ViewKind.PLOT: "Plot",
    ViewKind.TABLE: "Table",
    ViewKind.POINTS: "Points",
    ViewKind.TEXT: "Text",
}
#: A buffer with so many elements is shown as numbers at first.
FEW = 16
#: An axis of fewer elements makes no picture.
_LEAST_SIDE = 4
#: A buffer of single numbers that is so many times as long as wide is a table, or the channels of a signal.
_LONG = 32


def ports_of(patch: Patch, nodes: Sequence[str], connections: Sequence[Connection]) -> list[PortRef]:
    """Return the output ports of a selection: those of the connections first, then those of the first node.

    For ports of groups, they are those of the blocks inside, which an engine knows.
    """
    found = [connection.source for connection in connections]
    for node in nodes[:1]:
        block_type = patch.block_type(node)
        if block_type is None:
            continue
        found += [PortRef(node, spec.name) for spec in block_type.outputs()]
        found += [PortRef(node, spec.name) for spec in block_type.value_outputs()]
        if not any(port.node == node for port in found):  # a viewer shows its input
            found += [c.source for c in patch.connections if c.target.node == node]
    leaves = map(patch.leaf, found) if patch.has_groups else found
    return list(dict.fromkeys(port for port in leaves if port is not None))


def is_struct(dtype: str) -> bool:
    """Return whether elements of this type have fields."""
    return dtype not in NAMED


def kinds_for(dtype: str, shape: Sequence[int], fields: Sequence[str] = ()) -> list[ViewKind]:
    """Return the views that can show a buffer, the most fitting one first."""
    components = NAMED[dtype].components if dtype in NAMED else 1
    count = 1
    for extent in shape:
        count *= extent
    if not shape or count <= 1:
        return [ViewKind.TEXT, *([ViewKind.PLOT, ViewKind.TABLE] if not shape or not fields else [ViewKind.TABLE])]
    points = [ViewKind.POINTS] if components == 1 and len(shape) == 2 and shape[1] in (2, 3, 4) else []
    if is_struct(dtype):
        return [ViewKind.TABLE, ViewKind.POINTS, ViewKind.PLOT, ViewKind.TEXT]
    if len(shape) >= 2 and min(shape[-2:]) >= _LEAST_SIDE:
        if components == 1 and len(shape) == 2 and min(shape) <= MOST_LANES and max(shape) >= _LONG * min(shape):
            return [ViewKind.PLOT, ViewKind.TABLE, *points, ViewKind.IMAGE, ViewKind.TEXT]
        return [ViewKind.IMAGE, ViewKind.TABLE, ViewKind.PLOT, ViewKind.POINTS, ViewKind.TEXT]
    if len(shape) == 1 and components in (2, 3, 4) and count > FEW:
        return [ViewKind.POINTS, ViewKind.PLOT, ViewKind.TABLE, ViewKind.TEXT]
    if count <= FEW:
        return [ViewKind.TABLE, ViewKind.PLOT, ViewKind.TEXT]
    return [ViewKind.PLOT, ViewKind.TABLE, *points, ViewKind.TEXT]
