"""Large arrays of a patch in NPY files beside it, so that a diff of the patch shows what changed.

A value ``{"npy": "NAME.DIGEST.npy", "dtype": "<f4", "shape": [1024]}`` names a file in the patch's folder. NAME is that
of the patch when it was saved, and DIGEST belongs to the contents, so an array that changes gets another file. Files of
pins have such names too.
"""

import hashlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.types import Array

#: An array of more bytes gets a file.
MOST_INLINE_BYTES = 4096
_FILE = re.compile(r"[^/\\\0]+\.[0-9a-f]{16}\.npy")
_DTYPE = re.compile(r"[<>|=]?([iuf]\d|b1|c8|c16)")


class ArrayFiles:
    """Collects the files of a patch that is saved. `files` are their contents by name."""

    def __init__(self, patch_name: str, dump_value: Callable[[Any], Any]) -> None:
        self.files: dict[str, bytes] = {}
        self._stem, self._dump_value = patch_name, dump_value

    def dump(self, value: Any) -> Any:
        """Return a parameter's value as JSON; a large array names its file."""
        if not isinstance(value, np.ndarray) or value.nbytes <= MOST_INLINE_BYTES:
            return self._dump_value(value)
        name, contents = as_file(self._stem, value)
        self.files[name] = contents
        return {"npy": name, "dtype": value.dtype.str, "shape": list(value.shape)}

    def missing_in(self, folder: Path) -> dict[Path, bytes]:
        """Return the files that a folder doesn't hold yet, by their paths."""
        paths = {folder / name: contents for name, contents in self.files.items()}
        return {path: data for path, data in paths.items() if not path.is_file() or path.read_bytes() != data}


def load_array(value: dict[str, Any], folder: Path | None, where: str) -> Array:
    """Return the array of a value that names its file in a folder. Raise PatchError with the place and the remedy."""
    name = value["npy"]
    if not is_file_name(name):
        raise PatchError(f"{where}: file of an array must be NAME.DIGEST.npy, got {shown(name)}")
    if folder is None:
        raise PatchError(f"{where}: array must be in the text, got one in the file {name} beside a patch")
    path = folder / name
    try:
        contents = path.read_bytes()
    except OSError as problem:
        reason = problem.strerror or problem
        raise PatchError(
            f"{where}: array must be in the file {path}, got: {reason}; copy it there from beside the original patch"
        ) from problem
    if not is_as_written(name, contents):
        raise PatchError(f"{where}: file {path} must be as it was written, got other contents; copy the original there")
    try:
        array: Array = np.load(io.BytesIO(contents), allow_pickle=False)
        if not _DTYPE.fullmatch(array.dtype.str):
            raise ValueError(f"elements of type {array.dtype}")
    except (ValueError, EOFError) as problem:
        raise PatchError(f"{where}: file {path} must hold an array of numbers, got: {problem}") from problem
    return array


def as_file(stem: str, array: Array) -> tuple[str, bytes]:
    """Return the name and the contents of an array's file."""
    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    contents = data.getvalue()
    return f"{stem[:150]}.{_digest(contents)}.npy", contents


def is_file_name(name: object) -> bool:
    """Return whether a file of an array may have this name."""
    return isinstance(name, str) and _FILE.fullmatch(name) is not None


def is_as_written(name: str, contents: bytes) -> bool:
    """Return whether the digest in a file's name is that of its contents."""
    return name.endswith(f".{_digest(contents)}.npy")


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()[:16]
