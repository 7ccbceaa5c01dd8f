"""Inputs of random patches: sizes, numbers with extremes, user memory, and files."""

import random
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import laspy
import numpy as np
from PIL import Image

from tests.device.lenders import interface_of
from warploom.blocks.data.table_files import encode_table
from warploom.blocks.geometry.files.shape_files import encode_points
from warploom.engine.device.device import Device
from warploom.engine.types import DType
from warploom.engine.types import scalars as _scalars
from warploom.engine.types import vectors as _vectors

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

NUMBERS = ("f32", "f64", "f16", "bf16", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "boolean")
COMPLEX = ("c64", "c128")
VECTORS = ("float2", "float3", "float4", "uchar4")
ANY = (*NUMBERS, *COMPLEX, *VECTORS)
#: The element types of linear algebra.
FULL = ("f32", "f64", "c64", "c128")

SIZES = (1, 2, 3, 5, 7, 31, 33, 100, 1000)
EDGES = (1, 2, 3, 5, 7, 17, 31, 33)

KERNELS = {
    "reverse.cu": """extern "C" __global__ void reverse(const float* x, float* out, float gain, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = gain * x[count - 1 - i];
}
""",
    "neighbours.cu": """extern "C" __global__ void neighbours(
    const float* x, float* sums, float* differences, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float next = x[(i + 1) % count];
    sums[i] = x[i] + next;
    differences[i] = x[i] - next;
}
""",
    "mix.cu": """extern "C" __global__ void mix(
    const float* x, const float* y, float* out, float share, int turns, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = x[i];
    for (int turn = 0; turn < turns % 5; ++turn) value = value * share + y[i];
    out[i] = value;
}
""",
    "totals.cu": """extern "C" __global__ void totals(const float* x, float* out, int count) {
    __shared__ float kept[256];
    const int lane = threadIdx.x, i = blockIdx.x * blockDim.x + lane;
    kept[lane] = i < count ? x[i] : 0.0f;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (lane < step) kept[lane] += kept[lane + step];
        __syncthreads();
    }
    if (i < count) out[i] = kept[0];
}
""",
}


def dtype_called(name: str) -> DType:
    """Return the element type with this name."""
    found: DType = getattr(_scalars, name, None) or getattr(_vectors, name)
    return found


def numbers(chance: random.Random, dtype: np.dtype[Any], shape: Shape) -> Array:
    """Return random numbers, mostly small, sometimes with extremes of the type among them."""
    source = np.random.default_rng(chance.getrandbits(32))
    if dtype.kind == "b":
        return source.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        made = source.integers(max(limits.min, -8), 9, shape).astype(dtype)
        extremes = [limits.min, limits.max, 0, 1]
    else:
        parts = source.normal(size=(2, *shape)) * chance.choice((1.0, 1.0, 1.0, 0.01, 30.0))
        whole = parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]
        if chance.random() < 0.3:
            whole = np.round(whole)
        made = whole.astype(dtype)
        limit = np.finfo(dtype)
        extremes = [limit.max, limit.smallest_subnormal, -0.0, np.inf, -np.inf, np.nan]
    if chance.random() < 0.12:
        flat = made.reshape(-1)
        for _ in range(1 + flat.size // 8):
            flat[chance.randrange(flat.size)] = chance.choice(extremes)
    return made


@dataclass
class Lent:
    """User memory that patches adopt: an object that lends it, and functions to save and restore its contents."""

    array: object
    device: Device
    memory: Any
    first: Array

    def restore(self, contents: Array) -> None:
        """Restore contents that `save` returned."""
        self.device.write(self.memory, contents.view(np.uint8).reshape(-1))

    def save(self) -> Array:
        """Return the contents of the memory."""
        kept = np.empty(self.first.nbytes, np.uint8)
        self.device.read(self.memory, kept)
        return kept


class Materials:
    """The files that patches of one run read, and the memory that is lent to one patch."""

    def __init__(self, folder: Path, device: Device) -> None:
        self.folder, self._device = folder, device
        self.lent: list[Lent] = []
        self.kernels = [folder / name for name in KERNELS]
        for path in self.kernels:
            path.write_text(KERNELS[path.name])
        self.images = [folder / f"{mode}_{w}x{h}.png" for mode, w, h in (("RGB", 7, 5), ("RGBA", 3, 2), ("L", 17, 31))]
        chance = random.Random(1)
        for path in self.images:
            mode, _, size = path.stem.partition("_")
            width, height = map(int, size.split("x"))
            pixels = bytes(chance.randrange(256) for _ in range(width * height * len(mode)))
            Image.frombytes(mode, (width, height), pixels).save(path)
        self.sounds = [folder / "one.wav", folder / "two.wav"]
        for channels, path in enumerate(self.sounds, 1):
            with wave.open(str(path), "wb") as file:
                file.setnchannels(channels)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(numbers(chance, np.dtype(np.int16), (100 * channels,)).tobytes())

        self.arrays = [folder / name for name in ("one.npy", "two.npy", "three.npz")]
        for path, dtype, shape in zip(self.arrays, ("f4", "u1", "c8"), ((7, 5), (33,), (2, 3, 2)), strict=True):
            (np.savez if path.suffix == ".npz" else np.save)(path, numbers(chance, np.dtype(dtype), shape))
        self.tables = [folder / name for name in ("wide.csv", "long.tsv", "lines.jsonl")]
        for path, size in zip(self.tables, ((5, 7), (33, 1), (3, 2)), strict=True):
            values = np.arange(np.prod(size)).reshape(size) * 3
            path.write_bytes(encode_table(values, path.suffix, ""))
        self.rows = [*self.arrays[:2], *self.tables]
        self.meshes = [folder / "tetrahedron.obj"]
        self.meshes[0].write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        self.luts = [folder / "cube.cube", folder / "curves.cube"]
        for path, kind, rows in zip(self.luts, ("3D", "1D"), (8, 2), strict=True):
            colors = "\n".join(" ".join(f"{chance.random():.3f}" for _ in range(3)) for _ in range(rows))
            path.write_text(f"LUT_{kind}_SIZE 2\n{colors}\n")
        self.clouds = [folder / "cloud.ply", *self.meshes]
        self.clouds[0].write_bytes(encode_points(numbers(chance, np.dtype(np.float32), (2, 7, 4)), ".ply"))
        self.scans = [folder / "scan.las", folder / "scan.laz", self.clouds[0]]
        scan = laspy.create(point_format=3, file_version="1.2")
        scan.x, scan.y, scan.z = np.arange(99).reshape(3, 33) / 8
        for path in self.scans[:2]:
            scan.write(path)

    def lend(self, array: Array) -> object:
        """Return an object that lends memory of the device with these contents."""
        memory = self._device.upload(array).memory
        kept = Lent(interface_of(self._device, memory, array.dtype, array.shape), self._device, memory, array)
        self.lent.append(kept)
        return kept.array

    def take_back(self) -> None:
        """Free the memory that was lent to the last patch."""
        for lent in self.lent:
            lent.memory.free()
        self.lent.clear()
