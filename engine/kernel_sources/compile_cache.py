"""Compiled sources kept on disk, so that opening a patch again compiles nothing."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec
from platformdirs import user_cache_dir

from engine.kernel_sources.nvrtc import CompiledSource

_log = logging.getLogger(__name__)
_DIGEST_BYTES = 32
_SUFFIX = ".compiled"
#: Bytes in each folder when it was last scanned, plus those of the entries added since.
_sizes: dict[Path, int] = {}


class CompileCache:
    """A folder of compiled sources by key, bounded in size; the least recently used entries are evicted.

    Every entry carries its checksum, so a damaged one is a miss. A folder that cannot be written is logged and makes
    every lookup a miss; kernels still compile.
    """

    def __init__(self, folder: Path | None = None, limit_bytes: int = 256 << 20) -> None:
        self.folder = folder or Path(user_cache_dir("warploom")) / "nvrtc"
        self.limit_bytes = limit_bytes

    def get(self, key: str) -> CompiledSource | None:
        """Return what was stored under `key`, or None."""
        path = self.folder / (key + _SUFFIX)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            _log.warning("cached compile %s is damaged and is made again", path.name)
            return None
        try:
            entry = msgspec.msgpack.decode(body, type=CompiledSource)
        except msgspec.DecodeError:  # written by another version
            return None
        with contextlib.suppress(OSError):  # the time stamp only decides what is evicted first
            os.utime(path)
        return entry

    def put(self, key: str, compiled: CompiledSource) -> None:
        """Store one result atomically."""
        body = msgspec.msgpack.encode(compiled)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(body).digest() + body)
                size_bytes = Path(name).stat().st_size
                Path(name).replace(self.folder / (key + _SUFFIX))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._count(size_bytes)
        except OSError as reason:
            _log.warning("compile cache %s cannot be written: %s", self.folder, reason)

    def _count(self, size_bytes: int) -> None:
        """Count a new entry; scan the folder, which may hold thousands, only when it may be too large."""
        known = _sizes.get(self.folder)
        if known is None or known + size_bytes > self.limit_bytes:
            _sizes[self.folder] = self._trim()
        else:
            _sizes[self.folder] = known + size_bytes

    def _trim(self) -> int:
        """Evict entries until the folder fits; return the bytes that are left."""
        entries = []
        for path in self.folder.glob("*" + _SUFFIX):
            with contextlib.suppress(FileNotFoundError):  # another process trims too
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.limit_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total


def cache_key(parts: Iterable[str | bytes]) -> str:
    """Return a hash of the parts; lengths are included, so that moving text between parts changes it."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
