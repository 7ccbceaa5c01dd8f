"""Results kept on disk, so that opening a patch again compiles nothing."""

import contextlib
import hashlib
import logging
import os
import tempfile
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from warploom.engine.decoding import decode_msgpack

_log = logging.getLogger(__name__)
_CHECKSUM_BYTES = 4
#: Bytes in each folder when it was last scanned, plus those of the entries added since; a folder that is being scanned
#: counts as empty.
_sizes: dict[Path, int] = {}
#: Folders that were reported as not writable.
_unwritable: set[Path] = set()

Cached = TypeVar("Cached")


class DiskCache(Generic[Cached]):
    """A folder of results of one type by key, bounded in size; the least recently used entries are evicted.

    Every entry carries its checksum, so a damaged one is a miss, as is one of another version. A folder that cannot be
    written is logged. Several processes may use it at once.
    """

    def __init__(self, kind: type[Cached], folder: Path, limit_bytes: int = 256 << 20) -> None:
        self._kind = kind
        self.folder = folder
        self.limit_bytes = limit_bytes

    def get(self, key: str) -> Cached | None:
        """Return the data stored under `key`, or None."""
        path = self.folder / key
        try:
            data = path.read_bytes()
        except OSError:
            return None
        body = data[_CHECKSUM_BYTES:]
        if _checksum(body) != data[:_CHECKSUM_BYTES]:
            _log.warning("cached result %s is damaged and is made again", path)
            return None
        try:
            entry = decode_msgpack(body, self._kind)
        except msgspec.MsgspecError:
            _log.debug("cached result %s is of another version and is made again", path)
            return None
        with contextlib.suppress(OSError):  # the time stamp only decides what is evicted first
            os.utime(path)
        return entry

    def put(self, key: str, entry: Cached) -> None:
        """Store one result atomically."""
        body = msgspec.msgpack.encode(entry)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_checksum(body) + body)
                Path(name).replace(self.folder / key)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._count(_CHECKSUM_BYTES + len(body))
        except OSError as reason:
            level = logging.DEBUG if self.folder in _unwritable else logging.WARNING  # warn only once
            _unwritable.add(self.folder)
            _log.log(level, "cache %s cannot be written, so results are made anew: %s", self.folder, reason)

    def _count(self, size_bytes: int) -> None:
        """Count a new entry, and have another thread trim a folder that may be too large: it may hold thousands."""
        known = _sizes.get(self.folder, self.limit_bytes)
        if known + size_bytes <= self.limit_bytes:
            _sizes[self.folder] = known + size_bytes
        else:
            _sizes[self.folder] = 0
            threading.Thread(target=self.trim, name="warploom-disk-cache", daemon=True).start()

    def trim(self) -> None:
        """If the folder is larger than its limit, evict the oldest entries until it has three quarters of that size."""
        entries = []
        for path in self._paths():
            with contextlib.suppress(FileNotFoundError):  # another process trims too
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        target = total if total <= self.limit_bytes else self.limit_bytes * 3 // 4
        for _, size, path in sorted(entries):
            if total <= target:
                break
            path.unlink(missing_ok=True)
            total -= size
        _sizes[self.folder] = _sizes.get(self.folder, 0) + total

    def _paths(self) -> list[Path]:
        try:
            return list(self.folder.iterdir())
        except OSError:  # somebody has deleted the folder
            return []


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "little")


def cache_key(parts: Iterable[str | bytes]) -> str:
    """Return a hash of the parts; lengths are included, so that moving text between parts changes it."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
