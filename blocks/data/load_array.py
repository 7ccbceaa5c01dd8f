import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.api import Block, BlockBuilder, Out, any_type, param, port, read_bytes
from engine.diagnostics import Incomplete, PatchError, cut

#: The number of read arrays that are kept, so that editing a patch does not read their files again.
CACHED_ARRAYS = 4


class LoadArray(Block, id="data.load_array", tags=("numpy", "npy", "npz", "file", "open", "input")):
    """Loads an array from a file of numpy.

    Reads NPY, and one member of an NPZ archive. The output has the array's element type and shape. A relative path
    starts at the patch file's folder. Another array of the same type and shape is loaded without a rebuild.
    """

    out: Out[any_type] = port(shape="data", dtype="data", doc="The array.")
    file: Path = param("", files="open array", doc="The file; a relative path starts at the patch's folder.")
    member: str = param("", doc="Name of an array in an NPZ archive; empty for the only one.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name an array")
        build.provide(self.out, load_array(Path(self.file), self.member))


def load_array(path: Path, member: str = "") -> np.ndarray[Any, Any]:
    """Return the array in an NPY file, or an array in an NPZ archive, read-only, in the byte order of the machine.

    A PatchError names the file when it can't be read.
    """
    try:
        return _decode(read_bytes(path), member)
    except FileNotFoundError:
        raise PatchError(f"array file must exist, got {path}; choose another file, or put it there") from None
    except (OSError, ValueError, MemoryError, EOFError, SyntaxError) as problem:
        reason = cut(str(problem).split("\n")[0] or "more than memory holds", 300)
        raise PatchError(f"array file {path} must be a readable array of numbers, got: {reason}") from problem


# Cached by contents, so that a file is read again only if these have changed.
@lru_cache(CACHED_ARRAYS)
def _decode(held: bytes, member: str) -> np.ndarray[Any, Any]:
    if held[:6] != b"\x93NUMPY" and held[:2] != b"PK":
        raise ValueError("no NPY or NPZ file")
    loaded = np.load(io.BytesIO(held), allow_pickle=False)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        with loaded as archive:
            names = archive.files
            if member not in names and not (len(names) == 1 and not member):
                raise ValueError(f"no member {member!r}; there are {', '.join(names) or 'none'}")
            array = archive[member or names[0]]
    elif member:
        raise ValueError(f"one array, which has no member {member!r}")
    else:
        array = loaded
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    array.flags.writeable = False
    return array
