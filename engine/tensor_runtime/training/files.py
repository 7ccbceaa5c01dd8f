"""Files of weights, quantised or not."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.patch.files import write_atomically
from warploom.engine.tensor_ir.errors import InvalidOperation, TensorError
from warploom.engine.tensor_ir.types import whole_number
from warploom.engine.tensor_runtime.training.formats import WeightFormat
from warploom.engine.types import Array

#: The suffix of the name of a quantised tensor's scale.
SCALE = ".scale"
#: The endings of files' names; the last is that of raw files.
_SUFFIXES = (".npz", ".safetensors", ".bin")
#: The formats of weights by their names, or one for all.
Formats = WeightFormat | Mapping[str, WeightFormat]


class WeightsFileError(TensorError):
    """A file of weights can't be read or written."""


def save_weights(
    path: str | Path,
    weights: Mapping[str, Array],
    formats: Formats | None = None,
    *,
    header: bytes = b"",
    padding: int = 1,
    fill: bytes = b"\0",
) -> None:
    """Write arrays to a .npz, .safetensors or .bin file, completely or not at all.

    Those with a format are written in it, and all others as they are. Quantised weights in a .npz or .safetensors file
    have a scale, f32[], beside them, NAME.scale: weight = number * scale.

    A .bin file has the `header` and then the elements of each weight, little-endian, row by row, without names: first
    the weights of `formats` in its order, then the others in theirs. `fill` is repeated at the end until the length is
    a multiple of `padding` bytes. Raise WeightsFileError or InvalidOperation on failure.
    """
    path = as_path("file of weights", path)
    kind = _format(path, _SUFFIXES)
    chosen = formats_of(formats, weights)
    ordered = [*chosen, *(name for name in weights if name not in chosen)]
    arrays = {}
    for name in ordered:
        array = np.asarray(weights[name], order="C")
        scale = None
        if name in chosen:
            array, scale = chosen[name].packed(name, array)
        arrays[name] = array
        if scale is not None and kind != ".bin":
            arrays[name + SCALE] = np.asarray(scale)
    if kind == ".bin":
        data = _raw(arrays.values(), header, padding, fill)
    elif header or padding != 1:
        raise InvalidOperation(f"header and padding must be for a .bin file, got {path.name!r}")
    elif kind == ".npz":
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


def formats_of(formats: Formats | None, weights: Iterable[str]) -> Mapping[str, WeightFormat]:
    """Return the formats by names of weights. Raise InvalidOperation for something else or an unknown name."""
    if isinstance(formats, WeightFormat):
        return dict.fromkeys(weights, formats)
    given = {} if formats is None else formats
    if not isinstance(given, Mapping) or not all(isinstance(each, WeightFormat) for each in given.values()):
        raise InvalidOperation(f"formats must be WeightFormats by the names of weights, got {shown(formats)}")
    if unknown := given.keys() - {*weights}:
        raise InvalidOperation(f"formats must be of weights that there are, got {', '.join(sorted(unknown))}")
    return given


def _raw(arrays: Iterable[Array], header: bytes, padding: int, fill: bytes) -> bytes:
    """Return a raw file's bytes."""
    for name, value in (("header", header), ("fill", fill)):
        if not isinstance(value, bytes | bytearray):
            raise InvalidOperation(f"{name} must be bytes, got {shown(value)}")
    if whole_number("padding", padding) < 1:
        raise InvalidOperation(f"padding must be 1 or more bytes, got {padding}")
    if not fill:
        raise InvalidOperation("fill must have 1 byte or more, got none")
    parts = [bytes(header)]
    parts += [array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes() for array in arrays]
    missing = -sum(map(len, parts)) % padding
    return b"".join([*parts, (fill * missing)[:missing]])


def load_weights(path: str | Path) -> dict[str, Array]:
    """Read weights from a .npz or .safetensors file; quantised ones become f32. Raise WeightsFileError on failure."""
    path = as_path("file of weights", path)
    kind = _format(path, _SUFFIXES[:-1])
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


def dequantised(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return weights with quantised ones as f32; arrays without a scale stay unchanged."""
    names = [name for name in arrays if not (name.endswith(SCALE) and name.removesuffix(SCALE) in arrays)]
    return {
        name: (arrays[name] * np.float64(arrays[name + SCALE])).astype(np.float32)
        if name + SCALE in arrays
        else arrays[name]
        for name in names
    }


def as_path(subject: str, path: object) -> Path:
    """Return a path. For anything else, raise InvalidOperation with the subject."""
    if not isinstance(path, str | PathLike):
        raise InvalidOperation(f"{subject} must be a path, got {shown(path)}")
    return Path(path)


def _format(path: Path, suffixes: Sequence[str]) -> str:
    if path.suffix not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise WeightsFileError(f"file of weights must end in {known}, got {path.name!r}")
    return path.suffix
