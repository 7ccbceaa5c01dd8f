"""Edits of bookmarks: parts of the canvas to return to. Each is one undo step of the patch."""

from msgspec.structs import replace

from warploom.engine.patch.changes import Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Bookmark


def bookmark(patch: Patch, number: int) -> Bookmark | None:
    """Return the bookmark with a number, or None."""
    found = patch.annotations.get(f"bookmark {number}")
    return found if isinstance(found, Bookmark) else None


def set_bookmark(patch: Patch, number: int, centre: Position, zoom: float, group: str) -> None:
    """Set a bookmark to a part of the canvas; a title that it had stays."""
    known = bookmark(patch, number)
    title = known.title if known is not None else ""
    made = Bookmark(number=number, title=title, centre=centre, zoom=zoom, group=group)
    patch.annotate(made, f"Set bookmark {number}")


def rename_bookmark(patch: Patch, number: int, title: str) -> None:
    """Give a bookmark a title. Raise PatchError if it is too long."""
    known = bookmark(patch, number)
    if known is not None:
        patch.annotate(replace(known, title=title.strip()), f"Rename bookmark {number}")


def bookmark_title(found: Bookmark) -> str:
    """Return a bookmark's title, or a text in its place."""
    return found.title or f"Bookmark {found.number}"
