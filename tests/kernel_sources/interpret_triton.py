"""Runs a kernel of a file with Triton's own interpreter, in its own process: `python interpret_triton.py REQUEST`.

The request is a pickled file with `file`, `kernel`, `grid`, `arguments` and `constants`; the arguments after the run
replace it.
"""

import importlib.util
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np


class Tensor:
    """The parts of a torch tensor that the interpreter uses, over numpy memory."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    @property
    def dtype(self) -> str:
        return str(self.array.dtype)

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def untyped_storage(self) -> "Tensor":
        return self

    cpu = untyped_storage

    def new_empty(self, size: int, device: str) -> "Tensor":
        return Tensor(np.empty(size, self.array.dtype))

    def set_(self, storage: "Tensor", *_: object) -> None:
        self.array = storage.array

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return self.array.strides

    def copy_(self, other: "Tensor") -> None:
        self.array[...] = other.array


def main() -> None:
    """Run the request."""
    place = Path(sys.argv[1])
    request = pickle.loads(place.read_bytes())
    sys.path.insert(0, str(Path(request["file"]).parent))
    spec = importlib.util.spec_from_file_location("kernels", request["file"])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = [Tensor(item) if isinstance(item, np.ndarray) else item for item in request["arguments"]]
    getattr(module, request["kernel"])[request["grid"]](*arguments, **request["constants"])
    place.write_bytes(pickle.dumps([item.array if isinstance(item, Tensor) else item for item in arguments]))


if __name__ == "__main__":
    os.environ["TRITON_INTERPRET"] = "1"
    main()
