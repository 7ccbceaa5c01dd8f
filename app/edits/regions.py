"""Edits that put blocks into regions and take them out; each is one undo step of the patch."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from warploom.app.edits.nodes import carry_dots, put_into
from warploom.engine.blocktypes.block import Block
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.ops.graph import OTHERWISE
from warploom.engine.patch.changes import Connection, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.regions import branch_of, region_of, scope_text


@dataclass(frozen=True)
class NodeDrop:
    """The drop of dragged nodes; `scope` is the scope that `nodes` go into, None if they stay in their regions.

    `onto` is the connection that the only dragged node goes into, if any.
    """

    positions: dict[str, Position]
    nodes: tuple[str, ...] = ()
    scope: str | None = None
    onto: Connection | None = None


def drop(patch: Patch, dropped: NodeDrop, make_room: Callable[[str, Connection], None]) -> None:
    """Move dragged nodes to their places and into the region there. Raise PatchError when refused.

    `make_room` is called for a node that goes into a connection.
    """
    name = f"Move {plural(len(dropped.positions), 'node')}"
    if dropped.onto is not None:
        name = f"Insert {patch.title(dropped.nodes[0])}"
    if dropped.scope is not None:
        name += f" into {scope_title(patch, dropped.scope)}" if dropped.scope else " out of the region"
    with patch.edit(name):
        carry_dots(patch, dropped.positions)
        patch.move_nodes(dropped.positions)
        if dropped.scope is not None:
            patch.move_into(dropped.nodes, dropped.scope)
        if dropped.onto is not None:
            put_into(patch, dropped.nodes[0], dropped.onto)
            make_room(dropped.nodes[0], dropped.onto)


def move_refusal(patch: Patch, nodes: Sequence[str], scope: str) -> str | None:
    """Return why nodes can't be put into a scope; None if they can. This is tried on a copy of the patch."""
    try:
        patch.excerpt(patch.nodes).move_into(nodes, scope)
    except PatchError as problem:
        return str(problem)
    return None


def move_into(patch: Patch, nodes: Collection[str], scope: str) -> None:
    """Put nodes into a scope; blocks inside regions among them stay there. Raise PatchError when refused."""
    patch.move_into(outermost(patch, nodes), scope)


def take_out(patch: Patch, nodes: Collection[str]) -> None:
    """Move nodes out of their regions, into the scopes around. Raise PatchError when refused."""
    with patch.edit(f"Take {plural(len(nodes), 'node')} out of the region"):
        by_scope: dict[str, list[str]] = {}
        for node in outermost(patch, nodes):
            if patch.nodes[node].region and not patch.is_end(node):
                by_scope.setdefault(patch.nodes[node].region, []).append(node)
        for scope, members in by_scope.items():
            patch.move_into(members, patch.nodes[region_of(scope)].region)


def wrap(patch: Patch, nodes: Collection[str], block_type: type[Block], place: Callable[[str], Position]) -> str:
    """Add a region block, put nodes into it, and return its id; `place` returns the position of the new block.

    It goes into the innermost region that holds all nodes. Raise a PatchError with the reason when they can't be put
    into it.
    """
    inside = outermost(patch, nodes)
    with patch.edit(f"Wrap {plural(len(nodes), 'node')} in {block_type.title}"):
        region = patch.add(block_type.id, region=common_scope(patch, inside))
        patch.move(region, place(region.id))
        patch.move_into(inside, region)
    return region.id


def common_scope(patch: Patch, nodes: Iterable[str]) -> str:
    """Return the innermost scope that holds all of these nodes."""
    return patch.scopes.common(patch.nodes[node].region for node in nodes)


def outermost(patch: Patch, nodes: Collection[str]) -> list[str]:
    """Return the nodes that are in none of the other nodes' regions."""
    chosen, scopes = frozenset(nodes), patch.scopes
    return [
        node
        for node in nodes
        if not any(region_of(scope) in chosen for scope in scopes.chain(patch.nodes[node].region))
    ]


def scopes_to_enter(patch: Patch, nodes: Collection[str]) -> list[str]:
    """Return the scopes that nodes could be put into: every region's, except their own and those among them."""
    inside = outermost(patch, nodes)
    held, scopes = frozenset(inside), patch.scopes
    present = {patch.nodes[node].region for node in inside}
    level = patch.group_of(inside[0]) if inside else ""
    found = []
    for node in patch.nodes.values():
        block_type = patch.block_type(node.id)
        around = {node.id, *map(region_of, scopes.chain(node.region))}
        if block_type is not None and not around & held and patch.group_of(node.id) == level:
            found += [scope_text(node.id, branch) for branch in block_type.regions]
    return [scope for scope in found if present != {scope}]


def scope_title(patch: Patch, scope: str) -> str:
    """Return the title of a scope: its region block's, and the branch if the region has several."""
    region = region_of(scope)
    block_type = patch.block_type(region)
    branches = block_type.regions if block_type is not None else ()
    title = branch_title(branch_of(scope), branches)
    return patch.title(region) + (f", {title[0].lower()}{title[1:]}" if len(branches) > 1 else "")


def scope_titles(patch: Patch, scopes: Iterable[str]) -> dict[str, str]:
    """Return the title of each scope; scopes with equal titles also show the region block's id."""
    titles = {scope: scope_title(patch, scope) for scope in scopes}
    count = Counter(titles.values())
    return {scope: f"{title} ({region_of(scope)})" if count[title] > 1 else title for scope, title in titles.items()}


def branch_title(branch: str, branches: Collection[str]) -> str:
    """Return the title of one of a region's branches."""
    if OTHERWISE in branches or branch == OTHERWISE:
        return branch.capitalize() or "Then"
    return f"Branch {branch or 0}"
