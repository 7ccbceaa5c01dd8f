"""A region's face: what the canvas shows of a region block's box, as plain data made from the patch."""

from __future__ import annotations

from dataclasses import dataclass

from engine.patch.document import Patch


@dataclass(frozen=True)
class RegionFace:
    """A box as it is drawn. `kind` is the region block's type, `kind_title` what the catalogue calls it.

    `branches` are those that the block type declares: none for a type that is not in the catalogue, whose box shows
    the branches that blocks lie in.
    """

    title: str
    kind: str
    kind_title: str
    branches: tuple[str, ...]


def region_face(patch: Patch, node_id: str) -> RegionFace | None:
    """Return the face of a region block's box, or None for a block that can hold no others."""
    block_type = patch.block_type(node_id)
    kind = patch.nodes[node_id].type
    if block_type is None:
        return RegionFace(patch.title(node_id), kind, "", ())
    if not block_type.regions:
        return None
    return RegionFace(patch.title(node_id), kind, block_type.title, block_type.regions)


def branch_title(branch: str) -> str:
    """Return what a branch of a region with two is called."""
    return branch.capitalize() if branch else "Then"
