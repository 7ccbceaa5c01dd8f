"""Compiled kernels on disk, so that a patch starts at once the second time.

A file's name is a digest of everything that its contents depend on. It is written under another name and moved into
place, has a checksum, and counts as missing when it is damaged. When the folder grows too large, the files that were
not used for longest are deleted.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import tempfile
import zlib
from pathlib import Path

import llvmlite
import msgspec
import platformdirs

from engine.ptx.tree import KernelSignature

MAX_BYTES = 256 << 20
_LOG = logging.getLogger(__name__)


class CachedModule(msgspec.Struct, frozen=True):
    """A compiled module: object code, and what a launch needs.

    `code` is the whole module, compiled quickly, with its variables. For each kernel, `scratch_bytes` is the memory
    that a worker needs, and either `texts` has the LLVM text that is not optimised yet, or `optimised` the object
    code. `variables` are the sizes of module variables; `lines` are source file and line by PTX line, from `.loc`;
    `spinning` names the kernels whose thread blocks may wait for each other.
    """

    code: bytes
    signatures: dict[str, KernelSignature]
    scratch_bytes: dict[str, int]
    variables: dict[str, int]
    lines: dict[int, tuple[str, int]]
    texts: dict[str, str] = {}
    optimised: dict[str, bytes] = {}
    spinning: list[str] = []


def folder() -> Path:
    """Return the folder of compiled kernels."""
    return Path(platformdirs.user_cache_dir("warploom")) / "host-kernels"


@functools.cache
def translator_version() -> str:
    """Return a digest of the translator's source: another version of it may make other code."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    translator = [path for suffix in ("py", "ll") for path in (here.parent / "translate").rglob(f"*.{suffix}")]
    readers = (here.parents[2] / "ptx").rglob("*.py")
    for path in (here / "native.py", here / "cache.py", *sorted(translator), *sorted(readers)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key(ptx: str, cpu: str, features: str) -> str:
    """Return the name of the file for a module."""
    parts = (ptx, translator_version(), llvmlite.__version__, cpu, features)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def load(name: str) -> CachedModule | None:
    """Return a compiled module, or None when its file is missing or damaged."""
    path = folder() / name
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = data[4:]
    if zlib.crc32(body).to_bytes(4, "little") != data[:4]:
        return None
    try:
        entry = msgspec.msgpack.decode(body, type=CachedModule)
    except msgspec.MsgspecError:
        return None
    try:
        os.utime(path)
    except OSError:
        _LOG.debug("%s is read-only: its age stays", path)
    return entry


def store(name: str, entry: CachedModule) -> None:
    """Write a compiled module; when that fails, it is compiled again at the next start."""
    body = msgspec.msgpack.encode(entry)
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder(), delete=False, prefix=".new-") as file:
            file.write(zlib.crc32(body).to_bytes(4, "little") + body)
        Path(file.name).replace(folder() / name)
        _limit()
    except OSError as reason:
        _LOG.warning("compiled kernels are not kept: %s", reason)


def _limit() -> None:
    """Delete the files that were not used for longest until the folder is small enough."""
    files = []
    for path in folder().iterdir():
        try:
            status = path.stat()
        except FileNotFoundError:  # another process has just deleted it
            continue
        files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MAX_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
