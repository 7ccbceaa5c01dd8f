"""A step of a stable fluid: it moves itself, and its pressure is relaxed until it has converged.

Each step begins with the same velocity and no pressure, so that all programs have the same work.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from tests.benchmarks.side_by_side.peers import taichi_programs, warp_programs
from tests.benchmarks.side_by_side.topics.arrays import launched
from warploom import Patch
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import GraphNode, LaunchConfig
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.types import Array

STEP_S, OVER, SWEEPS, ENOUGH = 1 / 60, 1.98, 10, 0.5

#: What is computed of a cell, in C and CUDA C++. Nothing flows through the walls on all four sides.
CELLS = r"""
typedef struct { float x, y; } flow;
INLINE int inside(int at, int size) { return at < 0 ? 0 : at < size ? at : size - 1; }
INLINE flow at(const flow* v, int x, int y, int w, int h) { return v[(size_t)inside(y, h) * w + inside(x, w)]; }
INLINE flow between(const flow* v, float x, float y, int w, int h) {
    x = fminf(fmaxf(x, 0.0f), w - 1.0f), y = fminf(fmaxf(y, 0.0f), h - 1.0f);
    const int left = (int)x, top = (int)y;
    const float a = x - left, b = y - top;
    const flow p = at(v, left, top, w, h), q = at(v, left + 1, top, w, h);
    const flow r = at(v, left, top + 1, w, h), s = at(v, left + 1, top + 1, w, h);
    const flow up = {p.x + (q.x - p.x) * a, p.y + (q.y - p.y) * a};
    const flow low = {r.x + (s.x - r.x) * a, r.y + (s.y - r.y) * a};
    const flow out = {up.x + (low.x - up.x) * b, up.y + (low.y - up.y) * b};
    return out;
}
INLINE flow moved(const flow* v, int x, int y, int w, int h, float step) {
    const flow left = at(v, x - 1, y, w, h), above = at(v, x, y - 1, w, h), here = at(v, x, y, w, h);
    const float across = (left.y + here.y + at(v, x - 1, y + 1, w, h).y + at(v, x, y + 1, w, h).y) / 4;
    const float along = (above.x + here.x + at(v, x + 1, y - 1, w, h).x + at(v, x + 1, y, w, h).x) / 4;
    flow out = {0, 0};
    if (x > 0) out.x = between(v, x - step * here.x, y - step * across, w, h).x;
    if (y > 0) out.y = between(v, x - step * along, y - step * here.y, w, h).y;
    return out;
}
INLINE float outflow(const flow* v, int x, int y, int w, int h) {
    const size_t i = (size_t)y * w + x;
    return (x + 1 < w ? v[i + 1].x : 0) - (x > 0 ? v[i].x : 0) + (y + 1 < h ? v[i + w].y : 0) - (y > 0 ? v[i].y : 0);
}
INLINE float relax(float* p, const float* outflow, int x, int y, int w, int h, float over) {
    const size_t i = (size_t)y * w + x;
    const float here = p[i];
    const float sum = (x > 0 ? p[i - 1] : here) + (x + 1 < w ? p[i + 1] : here) + (y > 0 ? p[i - w] : here) +
                      (y + 1 < h ? p[i + w] : here);
    const int open = (x > 0) + (x + 1 < w) + (y > 0) + (y + 1 < h);
    const float step = over * (sum - 4 * here - outflow[i]) / open;
    p[i] = here + step;
    return fabsf(step);
}
INLINE flow rest(const flow* v, const float* p, int x, int y, int w, int h) {
    const size_t i = (size_t)y * w + x;
    const flow out = {x > 0 ? v[i].x - (p[i] - p[i - 1]) : 0, y > 0 ? v[i].y - (p[i] - p[i - w]) : 0};
    return out;
}
"""
KERNELS = r"""
#define INLINE static __device__ inline
%s
#define CELL(body)                                                                                       \
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;      \
    if (x < w && y < h) { body; }
