"""Paths in parameters, and how they follow a patch that is saved in another folder.

A relative path starts at the patch's folder. A file that a person chooses there, or in a folder below, gets one, so
that both can be moved together; any other file is stored with its full path. When the patch is saved in another folder,
a relative path changes so that it leads to the same file, such as `../shots/sky.png`; a full path stays. Files to write
stay beside the patch.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.found_files import MEDIA_FOLDER, found_file, is_there
from warploom.engine.patch.changes import AnnotationChanged, Change, NodeAdded, NodeRemoved, ParameterChanged
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
    move = partial(_moved, patch.folder, folder, is_first=patch.path is None)
    for node in patch.nodes.values():
        moves = _moves(patch.block_type(node.id), node.parameters, move)
        changes += [ParameterChanged(node.id, name, new, node.parameters[name]) for name, new in moves.items()]
    for preset in patch.annotations_of(Preset):
        if moves := _moves(patch.catalogue.get(preset.type), preset.parameters, move):
            new = msgspec.structs.replace(preset, parameters=preset.parameters | moves)
            changes.append(AnnotationChanged(preset.key, new, preset))
    return changes


def move_history(patch: Patch, before: Path, copied: Mapping[str, str] = MappingProxyType({})) -> None:
    """Change paths in the undo history of a patch that was saved elsewhere; relative ones started at `before`.

    `copied` has the new paths of files that were copied, by the old ones.
    """
    gone = {each.node.id: each.node.type for each in patch.history.changes if isinstance(each, NodeAdded | NodeRemoved)}

    def move(value: str, reads: bool) -> str:
        known = copied.get(value) if reads else None
        return known if known is not None else _moved(before, patch.folder, value, reads, is_first=False)

    def moved(change: Change) -> Change:
        match change:
            case ParameterChanged(node, name, value, previous):
                block_type = patch.block_type(node) if node in patch.nodes else patch.catalogue.get(gone.get(node, ""))
                new, old = (_moves(block_type, {name: each}, move).get(name, each) for each in (value, previous))
                return ParameterChanged(node, name, new, old)
            case NodeAdded(added) | NodeRemoved(added):
                moves = _moves(patch.catalogue.get(added.type), added.parameters, move)
                return type(change)(msgspec.structs.replace(added, parameters={**added.parameters, **moves}))
        return change

    if patch.folder != before or copied:
        patch.history.rewrite(moved)


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


def _moves(
    block_type: type[Block] | None, values: Mapping[str, Any], move: Callable[[str, bool], str]
) -> dict[str, str]:
    """Return the paths among a node's values that change, by parameter."""
    found = ((name, value, move(value, reads)) for name, value, reads in paths_in(block_type, values))
    return {name: new for name, value, new in found if new != value}


def _moved(before: Path, folder: Path, value: str, reads: bool, *, is_first: bool) -> str:
    """Return a path for a patch that moves from the folder `before` to `folder`; `is_first` if it had no file there."""
    if Path(value).is_absolute():
        return relative_to(Path(value), folder) if is_first else value
    file = found_file(before, value)
    if not reads or not is_there(file) or file.resolve() == (folder / value).resolve():
        return value
    if file.parent == MEDIA_FOLDER:
        return f"{MEDIA_FOLDER.name}/{file.name}"
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return file.as_posix()
