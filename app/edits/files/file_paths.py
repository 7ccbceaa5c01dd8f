"""Paths in parameters. Files beside the patch have relative paths, so that both can be moved together."""

from pathlib import Path

from warploom.engine.patch.changes import Change, ParameterChanged
from warploom.engine.patch.document import Patch


def relative_to(path: Path, folder: Path | None) -> str:
    """Return `path` relative to `folder` if it lies inside, otherwise in full; always with forward slashes."""
    if folder is not None and path.resolve().is_relative_to(folder.resolve()):
        return path.resolve().relative_to(folder.resolve()).as_posix()
    return path.as_posix()


def moved_paths(patch: Patch, folder: Path) -> list[Change]:
    """Return the changes that keep files reachable when the patch is saved in `folder`.

    A relative path changes if its file would not be found from there. A full path changes only at the first save, since
    there was no folder before.
    """
    changes: list[Change] = []
    for node in patch.nodes.values():
        block_type = patch.block_type(node.id)
        for name, value in node.parameters.items():
            spec = block_type.parameters.get(name) if block_type else None
            if spec is None or spec.type != "path" or not isinstance(value, str):
                continue
            file = patch.folder / value
            if Path(value).is_absolute():
                moves = patch.path is None
            else:
                found = file.parent if set("#*") & set(file.name) else file  # a pattern of numbered files
                moves = found.exists() and file.resolve() != (folder / value).resolve()
            if moves and (moved := relative_to(file, folder)) != value:
                changes.append(ParameterChanged(node.id, name, moved, value))
    return changes