extern "C" __global__ void move_flow(const flow* v, flow* out, float step, int w, int h) {
    CELL(out[(size_t)y * w + x] = moved(v, x, y, w, h, step))
}
extern "C" __global__ void sum_flow(const flow* v, float* out, float* p, int w, int h) {
    CELL(out[(size_t)y * w + x] = outflow(v, x, y, w, h); p[(size_t)y * w + x] = 0)
}
extern "C" __global__ void relax_all(
    float* p, const float* outflow, unsigned* change, float over, int odd, int last, int w, int h) {
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((y + odd) & 1);
    const float step = x < w && y < h ? relax(p, outflow, x, y, w, h, over) : 0;
    if (!last) return;
    const unsigned most = __reduce_max_sync(~0u, __float_as_uint(step));
    if (threadIdx.x == 0) atomicMax(change, most);
}
extern "C" __global__ void take_slope(const flow* v, const float* p, flow* out, int w, int h) {
    CELL(out[(size_t)y * w + x] = rest(v, p, x, y, w, h))
}
"""
FUNCTIONS = r"""
#include <math.h>
#include <stddef.h>
#define INLINE static inline
%s
#define EACH _Pragma("omp parallel for") for (int y = 0; y < h; y++) for (int x = 0; x < w; x++)
void fluid(const flow* v, flow* between, float* out, float* p, flow* after, float step, float over, int sweeps,
           float enough, int w, int h) {
    EACH between[(size_t)y * w + x] = moved(v, x, y, w, h, step);
    EACH { out[(size_t)y * w + x] = outflow(between, x, y, w, h); p[(size_t)y * w + x] = 0; }
    float change = 2 * enough;
    while (change > enough) {
        change = 0;
        for (int half = 0; half < 2 * sweeps; half++) {
            float most = 0;
            _Pragma("omp parallel for reduction(max : most)") for (int y = 0; y < h; y++)
                for (int x = (y + half) & 1; x < w; x += 2) most = fmaxf(most, relax(p, out, x, y, w, h, over));
            if (half >= 2 * sweeps - 2) change = fmaxf(change, most);
        }
    }
    EACH after[(size_t)y * w + x] = rest(between, p, x, y, w, h);
}
"""


def contests(device: Device, scale: float = 1.0) -> Iterator[Contest]:
    """Yield the contest on a device."""
    on_gpu = device.info.name != "host"
    edge = round((2048 if on_gpu else 256) * scale**0.5)
    given = velocity(edge)
    programs: dict[str, Callable[[ExitStack], Program]] = {OURS: partial(our_fluid, device, given)}
    if on_gpu:
        programs["CUDA C++ by hand"] = partial(fluid_by_hand, device, given)
    else:
        programs["C"] = partial(fluid_in_c, given)
        programs["numba"] = partial(fluid_in_numba, given)
    programs["Warp"] = partial(warp_programs.fluid, given, (STEP_S, OVER, SWEEPS, ENOUGH), on_gpu)
    programs["Taichi"] = partial(taichi_programs.fluid, given, (STEP_S, OVER, SWEEPS, ENOUGH), on_gpu)
    yield Contest(
        f"stable fluid of {edge} x {edge}, converged", programs, wanted=1.1 if on_gpu else 1.3,
        against="CUDA C++ by hand" if on_gpu else "C", tolerance=1e-3,
    )  # fmt: skip


def velocity(edge: int) -> Array:
    """Return large eddies, in cells a second."""
    y, x = np.mgrid[:edge, :edge].astype(np.float32) * np.float32(2 * np.pi / edge)
    return np.stack([40 * np.sin(7 * y + 2 * x), 40 * np.cos(5 * x - 3 * y)], axis=2).astype(np.float32)


def our_fluid(device: Device, given: Array, opened: ExitStack) -> Program:
    """Run the blocks; a While repeats the pressure's step."""
    patch, (height, width) = Patch(), given.shape[:2]
    add, connect = patch.add, patch.connect
    source = add("buffer.reinterpret", dtype="float2")
    connect(add("io.array", data=given.reshape(height, 2 * width))["out"], source["x"])
    moved, outflow = add("field.advect_velocity", time_step=STEP_S), add("field.divergence")
    connect(source["out"], moved["velocity"])
    connect(moved["out"], outflow["velocity"])
    none, going = add("buffer.constant", shape=f"{height}, {width}"), add("buffer.constant", dtype="boolean", value=1.0)
    loop = add("control.while", limit=1000)
    connect(going["out"], loop["condition"])
    step = add("field.pressure_step", region=loop, over=OVER, sweeps=SWEEPS)
    compare, again = (
        add("math.compare", region=loop, operation="greater", value=ENOUGH),
        add("buffer.assign", region=loop),
    )
    connect(none["out"], step["pressure"])
    connect(outflow["out"], step["divergence"])
    connect(step["change"], compare["x"])
    connect(going["out"], again["target"])
    connect(compare["out"], again["value"])
    rest = add("field.subtract_gradient")
    connect(moved["out"], rest["velocity"])
    connect(step["out"], rest["pressure"])
    return launched(device, patch, rest, "out", opened)


