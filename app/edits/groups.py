"""Edits that group blocks and dissolve groups, and of the ports of groups; each is one undo step of the patch."""

from collections.abc import Collection

from app.edits.nodes import snapped
from app.edits.regions import outermost
from engine.diagnostics import PatchError
from engine.figures import plural
from engine.patch.changes import PortRef
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerPatch


def group(patch: Patch, nodes: Collection[str]) -> str:
    """Put nodes into a new group, and return its node. Raise PatchError with the reason when they can't be grouped."""
    if isinstance(patch, InnerPatch):
        raise PatchError(f"group must hold blocks, got {patch.holds}; group blocks of the patch around it")
    with patch.edit(f"Group {plural(len(outermost(patch, nodes)), 'node')}"):
        made = patch.group(nodes)
        patch.move(made, snapped(*patch.nodes[made.id].position))
    return made.id


def ungroup(patch: Patch, nodes: Collection[str]) -> list[str]:
    """Dissolve the groups among nodes, and return the blocks that were inside."""
    groups = [node for node in nodes if patch.is_group(node)]
    with patch.edit(
        f"Ungroup {patch.title(groups[0])}" if len(groups) == 1 else f"Ungroup {plural(len(groups), 'group')}"
    ):
        return [block.id for node in groups for block in patch.ungroup(node)]


def promote(patch: Patch, targets: Collection[PortRef]) -> list[PortRef]:
    """Make parameters of several blocks one parameter of the group around them; return the group's."""
    first, *others = targets
    with patch.edit(f"Promote {first.port}"):
        made = patch.promote(first)
        inside = PortRef(patch.end_of(made.node), made.port)
        for other in others:
            patch.connect(inside, other)
    return [made]
