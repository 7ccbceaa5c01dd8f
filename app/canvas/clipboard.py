"""Nodes as text and back: the clipboard holds a small patch file, so it works between windows and in a text editor."""

from __future__ import annotations

from collections.abc import Collection

from engine.diagnostics import PatchError
from engine.patch.changes import Position
from engine.patch.document import Patch
from engine.patch.files import dump_patch, parse_patch
from engine.patch.regions import TOP


def copied(patch: Patch, node_ids: Collection[str]) -> str:
    """Return some nodes and the connections between them as the text of a patch file."""
    return dump_patch(patch.excerpt(node_ids))


def paste(patch: Patch, text: str, at: Position | None = None, name: str = "Paste", scope: str = TOP) -> list[str]:
    """Add the nodes in `text` to a scope of the patch and return their ids, as one undo step.

    Their top left corner goes to `at`, or 24 right and below of where it was. PatchError when `text` is no patch.
    """
    part = parse_patch(text, "clipboard", patch.catalogue)
    if not part.nodes:
        raise PatchError("clipboard must hold nodes, got none")
    left = min(node.position[0] for node in part.nodes.values())
    top = min(node.position[1] for node in part.nodes.values())
    dx, dy = (at[0] - left, at[1] - top) if at else (24.0, 24.0)
    return list(patch.insert(part, offset=(dx, dy), name=name, region=scope).values())
