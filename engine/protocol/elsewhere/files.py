"""`FilesOfPatch`: finds the files that a patch and its blocks need, and what has changed in them."""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from warploom.engine.blocktypes.adaptive import AdaptiveBlock, adapted
from warploom.engine.blocktypes.found_files import files_at
from warploom.engine.blocktypes.parameters import given
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.diagnostics import Diagnostic, PatchError, Source, warning
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.patch.changes import Change, NodeAdded, NodeRemoved, ParameterChanged
from warploom.engine.patch.document import Patch
from warploom.engine.patch.trust import SavePlace
from warploom.engine.platforms.machine import person
from warploom.engine.protocol.elsewhere.messages import Files
from warploom.engine.protocol.messages import Edited, Message
from warploom.engine.readings import Disk, digest

#: The most files of a folder of blocks that are sent, and their most bytes.
FOLDER_FILES, FOLDER_BYTES = 10_000, 1 << 30
#: The most bytes of a file: several copies are in memory while it is sent.
MOST_BYTES = 2 << 30
#: Folders that the engine has itself, in its own Warploom.
_SHIPPED = (KERNELS_FOLDER, *(KERNELS_FOLDER.parent / name for name in ("engine", "blocks")))


@dataclass
class Found:
    """Digests of files by path, and the targets of links."""

    present: dict[Path, bytes] = field(default_factory=dict)
    links: dict[Path, Path] = field(default_factory=dict)


