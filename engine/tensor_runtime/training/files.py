"""Files of weights, quantised or not."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.patch.files import write_atomically
from warploom.engine.tensor_ir.errors import InvalidOperation, TensorError
from warploom.engine.tensor_ir.types import real_number
from warploom.engine.types import Array

#: The suffix of the name of a quantised tensor's scale.
SCALE = ".scale"
#: The element types of quantised weights, by their names in files.
QUANTISED: Mapping[str, type[np.int8] | type[np.int16]] = {"i8": np.int8, "i16": np.int16}


class WeightsFileError(TensorError):
    """A file of weights can't be read or written."""


def save_weights(path: str | Path, weights: Mapping[str, Array]) -> None:
    """Write weights to a .npz or .safetensors file, completely or not at all. Raise WeightsFileError on failure."""
    path = as_path("file of weights", path)
    arrays = {name: np.asarray(array, order="C") for name, array in weights.items()}
    if _format(path) == ".npz":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:  # numpy.savez can't store a tensor named "file"
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
        data = stream.getvalue()
    else:
        from safetensors.numpy import save

        data = save(arrays)
    try:
        write_atomically(path, data)
    except OSError as problem:
        raise WeightsFileError(f"weights must be written to {path}, got: {problem}") from problem


def load_weights(path: str | Path) -> dict[str, Array]:
    """Read weights from a .npz or .safetensors file; quantised ones become f32. Raise WeightsFileError on failure."""
    path = as_path("file of weights", path)
    kind = _format(path)
    try:
        data = path.read_bytes()
        if kind == ".npz":
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = dict(file)
        else:
            from safetensors import SafetensorError
            from safetensors.numpy import load

            try:
                arrays = load(data)
            except SafetensorError as problem:
                raise ValueError(problem) from problem
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as problem:
        raise WeightsFileError(f"weights must be readable from {path}, got: {problem}") from problem
    return dequantised(arrays)


def quantised(
    weights: Mapping[str, Array], dtype: str = "i16", scales: Mapping[str, float] | None = None
) -> dict[str, Array]:
    """Return weights as whole numbers, where weight = number * scale; the scale, f32[], has the name NAME.scale.

    `dtype` is "i8" or "i16". A scale that isn't in `scales` is the smallest one with which the largest weight fits.
    Raise InvalidOperation when weights don't fit, or aren't finite.
    """
    if not isinstance(dtype, str) or dtype not in QUANTISED:
        raise InvalidOperation(f"element type of quantised weights must be i8 or i16, got {shown(dtype)}")
    kind, scales = QUANTISED[dtype], {} if scales is None else scales
    if not isinstance(scales, Mapping):
        raise InvalidOperation(f"scales must be numbers by the names of weights, got {shown(scales)}")
    if unknown := scales.keys() - weights.keys():
        raise InvalidOperation(f"scales must be of weights that there are, got {', '.join(sorted(unknown))}")
    largest, found = np.iinfo(kind).max, dict[str, Array]()
    for name, array in weights.items():
        if not np.all(np.isfinite(array)):
            raise InvalidOperation(f"weights {name!r} must be finite to be quantised")
        size = float(np.max(np.abs(array), initial=0.0))
        scale = (
            np.float32(real_number(f"scale of {name!r}", scales[name]))
            if name in scales
            else _smallest_scale(size, largest)
        )
        if not scale > 0:
            raise InvalidOperation(f"scale of {name!r} must be more than 0, got {scale}")
        numbers = np.rint(np.asarray(array, np.float64) / float(scale))
        if np.max(np.abs(numbers), initial=0.0) > largest:
            limit = float(scale) * largest
            raise InvalidOperation(f"weights {name!r} must lie within {limit:g} for their scale, got {size:g}")
        found[name], found[name + SCALE] = numbers.astype(kind), np.asarray(scale)
    return found


def _smallest_scale(size: float, largest: int) -> np.float32:
    """Return the smallest scale with which weights up to `size` become whole numbers up to `largest`."""
    if not size:
        return np.float32(1.0)
    scale = max(np.float32(size / largest), np.finfo(np.float32).smallest_subnormal)
    is_rounded_down = np.rint(size / float(scale)) > largest
    return np.nextafter(scale, np.float32(np.inf)) if is_rounded_down else scale


def dequantised(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return weights with quantised ones as f32; arrays without a scale stay unchanged."""
    names = [name for name in arrays if not (name.endswith(SCALE) and name.removesuffix(SCALE) in arrays)]
    return {
        name: arrays[name] * np.float32(arrays[name + SCALE]) if name + SCALE in arrays else arrays[name]
        for name in names
    }


def as_path(subject: str, path: object) -> Path:
    """Return a path. For anything else, raise InvalidOperation with the subject."""
    if not isinstance(path, str | PathLike):
        raise InvalidOperation(f"{subject} must be a path, got {shown(path)}")
    return Path(path)


def _format(path: Path) -> str:
    if path.suffix not in (".npz", ".safetensors"):
        raise WeightsFileError(f"file of weights must end in .npz or .safetensors, got {path.name!r}")
    return path.suffix
