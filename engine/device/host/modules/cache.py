"""Compiled kernels on disk, so that a patch starts at once the second time.

A file is named by everything that its contents depend on. It is written beside its place and moved there, carries
its own checksum, and counts as missing when it is damaged. The oldest files go when the folder grows too large.
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
    """One compiled module: object code, and what is needed to launch it.

    `code` is that of the whole module, compiled quickly, with its variables. `scratch_bytes` is the memory that each
    worker needs, by kernel; `variables` are the sizes of module variables; `lines` gives source file and line by PTX
    line where `.loc` tells them. `texts` is the LLVM text of each kernel that is still to be optimised, `optimised`
    the object code of the others. `spinning` are kernels in which thread blocks may wait for each other.
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
    """Return a digest of the translator's own source: code made by another version of it must not be used."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    translator = (here.parent / "translate").rglob("*.py")
    readers = (here.parents[2] / "ptx").rglob("*.py")
    for path in (here / "native.py", here / "cache.py", *sorted(translator), *sorted(readers)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key(ptx: str, cpu: str, features: str) -> str:
    """Return the name of a module's file."""
    parts = (ptx, translator_version(), llvmlite.__version__, cpu, features)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def load(name: str) -> CachedModule | None:
    """Return a compiled module, or None when there is no sound file of it."""
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
    """Keep a compiled module; a folder that cannot be written only costs the next start some time."""
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
    """Delete the files that were not used for longest until the folder is within its bound."""
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
