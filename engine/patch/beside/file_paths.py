"""Paths in parameters, and how they follow a patch that is saved in another folder.

A relative path starts at the patch's folder. A file that a person chooses there, or in a folder below, gets one, so
that both can be moved together; any other file is stored with its full path. When the patch is saved in another folder,
a relative path changes so that it leads to the same file, such as `../shots/sky.png`; a full path stays. Files to write
stay beside the patch.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.found_files import MEDIA_FOLDER, found_file, is_there
from warploom.engine.patch.changes import AnnotationChanged, Change, ParameterChanged
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Preset
from warploom.engine.patch.organise.pins import Pin


def relative_to(path: Path, folder: Path | None) -> str:
    """Return `path` relative to `folder` if it lies inside, otherwise in full; always with forward slashes."""
    if folder is not None and path.resolve().is_relative_to(folder.resolve()):
        return path.resolve().relative_to(folder.resolve()).as_posix()
    return path.as_posix()


def moved_paths(patch: Patch, folder: Path) -> list[Change]:
    """Return the changes of parameters and presets that keep files reachable when the patch is saved in `folder`."""
    changes: list[Change] = []
    for node in patch.nodes.values():
        for name, value, reads in paths_in(patch.block_type(node.id), node.parameters):
            if (moved := _moved(patch, value, folder, reads)) != value:
                changes.append(ParameterChanged(node.id, name, moved, value))
    for preset in patch.annotations_of(Preset):
        found = paths_in(patch.catalogue.get(preset.type), preset.parameters)
        moves = {name: _moved(patch, value, folder, reads) for name, value, reads in found}
        new = msgspec.structs.replace(preset, parameters=preset.parameters | moves)
        if new != preset:
            changes.append(AnnotationChanged(preset.key, new, preset))
    return changes


def pin_files(patch: Patch, folder: Path) -> dict[Path, bytes]:
    """Return the contents of the files of pins that a folder lacks, by their paths there."""
    names = {pin.file for pin in patch.annotations_of(Pin) if pin.file and not (folder / pin.file).exists()}
    return {folder / name: (patch.folder / name).read_bytes() for name in names if (patch.folder / name).is_file()}


def paths_in(block_type: type[Block] | None, values: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield the paths among a node's values: the parameter's name, the path, and whether its file is read."""
    for name, value in values.items():
        spec = block_type.parameters.get(name) if block_type else None
        if spec is not None and spec.type == "path" and isinstance(value, str) and value:
            yield name, value, not spec.files.startswith("save")


def _moved(patch: Patch, value: str, folder: Path, reads: bool) -> str:
    """Return a path for the patch in `folder`."""
    if Path(value).is_absolute():
        return relative_to(Path(value), folder) if patch.path is None else value  # it had no folder before
    file = found_file(patch.folder, value)
    if not reads or not is_there(file) or file.resolve() == (folder / value).resolve():
        return value
    if file.parent == MEDIA_FOLDER:
        return f"{MEDIA_FOLDER.name}/{file.name}"
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return file.as_posix()
