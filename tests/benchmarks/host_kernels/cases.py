"""The cases of bench_host.py: launches of the kernels in this folder, their data, and how results are compared.

`NAME.cu` holds CUDA C++, and `NAME.c` functions of the same names as a C programmer would write them. The references
are compiled with `gcc -O3 -march=native -fopenmp`.
"""

import ctypes
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import nvrtc

from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.types import Array

HERE = Path(__file__).parent
FILES = tuple(sorted(path.stem for path in HERE.glob("*.cu")))


@dataclass(frozen=True)
class Case:
    """One launch. `values` are the arguments; `counts` are further arguments of the C function.

    `output` is the argument that is compared, `tolerance` the relative error allowed, and `strays` the share of values
    that may differ, where a rounding decides how long a loop runs. The arguments `zeroed` are set to 0 before every
    run. `turns` is how many launches are timed as one graph, since a launch from Python takes longer than such a
    kernel.
    """

    kernel: str
    grid: tuple[int, ...]
    thread_block: tuple[int, ...]
    values: list[Any]
    output: int
    tolerance: float = 0.0
    counts: tuple[int, ...] = ()
    strays: float = 0.0
    zeroed: tuple[int, ...] = ()
    turns: int = 1


def cases() -> dict[str, Case]:
    """Return the cases by name, with the same data each time."""
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> Array:
        return rng.random(shape, np.float32)

    def numbers(kind: type[np.generic], end: int, *shape: int) -> Array:
        return rng.integers(0, end, shape, np.int64).astype(kind)

    def zeros(kind: type[np.generic], *shape: int) -> Array:
        return np.zeros(shape, kind)

    many, few, w, h, m, q, tiles = 1 << 22, 1 << 16, 1920, 1080, 512, 4096, 1 << 10
    square, image = (m // 16, m // 16), (w // 16, -(-h // 16))
    u8, i32, u32, f32 = np.uint8, np.int32, np.uint32, np.float32
    matrix = floats(256, 32, 32)
    keys = numbers(u32, 1 << 32, 4 * tiles, 256)
    nodes, spheres = _tree(floats(1024, 4) * f32([100, 100, 100, 1]) + f32([0, 0, 0, 0.5]))
    rays = floats(8 * tiles, 2, 3) * f32([100, 100, 0])
    rays[:, 1] = floats(8 * tiles, 3) - f32([0.5, 0.5, 0]) + f32([0, 0, 0.5])
    rays[:, 1] /= np.linalg.norm(rays[:, 1], axis=1, keepdims=True)

    def saxpy(n: int, turns: int = 1) -> Case:
        values = [floats(n), floats(n), floats(n), f32(3), n]
        return Case("saxpy", (n // 256,), (256,), values, 2, 1e-6, turns=turns)

    def blend(n: int, turns: int = 1) -> Case:
        values = [numbers(u8, 256, n, 4), numbers(u8, 256, n, 4), zeros(u8, n, 4), n]
        return Case("blend", (n // 256,), (256,), values, 2, turns=turns)

    def product(kernel: str, grid: tuple[int, int], thread_block: tuple[int, ...]) -> Case:
        return Case(kernel, grid, thread_block, [floats(m, m), floats(m, m), zeros(f32, m, m), m], 2, 1e-4)

    scanned = numbers(i32, 100, tiles, 1024)
    return {
        "saxpy": saxpy(many),
        "saxpy in cache": saxpy(few, 20),
        "blend": blend(many),
        "blend in cache": blend(few, 20),
        "nbody": Case("nbody", (q // 256,), (256,), [floats(q, 4), zeros(f32, q, 4), q], 1, 1e-3),
        "sha256": Case(
            "sha256", (64,), (256,), [numbers(u32, 1 << 32, 1 << 14, 16), zeros(u32, 1 << 14, 8), 1 << 14], 1
        ),
        "philox": Case("philox", (1 << 10,), (256,), [zeros(u32, 1 << 18, 4), 7, 1 << 18], 0),
        "mandelbrot": Case("mandelbrot", (32, 32), (16, 16), [zeros(i32, m, m), m, m, 100], 0, strays=0.01),
        "bvh": Case(
            "bvh", (32,), (256,), [nodes, spheres, rays, zeros(f32, 8 * tiles), 8 * tiles], 3, 1e-3, strays=0.001
        ),
        "conv5": Case("conv5", image, (16, 16), [floats(h, w), floats(5, 5), zeros(f32, h, w), w, h], 2, 1e-4),
        "life": Case("life", image, (16, 16), [numbers(u8, 2, h, w), zeros(u8, h, w), w, h], 1),
        "stencil": Case("stencil", image, (16, 16), [floats(h, w), zeros(f32, h, w), w, h, f32(0.1)], 1, 1e-4),
        "smith_waterman": Case(
            "smith_waterman",
            (64,),
            (128,),
            [numbers(u8, 4, 64, 256), numbers(u8, 4, 64, 128), zeros(i32, 64), 256],
            2,
            counts=(64,),
        ),
        "dither": Case(
            "dither", (8,), (128,), [numbers(u8, 256, 8, 128, 512), zeros(u8, 8, 128, 512), 512, 128], 1, counts=(8,)
        ),
        "matmul": product("matmul", square, (16, 16)),
        "matmul_buffered": product("matmul_buffered", square, (16, 16)),
        "matmul_tiled": product("matmul_tiled", (m // 64, m // 64), (256,)),
        "cholesky": Case(
            "cholesky",
            (256,),
            (32,),
            [matrix @ matrix.transpose(0, 2, 1) + 32 * np.eye(32, dtype=f32), zeros(f32, 256, 32, 32)],
            1,
            1e-3,
            counts=(256,),
        ),
        "reduce": Case("reduce", (many // 256,), (256,), [floats(many), zeros(f32, many // 256), many], 1, 1e-4),
        "histogram": Case("histogram", (64,), (256,), [numbers(u8, 256, many), zeros(u32, 256), many], 1, zeroed=(1,)),
        "scan_rows": Case(
            "scan_rows", (4 * tiles,), (256,), [scanned, zeros(i32, tiles, 1024)], 1, counts=(4 * tiles,)
        ),
        "scan_all": Case(
            "scan_all",
            (tiles,),
            (256,),
            [scanned, zeros(i32, tiles, 1024), zeros(i32, 1), zeros(np.int64, tiles)],
            1,
            counts=(tiles * 1024,),
            zeroed=(2, 3),
        ),
        "radix_pass": Case(
            "radix_pass",
            (4 * tiles,),
            (256,),
            [keys, _places(keys & 15), zeros(u32, 4 * tiles, 256), 0],
            2,
            counts=(4 * tiles,),
        ),
        "bitonic": Case(
            "bitonic",
            (tiles // 4,),
            (512,),
            [numbers(u32, 1 << 32, tiles // 4, 1024), zeros(u32, tiles // 4, 1024)],
            1,
            counts=(tiles // 4,),
        ),
    }


def _places(digits: Array) -> Array:
    """Return where each thread block's keys with each digit begin, ordered by digit, then by thread block."""
    counts = np.stack([(digits == digit).sum(1) for digit in range(16)])
    ends = counts.reshape(-1).cumsum().reshape(counts.shape)
    return np.ascontiguousarray((ends - counts).T).astype(np.int32)


def _tree(spheres: Array) -> tuple[Array, Array]:
    """Return the nodes of a bounding volume hierarchy, the root first, and its spheres (x, y, z, radius)."""
    kind = np.dtype([("low", "3f4"), ("left", "i4"), ("high", "3f4"), ("right", "i4")])
    nodes = np.zeros(2 * len(spheres) - 1, kind)
    count = 1
    pending = [(0, np.arange(len(spheres)))]
    while pending:
        place, inside = pending.pop()
        centres, radii = spheres[inside, :3], spheres[inside, 3:]
        low, high = (centres - radii).min(0), (centres + radii).max(0)
        if len(inside) == 1:
            nodes[place] = low, -int(inside[0]) - 1, high, 0
            continue
        order = inside[centres[:, (high - low).argmax()].argsort()]
        nodes[place] = low, count, high, count + 1
        pending += [(count, order[: len(order) // 2]), (count + 1, order[len(order) // 2 :])]
        count += 2
    return nodes, spheres


def compile_ptx(dialect: str = HOST_ARCHITECTURE) -> str:
    """Return the PTX of all kernels, for the host."""
    source = "\n".join((HERE / f"{name}.cu").read_text() for name in FILES)
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"bench.cu", 0, [], [])
    (error,) = nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture={dialect}".encode()])
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    assert int(error) == 0
    return str(text.decode().rstrip("\0"))


def compile_c(folder: str) -> ctypes.CDLL | None:
    """Return the C references as a library, or None without gcc."""
    library = Path(folder) / "reference.so"
    command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", str(library)]
    try:
        subprocess.run([*command, *(str(HERE / f"{name}.c") for name in FILES), "-lm"], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    os.environ["OMP_WAIT_POLICY"] = "passive"  # otherwise C's threads wait on a core that the host's next launch needs
    return ctypes.CDLL(str(library))
