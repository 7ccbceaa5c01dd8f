"""The folders of blocks, and the patches, that the person trusts, with their contents at that time.

The files of a trusted folder may run; a trusted patch may write files outside its folder and listen to the network.
Answers hold until the program ends, or permanently, but only for the contents that the person knows.
"""

import hashlib
import logging
import os
from enum import Enum
from pathlib import Path

import msgspec

from warploom.app.documents.gallery import find_patch
from warploom.app.documents.trust.contents import Contents, FileChange, changes, read_contents
from warploom.engine.catalogue.catalogue import configured_folder, folder_beside, trust_blocks
from warploom.engine.decoding import decode_json
from warploom.engine.diagnostics import printable
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch, write_atomically
from warploom.engine.readings import Disk

_log = logging.getLogger(__name__)
_FOLDER = "trusted"
#: Earlier versions kept a list of paths here, which says nothing about contents: the person is asked once more.
_OLD_FILE = "trusted.json"


class Trust(Enum):
    """An answer to whether the files of a folder may run, or whether a patch is trusted."""

    NO = "no"
    ONCE = "once"
    ALWAYS = "always"


class _Record(msgspec.Struct):
    """A permanent answer; the path is only for readers of the file."""

    path: str
    contents: Contents


class TrustedPaths:
    """The decisions about folders and patches; permanent ones are kept in `state_folder`, in a file for each path."""

    def __init__(self, state_folder: Path) -> None:
        self._state = state_folder
        #: The contents that are trusted until the program ends; None for what the person refused.
        self._decided: dict[Path, Contents | None] = {}
        self._disk = Disk()

    def contents(self, path: Path) -> Contents:
        """Return the present contents of a folder or file."""
        return read_contents(path.resolve(), self._disk)

    def decision(self, path: Path) -> bool | None:
        """Return whether a folder or patch is trusted; None when the person has not decided about its contents."""
        path = path.resolve()
        if path.parent == EXAMPLES_FOLDER.resolve():  # ours
            return True
        if path in self._decided and self._decided[path] is None:
            return False
        trusted = self._trusted(path)
        return True if trusted is not None and trusted.digests == self.contents(path).digests else None

    def changes(self, path: Path) -> list[FileChange]:
        """Return how a folder or patch differs from the contents that were trusted; empty if it never was."""
        trusted = self._trusted(path.resolve())
        return changes(trusted, self.contents(path)) if trusted is not None else []

    def decide(self, path: Path, answer: Trust, contents: Contents) -> None:
        """Remember an answer about contents. Raise OSError when a permanent one can't be written.

        Refused contents leave the trust in others as it is, for the next start.
        """
        path = path.resolve()
        self._decided[path] = None if answer is Trust.NO else contents
        record, always = self._record(path), self._always(path)
        if answer is Trust.NO and always is not None and always.digests != contents.digests:
            return
        if answer is Trust.ALWAYS:
            record.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(record, msgspec.json.encode(_Record(printable(str(path)), contents)))
            (self._state / _OLD_FILE).unlink(missing_ok=True)
        else:
            record.unlink(missing_ok=True)

    def follow(self, path: Path, contents: Contents) -> None:
        """Trust the newer contents of a path that is trusted, in the same way as the earlier ones.

        Raise OSError when they can't be written.
        """
        path = path.resolve()
        trusted = self._trusted(path)
        if trusted is not None and trusted.digests != contents.digests:
            self.decide(path, Trust.ALWAYS if self._record(path).is_file() else Trust.ONCE, contents)

    def _trusted(self, path: Path) -> Contents | None:
        return self._decided[path] if path in self._decided else self._always(path)

    def _record(self, path: Path) -> Path:
        return self._state / _FOLDER / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"

    def _always(self, path: Path) -> Contents | None:
        file = self._record(path)
        try:
            record = decode_json(file.read_bytes(), _Record)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as problem:
            _log.warning("%s can't be read, so %s is not trusted: %s", file, path, problem)
            return None
        return record.contents


def open_patch(path: Path, *, trust: bool) -> Patch:
    """Read a patch for a run without a window; `path` may be an example's name.

    `trust`, or an earlier answer about the same contents, makes the patch and the blocks beside it trusted. Otherwise,
    diagnostics report what is left out and how to trust it. Raise PatchError when the file is not a patch.
    """
    from platformdirs import user_state_path

    path, known = find_patch(path), TrustedPaths(user_state_path("warploom"))
    beside = folder_beside(path.resolve().parent)
    if configured_folder().is_dir():
        trust_blocks(configured_folder())  # it is always trusted; a run waits until its files are loaded
    places = [place for place in (beside, path) if place is not None]
    trusted = {place for place in places if trust or known.decision(place)}
    for place in places:
        if place not in trusted and (changed := known.changes(place)):
            _log.warning("%s is no longer trusted, since it has changed (%s)", place, "; ".join(map(str, changed)))
    if beside in trusted:
        trust_blocks(beside)
    return load_patch(path, trust=path in trusted)
