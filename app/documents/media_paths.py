"""Relative media paths when a patch moves to another folder."""

from __future__ import annotations

from pathlib import Path

from engine.patch.changes import Change, ParameterChanged
from engine.patch.document import Patch


def paths_to_keep(patch: Patch, old: Path, new: Path) -> list[Change]:
    """Return the changes that keep files found when the patch moves from folder `old` to folder `new`.

    A relative path that names a file in `old` becomes the full one, unless the same file would be found from `new`.
    """
    changes: list[Change] = []
    for node in patch.nodes.values():
        block_type = patch.block_type(node.id)
        for name, value in node.parameters.items():
            spec = block_type.parameters.get(name) if block_type else None
            if spec is None or spec.type != "path" or not isinstance(value, str) or not value:
                continue  # there is no such path
            if Path(value).is_absolute():
                continue
            file = (old / value).resolve()
            if file.is_file() and file != (new / value).resolve():
                changes.append(ParameterChanged(node.id, name, file.as_posix(), value))
    return changes
