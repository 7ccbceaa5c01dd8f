"""The folders of blocks, and the patches, that the person trusts. Answers hold until the program ends, or permanently.

The files of a trusted folder may run; a trusted patch may write files outside its folder and listen to the network.
"""

import logging
from enum import Enum
from pathlib import Path

import msgspec

from app.documents.gallery import find_patch
from engine.catalogue.catalogue import configured_folder, folder_beside, trust_blocks
from engine.patch.document import Patch
from engine.patch.files import load_patch, write_atomically

_log = logging.getLogger(__name__)
_FILE = "trusted.json"


class Trust(Enum):
    """An answer to whether the files of a folder may run, or whether a patch is trusted."""

    NO = "no"
    ONCE = "once"
    ALWAYS = "always"


class TrustedPaths:
    """The decisions about folders and patches, by path; permanent ones are kept in `state_folder`."""

    def __init__(self, state_folder: Path) -> None:
        self._file = state_folder / _FILE
        self._decided: dict[Path, bool] = {}

    def decision(self, path: Path) -> bool | None:
        """Return whether a folder or patch is trusted; None when the person has not decided yet."""
        path = path.resolve()
        return True if str(path) in self._always() else self._decided.get(path)

    def decide(self, path: Path, answer: Trust) -> None:
        """Remember an answer. Raise OSError when a permanent one can't be written."""
        path = path.resolve()
        self._decided[path] = answer is not Trust.NO
        always = [name for name in self._always() if name != str(path)]
        if answer is Trust.ALWAYS:
            always.append(str(path))
        if always != self._always():
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, msgspec.json.encode(always))

    def _always(self) -> list[str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=list[str])
        except FileNotFoundError:  # nothing was trusted yet
            return []
        except (OSError, msgspec.DecodeError) as problem:
            _log.warning("%s can't be read, so nothing is trusted: %s", self._file, problem)
            return []


def open_patch(path: Path, *, trust: bool) -> Patch:
    """Read a patch for a run without a window; `path` may be an example's name.

    `trust`, or an earlier answer, makes the patch and the blocks beside it trusted. Otherwise, diagnostics report what
    is left out and how to trust it. Raise PatchError when the file is not a patch.
    """
    from platformdirs import user_state_path

    path, known = find_patch(path), TrustedPaths(user_state_path("warploom"))
    beside = folder_beside(path.resolve().parent)
    if configured_folder().is_dir():
        trust_blocks(configured_folder())  # it is always trusted; a run waits until its files are loaded
    if beside is not None and (trust or known.decision(beside)):
        trust_blocks(beside)
    return load_patch(path, trust=trust or bool(known.decision(path)))
