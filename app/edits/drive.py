"""Edits that let values drive parameters, or stop doing so; each is one undo step of the patch."""

from collections.abc import Callable, Sequence

from warploom.app.edits.compatible import best_end
from warploom.app.edits.nodes import STEP, join, parameter_of, snapped
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.patch.changes import PortRef, Position
from warploom.engine.patch.document import Patch

#: Returns the width and height of a node of a patch, as on the canvas.
NodeSize = Callable[[Patch, str], tuple[float, float]]

#: The distance between a new value block and the node that it drives, and between two value blocks.
_GAP, _SPACING = 6 * STEP, 2 * STEP


def drive(patch: Patch, targets: Sequence[PortRef], source: PortRef) -> None:
    """Let a value output drive parameters. If that is refused, raise a PatchError and change nothing."""
    with patch.edit(f"Drive {_named(patch, targets)} with {source_title(patch, source)}"):
        for target in targets:
            join(patch, source, target)


def drive_with_new(patch: Patch, targets: Sequence[PortRef], block_type: type[Block], size: NodeSize) -> str:
    """Add a value block left of the first target's node, let it drive the targets, and return its id."""
    first = targets[0]
    output = best_end(block_type, _spec(patch, first))
    assert output is not None, f"{block_type.id} was offered, so one of its outputs fits"
    with patch.edit(f"Drive {_named(patch, targets)} with a new {block_type.title}"):
        new = patch.add(block_type.id, region=patch.nodes[first.node].region)
        patch.move(new.id, free_place(patch, new.id, first.node, size))
        for target in targets:
            join(patch, PortRef(new.id, output.name), target)
    return new.id


def release(patch: Patch, targets: Sequence[PortRef]) -> None:
    """Disconnect the drivers of parameters, which return to the values that were set."""
    with patch.edit(f"Disconnect {_named(patch, targets)}"):
        for target in targets:
            if patch.source_of(target) is not None:
                patch.disconnect(target)


def drivers(patch: Patch, parameter: PortRef) -> list[type[Block]]:
    """Return the block types of the catalogue that can drive a parameter, as the search lists them."""
    spec = _spec(patch, parameter)
    found = (block_type for block_type in patch.catalogue.search("") if block_type.is_value)
    return [block_type for block_type in found if best_end(block_type, spec) is not None]


def _spec(patch: Patch, parameter: PortRef) -> ParameterSpec:
    return patch.parameter(parameter.node, parameter.port)


def _named(patch: Patch, targets: Sequence[PortRef]) -> str:
    return parameter_of(patch, [target.node for target in targets], targets[0].port)


def free_place(patch: Patch, new: str, node: str, size: NodeSize) -> Position:
    """Return a position to the left of a node, below the nodes that are already there."""
    width, height = size(patch, new)
    x, y = patch.nodes[node].position
    left, top, group = x - width - _GAP, y, patch.group_of(node)
    others = sorted(
        (other.position[1], other.position[1] + size(patch, other.id)[1])
        for other in patch.nodes.values()
        if other.id != new and patch.group_of(other.id) == group and left - 240 < other.position[0] < left + width
    )
    for above, below in others:
        if above < top + height + _SPACING and below + _SPACING > top:
            top = below + _SPACING
    return snapped(left, top)


def source_title(patch: Patch, source: PortRef) -> str:
    """Return a short text for a parameter's driver: the node's title, and the output if it has several."""
    block_type = patch.block_type(source.node)
    title = patch.title(source.node)
    return title if block_type is not None and len(block_type.values_out) == 1 else f"{title} · {source.port}"