def fluid_by_hand(device: Device, given: Array, opened: ExitStack) -> Program:
    """Launch kernels by hand: graphs of a step's beginning, of ten sweeps, and of its end."""
    compiled = compile_cuda(KERNELS % CELLS, Path("fluid_by_hand.cu"), device.info.architecture, [])
    module = device.load_module(compiled.cubin or compiled.ptx)
    height, width = given.shape[:2]
    field = np.zeros((height, width), np.float32)
    source, moved, after = (device.upload(each) for each in (given, np.zeros_like(given), np.zeros_like(given)))
    outflow, pressure, change = (device.upload(each) for each in (field, field, np.zeros(1, np.float32)))
    for buffer in (source, moved, after, outflow, pressure, change):
        opened.callback(buffer.free)
    size, stream, blocks = (width, height), device.create_stream(), (-(-width // 32), -(-height // 8), 1)

    def graph_of(*launches: tuple[str, tuple[Any, ...]]) -> Any:
        graph, after_ = device.create_graph(), list[GraphNode]()
        for name, values in launches:
            kernel = module.kernel(name)
            grid = (-(-blocks[0] // 2), *blocks[1:]) if name == "relax_all" else blocks
            arguments = pack_arguments(kernel.parameters, [*values, *size])
            after_ = [graph.add_kernel(kernel, LaunchConfig(grid, (32, 8, 1)), arguments, after_)]
        return graph.instantiate()

    sweeps = [(pressure, outflow, change, OVER, half % 2, int(half >= 2 * SWEEPS - 2)) for half in range(2 * SWEEPS)]
    begin = graph_of(("move_flow", (source, moved, STEP_S)), ("sum_flow", (moved, outflow, pressure)))
    turn = graph_of(*(("relax_all", values) for values in sweeps))
    end = graph_of(("take_slope", (moved, pressure, after)))

    def launch() -> None:
        begin.launch(stream)
        while True:
            device.fill(change.memory, 0)
            turn.launch(stream)
            stream.synchronize()
            if change.download()[0] <= ENOUGH:
                break
        end.launch(stream)

    return Program(launch, stream.synchronize, after.download)


def library_of(source: str, opened: ExitStack) -> ctypes.CDLL:
    """Return a library that gcc makes of C with OpenMP."""
    folder = opened.enter_context(TemporaryDirectory())
    path, library = Path(folder, "program.c"), Path(folder, "program.so")
    path.write_text(source)
    command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(path), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise Missing("gcc is not installed") from None
    return ctypes.CDLL(str(library))


def fluid_in_c(given: Array, opened: ExitStack) -> Program:
    """Call C with OpenMP, on all cores."""
    function, (height, width) = library_of(FUNCTIONS % CELLS, opened).fluid, given.shape[:2]
    moved, after = np.empty_like(given), np.empty_like(given)
    outflow, pressure = (np.empty((height, width), np.float32) for _ in range(2))
    arrays = [each.ctypes.data_as(ctypes.c_void_p) for each in (given, moved, outflow, pressure, after)]
    numbers = (ctypes.c_float(STEP_S), ctypes.c_float(OVER), SWEEPS, ctypes.c_float(ENOUGH), width, height)
    return Program(lambda: function(*arrays, *numbers), result=lambda: after)


def fluid_in_numba(given: Array, _: ExitStack) -> Program:
    """Call numba's parallel loops."""
    from numba import njit, prange

    height, width = given.shape[:2]
    step, over = map(np.float32, (STEP_S, OVER))
    zero, four = np.float32(0), np.float32(4)

    @njit(inline="always")
    def at(v, x, y, c):  # type: ignore[no-untyped-def]
        return v[min(max(y, 0), height - 1), min(max(x, 0), width - 1), c]

    @njit
    def between(v, x, y, c):  # type: ignore[no-untyped-def]
        x, y = min(max(x, zero), np.float32(width - 1)), min(max(y, zero), np.float32(height - 1))
        left, top = int(x), int(y)
        a, b = x - np.float32(left), y - np.float32(top)
        p, q = at(v, left, top, c), at(v, left + 1, top, c)
        r, s = at(v, left, top + 1, c), at(v, left + 1, top + 1, c)
        up, low = p + (q - p) * a, r + (s - r) * a
        return up + (low - up) * b

    @njit(parallel=True)
    def begin(v, moved, outflow, p):  # type: ignore[no-untyped-def]
        for line in prange(height):
            y = np.int64(line)  # an unsigned index minus 1 would be a float
            for x in range(width):
                i, j = np.float32(x), np.float32(y)
                here_x, here_y = v[y, x, 0], v[y, x, 1]
                across = (at(v, x - 1, y, 1) + here_y + at(v, x - 1, y + 1, 1) + at(v, x, y + 1, 1)) / four
                along = (at(v, x, y - 1, 0) + here_x + at(v, x + 1, y - 1, 0) + at(v, x + 1, y, 0)) / four
                moved[y, x, 0] = between(v, i - step * here_x, j - step * across, 0) if x > 0 else zero
                moved[y, x, 1] = between(v, i - step * along, j - step * here_y, 1) if y > 0 else zero
        for line in prange(height):
            y = np.int64(line)  # an unsigned index minus 1 would be a float
            for x in range(width):
                right = moved[y, x + 1, 0] if x + 1 < width else zero
                below = moved[y + 1, x, 1] if y + 1 < height else zero
                outflow[y, x] = right - moved[y, x, 0] + below - moved[y, x, 1]
                p[y, x] = zero

    @njit(parallel=True)
    def sweep(p, outflow, odd):  # type: ignore[no-untyped-def]
        most = zero
        for line in prange(height):
            y = np.int64(line)  # an unsigned index minus 1 would be a float
            largest = zero
            for x in range((y + odd) % 2, width, 2):
                here = p[y, x]
                total = (p[y, x - 1] if x > 0 else here) + (p[y, x + 1] if x + 1 < width else here)
                total += (p[y - 1, x] if y > 0 else here) + (p[y + 1, x] if y + 1 < height else here)
                open_ = np.float32((x > 0) + (x + 1 < width) + (y > 0) + (y + 1 < height))
                change = over * (total - four * here - outflow[y, x]) / open_
                p[y, x] = here + change
                largest = max(largest, abs(change))
            most = max(most, largest)
        return most

    @njit(parallel=True)
    def end(moved, p, after):  # type: ignore[no-untyped-def]
        for line in prange(height):
            y = np.int64(line)  # an unsigned index minus 1 would be a float
            for x in range(width):
                after[y, x, 0] = moved[y, x, 0] - (p[y, x] - p[y, x - 1]) if x > 0 else zero
                after[y, x, 1] = moved[y, x, 1] - (p[y, x] - p[y - 1, x]) if y > 0 else zero

    moved, after = np.empty_like(given), np.empty_like(given)
    outflow, pressure = (np.empty((height, width), np.float32) for _ in range(2))

    def launch() -> None:
        begin(given, moved, outflow, pressure)
        change = 2 * ENOUGH
        while change > ENOUGH:
            changes = [sweep(pressure, outflow, half % 2) for half in range(2 * SWEEPS)]
            change = max(changes[-2:])
        end(moved, pressure, after)

    return Program(launch, result=lambda: after)
