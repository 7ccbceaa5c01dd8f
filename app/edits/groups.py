"""Edits that group blocks and dissolve groups, and of the ports of groups; each is one undo step of the patch."""

from collections.abc import Callable, Collection

from warploom.app.edits.nodes import parameter_label, snapped, uncover
from warploom.app.edits.regions import outermost
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.patch.changes import PortRef, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.functions import free_function, function_of, instances
from warploom.engine.patch.groups.types import FUNCTION
from warploom.engine.patch.inner_patch import InnerPatch


def group(patch: Patch, nodes: Collection[str], size: Callable[[str], tuple[float, float]]) -> str:
    """Put nodes into a new group, and return its node, which covers no other; `size` returns the size of a node.

    Raise PatchError with the reason when the nodes can't be grouped.
    """
    if isinstance(patch, InnerPatch):
        raise PatchError(f"group must hold blocks, got {patch.holds}; group blocks of the patch around it")
    with patch.edit(f"Group {plural(len(outermost(patch, nodes)), 'node')}"):
        made = patch.group(nodes)
        patch.move(made, snapped(*patch.nodes[made.id].position))
        uncover(patch, [made.id], size)
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
    with patch.edit(f"Promote {parameter_label(first.port)}"):
        made = patch.promote(first)
        inside = PortRef(patch.end_of(made.node), made.port)
        for other in others:
            patch.connect(inside, other)
    return [made]


def make_function(patch: Patch, nodes: Collection[str]) -> None:
    """Make the groups among nodes functions, whose copies change together with them."""
    groups = [node for node in nodes if patch.is_group(node) and not function_of(patch.nodes[node])]
    with patch.edit(f"Make {plural(len(groups), 'function')}"):
        for node in groups:
            patch.set(node, function=free_function(patch.title(node), instances(patch)))


def duplicate_linked(
    patch: Patch, nodes: Collection[str], offset: Position, size: Callable[[str], tuple[float, float]]
) -> list[str]:
    """Add copies of the groups among nodes that change together with them, and return the copies; they cover none."""
    groups = [node for node in nodes if patch.is_group(node)]
    with patch.edit(f"Duplicate {plural(len(groups), 'group')} linked"):
        make_function(patch, groups)
        copies = [
            patch.insert(patch.excerpt([node]), offset=offset, region=patch.nodes[node].region)[node] for node in groups
        ]
        if copies:
            uncover(patch, copies, size)
        return copies


def make_unique(patch: Patch, nodes: Collection[str]) -> None:
    """Detach groups from their functions: they change alone from now on."""
    linked = [node for node in nodes if function_of(patch.nodes[node])]
    with patch.edit(f"Make {plural(len(linked), 'group')} unique"):
        for node in linked:
            patch.rename(node, patch.nodes[node].title or function_of(patch.nodes[node]))
            patch.reset(node, FUNCTION)
