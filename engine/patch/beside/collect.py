"""Copies all files of a patch into one folder, so that it can be given away or archived."""

import filecmp
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from warploom.engine.arguments import checked
from warploom.engine.blocktypes.adaptive import AdaptiveBlock, adapted
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.found_files import MEDIA_FOLDER, files_at, found_file
from warploom.engine.catalogue.block_files import FOLDER_NAME
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import folder_beside
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.patch.beside.file_paths import move_history, paths_in
from warploom.engine.patch.changes import AnnotationChanged, Change, ParameterChanged
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_with
from warploom.engine.patch.organise.annotations import Preset

#: Folders whose files every Warploom has.
_SHIPPED = (KERNELS_FOLDER, MEDIA_FOLDER)


@dataclass
class Collected:
    """Result of `collect_files`: the new files, and the paths in the patch that name no file."""

    copies: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@checked(PatchError)
def collect_files(patch: Patch, path: Path | str) -> Collected:
    """Save the patch at `path`, and copy the files that it reads beside it.

    Files of the patch's folder keep their places in it. Others, such as pictures, and kernels with their headers, get
    relative paths too, in a folder of their own if other files have their names. The folders of blocks that the patch
    uses become `blocks`. What Warploom brings is not copied. Undo leads to the copies too. If a file can't be copied,
    raise PatchError; no file that exists is overwritten, except the patch.
    """
    before = patch.folder
    path = Path(path)
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.is_dir():  # before any file is copied
            raise PatchError(f"patch must be writable: {path}: Is a directory")
    except ValueError as problem:  # a NUL in the path
        raise PatchError(f"patch must be writable: {path}: {problem}") from problem
    copies = _Copies(patch, folder)
    made: list[Change] = []
    for node in patch.nodes.values():
        moves = copies.of_values(patch.block_type(node.id), node.parameters)
        made += [ParameterChanged(node.id, name, new, node.parameters[name]) for name, new in moves.items()]
    for preset in patch.annotations_of(Preset):
        moves = copies.of_values(patch.catalogue.get(preset.type), preset.parameters)
        new = msgspec.structs.replace(preset, parameters=preset.parameters | moves)
        made += [AnnotationChanged(preset.key, new, preset)] if moves else []
    for folder in _block_folders(patch):
        copies.add(_visible_files(folder), folder, [copies.folder / FOLDER_NAME])
    found = Collected(copies.write(), copies.missing)
    save_with(patch, path, lambda _: made)
    move_history(patch, before, copies.moved)
    return found


class _Copies:
    """Where the files of a patch go, so that one saved in `folder` finds them."""

    def __init__(self, patch: Patch, folder: Path) -> None:
        self.patch, self.folder = patch, folder
        self.missing: list[str] = []
        #: The new paths in parameters, by the old ones.
        self.moved: dict[str, str] = {}
        #: By the paths of the copies.
        self._originals: dict[Path, Path] = {}

    def of_values(self, block_type: type[Block] | None, values: Mapping[str, Any]) -> dict[str, str]:
        """Plan the copies of the files that a node reads. Return its paths that change, by parameter."""
        moves, before = {}, self.patch.folder
        read = set(_read_for_ports(block_type, values, self.patch))
        for name, value, reads in paths_in(block_type, values):
            place = Path(os.path.normpath(found_file(before, value)))
            if not reads or any(map(place.is_relative_to, _SHIPPED)):
                continue
            if not (files := files_at(place)):
                self.missing.append(value)
            elif (new := self._plan(place, read.union(files)).as_posix()) != value:
                moves[name] = self.moved[value] = new
        self.add({file for file in read if file.is_relative_to(before)}, before, [self.folder])
        return moves

    def _plan(self, place: Path, files: Collection[Path]) -> Path:
        """Plan the copies of files that must lie as they do now; return the new path of `place`."""
        top, targets = self.patch.folder, [self.folder]
        if not all(file.is_relative_to(top) for file in files):
            top = Path(os.path.commonpath([file.parent for file in files]))
            top = top if place in files else top.parent  # the files of a folder stay in a folder of its name
            targets += [self.folder / f"files_{number}" for number in range(2, 100)]
        return self.add(files, top, targets).relative_to(self.folder) / place.relative_to(top)

    def add(self, files: Collection[Path], top: Path, targets: Sequence[Path]) -> Path:
        """Plan copies of the files below `top`, at the same places below the first target where these are free."""
        for target in targets:
            planned = {target / file.relative_to(top): file for file in files}
            if all(self._is_free(*each) for each in planned.items()):
                self._originals |= planned
                return target
        raise PatchError(
            f"files of {top} must be new in {targets[0]}, got others with their names; choose another folder"
        )

    def _is_free(self, path: Path, file: Path) -> bool:
        known = self._originals.get(path, path)
        return not known.exists() or filecmp.cmp(known, file, shallow=False)

    def write(self) -> list[Path]:
        """Copy the files that are not there yet; return the copies."""
        made = []
        for path, file in sorted(self._originals.items()):
            if not path.exists():
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, path)
                except OSError as problem:
                    reason = problem.strerror or problem
                    raise PatchError(f"file must be copied, got {file} to {path}: {reason}") from problem
                made.append(path)
        return made


def _read_for_ports(block_type: type[Block] | None, values: Mapping[str, Any], patch: Patch) -> Iterator[Path]:
    """Yield the files that decide a node's ports, such as a kernel and its headers."""
    if block_type is not None and issubclass(block_type, AdaptiveBlock):
        origin = block_type.origin or block_type
        reading = adapted(origin, values, lambda: patch.folder, trusted=patch.trusted).reading
        for path in {Path(os.path.normpath(path)) for path in reading.looked_at}:
            if path.is_file() and not any(map(path.is_relative_to, _SHIPPED)):
                yield path


def _block_folders(patch: Patch) -> list[Path]:
    """Return the folder of blocks beside the patch, and those that its blocks come from."""
    types = [patch.block_type(node) for node in patch.nodes]
    files = [file for block_type in types if block_type is not None and (file := block_type.source_file())]
    used = [folder for folder in block_folders.trusted if any(file.is_relative_to(folder) for file in files)]
    beside = folder_beside(patch.folder)
    return list(dict.fromkeys([beside, *used] if beside is not None else used))


def _visible_files(folder: Path) -> list[Path]:
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        found += [Path(place, name) for name in names if not name.startswith(".")]
    return found
