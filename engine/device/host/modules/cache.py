"""Compiled kernels on disk, with which a patch starts quickly the second time.

A file's name is a digest of everything that its contents depend on.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import llvmlite
import msgspec
import platformdirs

from warploom.engine import host_compiler, ptx
from warploom.engine.diagnostics import KernelError, TranslatorBug
from warploom.engine.disk_cache import DiskCache, cache_key
from warploom.engine.ptx.tree import KernelSignature

MAX_BYTES = 256 << 20


class KernelRefusal(msgspec.Struct, frozen=True):
    """The reason why a kernel can't run, with the line of the PTX; with `is_bug`, the translator is at fault."""

    message: str
    line: int | None
    is_bug: bool

    @classmethod
    def of(cls, problem: KernelError) -> KernelRefusal:
        """Return an error in the form that is stored."""
        return cls(str(problem), problem.line, isinstance(problem, TranslatorBug))

    def error(self) -> KernelError:
        """Return the error."""
        return (TranslatorBug if self.is_bug else KernelError)(self.message, line=self.line)


class CachedModule(msgspec.Struct, frozen=True):
    """A compiled module: object code, and the facts needed for a launch.

    `code` is the whole module, compiled quickly, with its variables. `functions` is the code of functions that it calls
    and that other modules share. `scratch_bytes` is the memory that a worker needs for each kernel. `variables` are the
    sizes of module variables. `lines` has source file and line by PTX line, from `.loc`. `spinning` names kernels whose
    thread blocks may wait for each other, and `refused` kernels that can't run.
    """

    code: bytes
    signatures: dict[str, KernelSignature]
    scratch_bytes: dict[str, int]
    variables: dict[str, int]
    lines: dict[int, tuple[str, int]]
    spinning: list[str] = []
    functions: list[bytes] = []
    refused: dict[str, KernelRefusal] = {}


class CachedKernel(msgspec.Struct, frozen=True):
    """The optimised object code of a kernel, and the memory that a worker needs for it.

    `launches` are the argument blocks for which it was optimised, the latest last.
    """

    code: bytes
    scratch_bytes: int
    launches: list[bytes]


def folder() -> Path:
    """Return the folder of compiled kernels."""
    return Path(platformdirs.user_cache_dir("warploom")) / "host-kernels"


@functools.cache
def translator_version() -> str:
    """Return a digest of the translator's source, since another version may generate other code."""
    here, digest = Path(__file__).parent, hashlib.sha256()
    rooms = [Path(room.__path__[0]) for room in (host_compiler, ptx)]
    sources = [path for room in rooms for suffix in ("py", "ll") for path in sorted(room.rglob(f"*.{suffix}"))]
    for path in (here / "native.py", here / "cache.py", *sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key(text: str, cpu: str, features: str) -> str:
    """Return the name of the file for a module as PTX, or for functions as LLVM text."""
    return cache_key((text, translator_version(), llvmlite.__version__, cpu, features))


def load(name: str) -> CachedModule | None:
    """Return a compiled module; None when its file is missing or damaged."""
    return DiskCache(CachedModule, folder(), MAX_BYTES).get(name)


def store(name: str, entry: CachedModule) -> None:
    """Write a compiled module. If that fails, it is compiled again at the next start."""
    DiskCache(CachedModule, folder(), MAX_BYTES).put(name, entry)


def load_kernel(module: str, kernel: str) -> CachedKernel | None:
    """Return the optimised code of a kernel of a module; None when its file is missing or damaged."""
    return DiskCache(CachedKernel, folder(), MAX_BYTES).get(cache_key((module, kernel)))


def store_kernel(module: str, kernel: str, entry: CachedKernel) -> None:
    """Write the optimised code of a kernel, in a file of its own: several processes may optimise a module's kernels."""
    DiskCache(CachedKernel, folder(), MAX_BYTES).put(cache_key((module, kernel)), entry)


def load_code(name: str) -> bytes | None:
    """Return the object code of functions; None when its file is missing or damaged."""
    return DiskCache(bytes, folder(), MAX_BYTES).get(name)


def store_code(name: str, code: bytes) -> None:
    """Write the object code of functions, which many modules call."""
    DiskCache(bytes, folder(), MAX_BYTES).put(name, code)
