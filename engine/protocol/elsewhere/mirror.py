"""`Mirror`: the files of another machine, at the engine's end."""

import hashlib
import logging
import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path

from platformdirs import user_cache_path

from warploom.engine.diagnostics import WarploomError, cut
from warploom.engine.disk_cache import DiskCache
from warploom.engine.platforms.file_locks import try_lock
from warploom.engine.protocol.elsewhere.messages import Files
from warploom.engine.readings import mirror_in

_log = logging.getLogger(__name__)
#: The most bytes of contents that are kept for later connections.
CONTENTS_BYTES = 4 << 30


class Mirror:
    """A folder that holds files of another machine, each at its path there, so that all relative paths lead to them.

    The folder is the same for the next connection of the same client, since results that are kept on disk depend on
    paths. Contents are kept by their SHA-256, so a file that the engine has had once is not sent again.
    """

    def __init__(self, client: str) -> None:
        base = user_cache_path("warploom") / "elsewhere"
        mine = base / hashlib.sha256(client.encode()).hexdigest()[:16]
        mine.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in count():  # another engine of this client may run
            self._lock = os.open(mine / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                is_mine = try_lock(self._lock)
            except OSError:
                is_mine = False
            if is_mine:
                break
            os.close(self._lock)
        self.root = (mine / str(number)).resolve()
        self.root.mkdir(mode=0o700, exist_ok=True)
        self._contents = DiskCache(bytes, base / "contents", CONTENTS_BYTES)
        self._is_first = True
        #: The digests of all files, by their paths here; below, the paths that lack their contents.
        self._present: dict[Path, bytes] = {}
        self._lacking: dict[bytes, set[Path]] = {}
        mirror_in(self.root)

    def close(self) -> None:
        """Let another engine use the folder."""
        mirror_in(None)
        os.close(self._lock)

    @property
    def is_complete(self) -> bool:
        """True when all files have their contents."""
        return not self._lacking

    def lacks(self, folder: Path) -> bool:
        """True while a file in a folder lacks its contents."""
        return any(path.is_relative_to(folder) for paths in self._lacking.values() for path in paths)

    def take(self, files: Files) -> list[bytes]:
        """Follow changes of the files; return the contents that are lacking and were not before.

        Raise WarploomError for a path that leads out of the folder.
        """
        present = {self._placed(path): digest for path, digest in files.present}
        links = {self._placed(path): self._placed(target) for path, target in files.links}
        gone = {self._placed(path) for path in files.gone}
        if self._is_first:
            kept = present.keys() | links.keys()
            gone = {
                path for path in self.root.rglob("*") if path not in kept and (path.is_symlink() or not path.is_dir())
            }
        for path in gone:
            self._present.pop(path, None)
            with suppress(OSError):
                path.unlink()
        for folder in (self._placed(files.patch).parent, *map(self._placed, files.blocks)):
            folder.mkdir(parents=True, exist_ok=True)
        for path, target in links.items():
            _make_room(path)
            path.unlink(missing_ok=True)
            path.symlink_to(target)
        self._present |= present
        before = self._lacking
        lacking: dict[bytes, set[Path]] = {}
        for path, digest in self._present.items():
            if not (path in present or any(path in paths for paths in before.values())):
                continue
            if not path.is_symlink() and path.is_file() and _digest(path.read_bytes()) == digest:
                continue  # from an earlier connection, or the patch wrote it here
            data = None if digest in before else self._contents.get(digest.hex())
            if data is None or _digest(data) != digest:
                lacking.setdefault(digest, set()).add(path)
            else:
                _write(path, data)
        self._is_first, self._lacking = False, lacking
        return [digest for digest in lacking if digest not in before]

    def add(self, data: bytes) -> None:
        """Place contents that were lacking."""
        digest = _digest(data)
        for path in self._lacking.pop(digest, ()):
            _write(path, data)
        self._contents.put(digest.hex(), data)

    def _placed(self, path: Path) -> Path:
        if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise WarploomError(f"file of another machine must have a whole path, got {cut(str(path), 300)}")
        return self.root / path.relative_to(path.anchor)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _make_room(path: Path) -> None:
    """Remove what is in the way of a file: a folder at its path, or a file where its folder will be."""
    for folder in path.parents:
        if folder.is_dir():
            break
        with suppress(FileNotFoundError):
            folder.unlink()
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)


def _write(path: Path, data: bytes) -> None:
    """Replace a file at once, so that no reader sees a part of it."""
    _make_room(path)
    part = path.with_name(f".{path.name[:100]}.part")
    part.write_bytes(data)
    part.replace(path)