class FilesOfPatch:
    """The files that an engine on another machine needs to run a patch.

    - Files that parameters name, such as pictures, sounds and kernels; files that the patch may overwrite, too.
    - Files that were read for the ports of kernels, such as their headers.
    - All files in the folders of block files that the person trusts, hidden ones excepted.

    It keeps a copy of the patch, since the patch belongs to another thread. Any thread may call its methods.
    """

    def __init__(self, patch: Patch) -> None:
        self._patch = patch
        self._copy = Patch(patch.catalogue)
        self._lock = threading.Lock()
        self._messages: list[Message] = []
        self._disk = Disk()
        #: What the engine knows, and what the last look found.
        self._told = Found()
        self._looked: tuple[Found, object] = (self._told, None)
        self._number = 0
        self._told_places: object = None
        #: The files that nodes need, and whether a change may have added some.
        self._named: set[Path] = set()
        self._is_changed = True
        #: The files and folders whose problems were reported.
        self._problems: set[Path] = set()

    def follow(self, message: Message) -> None:
        """Follow a message to the engine."""
        if isinstance(message, Change | Edited):
            self._messages.append(message)

    def follow_types(self) -> None:
        """Note that block types have changed."""
        self._is_changed = True

    def look(self, number: int, *, always: bool = False) -> tuple[Files | None, list[Diagnostic]]:
        """Return what has changed since `note_sent`, as a message of this number; None if nothing has and
        not `always`.

        The second value has new problems of files and folders that are too large.
        """
        with self._lock:
            self._is_changed |= self._copy.trusted != self._patch.trusted
            self._copy.trusted = self._patch.trusted
            self._apply()
            folders = tuple(block_folders.trusted)
            path = self._patch.path.resolve() if self._patch.path is not None else Path.cwd() / "patch.loom"
            self._is_changed |= path != self._copy.path
            self._copy.path = path
            problems: list[Diagnostic] = []
            found = self._find(folders, problems)
            if found.present != self._told.present:  # a changed kernel may include other files
                self._is_changed = True
                found = self._find(folders, problems)
            places, before = (path, folders), self._told
            present = tuple(item for item in found.present.items() if before.present.get(item[0]) != item[1])
            links = tuple(item for item in found.links.items() if before.links.get(item[0]) != item[1])
            gone = (before.present.keys() | before.links.keys()) - found.present.keys() - found.links.keys()
            if not (always or present or links or gone) and places == self._told_places:
                return None, problems
            self._looked = found, places
            return Files(number, person(), path, folders, present, links, tuple(gone)), problems

    def note_sent(self) -> None:
        """Note that the result of the last look is sent."""
        with self._lock:
            self._told, self._told_places = self._looked

    def paths(self, digest: bytes) -> list[Path]:
        """Return the files that have this SHA-256."""
        return [path for path, known in tuple(self._told.present.items()) if known == digest]

    def _apply(self) -> None:
        count = len(self._messages)
        for message in self._messages[:count]:
            for change in message.changes if isinstance(message, Edited) else (message,):
                assert isinstance(change, Change)
                with suppress(PatchError):  # the engine reports it
                    self._copy.restore([change])
                self._is_changed |= _may_name_files(change)
        del self._messages[:count]

    def _find(self, folders: tuple[Path, ...], problems: list[Diagnostic]) -> Found:
        if self._is_changed:
            self._named = {path for path in self._of_nodes() if not any(map(path.is_relative_to, _SHIPPED))}
            self._is_changed = False
        found = Found()
        for path in (*sorted(self._named), *(file for folder in folders for file in self._inside(folder, problems))):
            real = Path(os.path.realpath(path))
            with suppress(OSError):
                if real.stat().st_size > MOST_BYTES:
                    text = f"file must have at most {MOST_BYTES >> 20} MiB for an engine on another machine, got {real}"
                    self._report(real, text, problems)
                    continue
            contents = self._disk.ask(digest, real)
            if isinstance(contents, bytes):
                found.present[real] = contents
                if (plain := Path(os.path.normpath(path))) != real:
                    found.links[plain] = real
        return found

    def _of_nodes(self) -> Iterator[Path]:
        folder, place = self._copy.folder, SavePlace(self._copy.folder, trusted=self._copy.trusted)
        for node in self._copy.nodes.values():
            block_type = self._copy.type_of(node)
            if block_type is None:
                continue
            for spec in block_type.parameters.values():
                with suppress(PatchError):
                    value = given(spec, node.parameters, lambda: folder) if spec.files else ""
                    if value and spec.files.startswith("open"):
                        yield from files_at(folder / value) or [folder / value]
                    # A file that is there is overwritten only if the patch wrote it, so the engine needs it too.
                    elif value and place.refusal(node.id, place.base / value) is None:
                        yield place.base / value
            if issubclass(block_type, AdaptiveBlock):
                origin, trusted = block_type.origin or block_type, self._copy.trusted
                yield from adapted(origin, node.parameters, lambda: folder, trusted=trusted).reading.looked_at

    def _inside(self, folder: Path, problems: list[Diagnostic]) -> Iterator[Path]:
        """Yield the files of a folder of blocks; a folder that is too large is reported once, and partly left out."""
        total = 0
        for number, path in enumerate(sorted(_files_in(folder))):
            with suppress(OSError):
                total += path.stat().st_size
            if number >= FOLDER_FILES or total > FOLDER_BYTES:
                text = (
                    f"folder of blocks must have at most {FOLDER_FILES} files and {FOLDER_BYTES >> 20} MiB for an "
                    f"engine on another machine, got more in {folder}; the engine gets those before {path.name}"
                )
                self._report(folder, text, problems)
                return
            yield path

    def _report(self, path: Path, text: str, problems: list[Diagnostic]) -> None:
        """Add a problem of a file or folder, if it was not reported before."""
        if path not in self._problems:
            self._problems.add(path)
            problems.append(warning(text, source=Source.ENGINE))


def _may_name_files(change: Change) -> bool:
    """Return whether other files may be needed after a change; not those of a slider, which come fast."""
    match change:
        case ParameterChanged(value=int() | float() | np.ndarray()):
            return False
    return isinstance(change, NodeAdded | NodeRemoved | ParameterChanged)


def _files_in(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        yield from (Path(place, name) for name in names if not name.startswith("."))


def sha256(data: bytes) -> bytes:
    """Return the digest by which contents travel."""
    return hashlib.sha256(data).digest()
