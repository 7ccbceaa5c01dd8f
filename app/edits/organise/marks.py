"""Edits of what people note on blocks: title, comment and colour. Each is one undo step of the patch."""

from collections.abc import Callable, Collection, Sequence

from warploom.app.edits.organise.frames import change_frames
from warploom.engine.patch.document import Patch


def marks_of(patch: Patch, nodes: Sequence[str]) -> dict[str, str | None]:
    """Return the comment and the colour that nodes have in common, None if they differ; of one node also the title."""
    held = [patch.nodes[node] for node in nodes]
    comments, colours = {node.comment for node in held}, {node.colour for node in held}
    shown = {
        "comment": held[0].comment if len(comments) == 1 else None,
        "colour": held[0].colour if len(colours) == 1 else None,
    }
    return {"title": held[0].title, **shown} if len(held) == 1 else shown


def mark(
    patch: Patch,
    nodes: Collection[str],
    rename: Callable[[str, str], object],
    comment: Callable[[Collection[str], str], object],
    fields: dict[str, str],
) -> None:
    """Give nodes a title (by `rename`), a comment (by `comment`) or a colour. Raise PatchError for a wrong one."""
    nodes = [node for node in nodes if node in patch.nodes]  # another edit may have removed some
    if not nodes or not fields:
        return
    what = patch.title(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} blocks"
    with patch.edit(f"Change {' and '.join(fields)} of {what}"):
        if "title" in fields:
            rename(nodes[0], fields["title"].strip())
        if "comment" in fields:
            comment(nodes, fields["comment"].strip())
        if "colour" in fields:
            patch.set_colour(nodes, fields["colour"])


def colour(patch: Patch, nodes: Collection[str], frames: Collection[str], name: str) -> None:
    """Give nodes and frames a colour; "" restores that of the nodes' categories."""
    if not nodes:
        if name and frames:
            change_frames(patch, frames, colour=name)
        return
    with patch.edit(f"Colour {patch.title(next(iter(nodes))) if len(nodes) == 1 else f'{len(nodes)} blocks'}"):
        patch.set_colour(nodes, name)
        if name and frames:
            change_frames(patch, frames, colour=name)
