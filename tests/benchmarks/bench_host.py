"""Times of the host device: `python tests/benchmarks/bench_host.py` prints one line a kernel.

The ratio is to the same work done by numpy on one thread, where numpy can do it in a few array operations.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from cuda.bindings import nvrtc

from engine.device.arguments import KernelArguments
from engine.device.host import HostDevice
from engine.device.protocol import LaunchConfig

SOURCE = """
extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void tonemap(const float4* in, uchar4* out, float exposure, float gamma, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float4 c = in[y * w + x];
  float r = powf(1.f - expf(-c.x * exposure), gamma), g = powf(1.f - expf(-c.y * exposure), gamma);
  float b = powf(1.f - expf(-c.z * exposure), gamma);
  out[y * w + x] = make_uchar4(r * 255.f + .5f, g * 255.f + .5f, b * 255.f + .5f, 255);
}
struct Particle { float x, y, vx, vy, age, life, mass, hue; };
extern "C" __global__ void particles(Particle* p, float dt, float time, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle q = p[i];
  float dx = 0.5f - q.x, dy = 0.5f - q.y, inv = rsqrtf(dx * dx + dy * dy + 1e-4f);
  float swirl = sinf(time + q.hue * 6.2831853f);
  q.vx += dt * (dx * inv * inv - dy * inv * swirl) - 0.1f * dt * q.vx;
  q.vy += dt * (dy * inv * inv + dx * inv * swirl) - 0.1f * dt * q.vy;
  q.x += dt * q.vx; q.y += dt * q.vy;
  if (q.x < 0 || q.x > 1) q.vx = -q.vx;
  if (q.y < 0 || q.y > 1) q.vy = -q.vy;
  q.age += dt;
  if (q.age > q.life) q.age = 0;
  p[i] = q;
}
template <class T> __device__ void splat(const float2* p, T* image, int w, int h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int cx = p[i].x * w, cy = p[i].y * h;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int x = cx + dx, y = cy + dy;
      if (x >= 0 && x < w && y >= 0 && y < h) atomicAdd(image + y * w + x, (T)(4 - dx * dx - dy * dy));
    }
}
extern "C" __global__ void splat_u32(const float2* p, unsigned* o, int w, int h, int n) { splat(p, o, w, h, n); }
extern "C" __global__ void splat_f32(const float2* p, float* o, int w, int h, int n) { splat(p, o, w, h, n); }
extern "C" __global__ void blur(const float* in, float* out, int w, int h) {
  __shared__ float tile[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
  for (int y = ty; y < 18; y += 16)
    for (int x = tx; x < 18; x += 16) tile[y][x] = in[min(max(y0 + y, 0), h - 1) * w + min(max(x0 + x, 0), w - 1)];
  __syncthreads();
  float sum = 0;
  for (int y = 0; y < 3; y++) for (int x = 0; x < 3; x++) sum += tile[ty + y][tx + x];
  int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  if (x < w && y < h) out[y * w + x] = sum / 9.f;
}
"""


def compile_ptx(source: str, *options: str) -> str:
    """Return the PTX of CUDA C++ for the host."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"bench.cu", 0, [], [])
    flags = [b"--gpu-architecture=compute_75", *(item.encode() for item in options)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    assert int(error) == 0
    return text.decode().rstrip("\0")


def best(work: Callable[[], object], repeats: int = 15) -> float:
    """Return the shortest of several times, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return min(times) / 1e6


def main() -> None:
    """Run every benchmark and print its line."""
    device = HostDevice()
    write = sys.stdout.write
    write(f"{device.info.title}, {device.info.cores} cores\n")
    for label, options in (("", ()), (" fast-math", ("--use_fast_math",))):
        start = time.perf_counter()
        module = device.load_module(compile_ptx(SOURCE, *options))
        write(f"load{label}: {1e3 * (time.perf_counter() - start):.0f} ms\n")
        _kernels(device, module, label, write)
    _overhead(device, module, write)
    device.close()


def _kernels(device: HostDevice, module, label: str, write) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    n, w, h = 1 << 20, 1280, 720
    x, y = (rng.random(n, np.float32) for _ in range(2))
    image, points = rng.random((h, w, 4), np.float32), rng.random((100_000, 2), np.float32)
    bx, by, bo = device.upload(x), device.upload(y), device.upload(np.zeros_like(x))
    picture, bytes_ = device.upload(image), device.upload(np.zeros((h, w, 4), np.uint8))
    particles, places = device.upload(rng.random((100_000, 8), np.float32)), device.upload(points)
    counts, plane = device.upload(np.zeros((h, w), np.uint32)), device.upload(np.zeros((h, w), np.float32))

    def numpy_tonemap() -> object:
        mapped = (1 - np.exp(-image[..., :3] * np.float32(1.5))) ** np.float32(1 / 2.2)
        return (mapped * 255 + np.float32(0.5)).astype(np.uint8)

    groups, tiles = (-(-100_000 // 256),), (w // 16, h // 16)
    cases = [
        ("saxpy", (n // 256,), (256,), [bx, by, bo, 3.0, n], lambda: np.float32(3) * x + y),
        ("tonemap", tiles, (16, 16), [picture, bytes_, 1.5, 1 / 2.2, w, h], numpy_tonemap),
        ("particles", groups, (256,), [particles, 0.01, 0.5, 100_000], None),
        ("splat_u32", groups, (256,), [places, counts, w, h, 100_000], None),
        ("splat_f32", groups, (256,), [places, plane, w, h, 100_000], None),
        ("blur", tiles, (16, 16), [plane, counts, w, h], None),
    ]
    for name, grid, block, args, reference in cases:
        kernel = module.kernel(name)
        found = best(lambda: device.launch(kernel, grid, block, args))  # noqa: B023 - called at once
        ratio = f"  numpy / host = {best(reference, 5) / found:.1f}" if reference else ""
        write(f"{name + label:20} {found:8.3f} ms{ratio}\n")


def _overhead(device: HostDevice, module, write) -> None:  # type: ignore[no-untyped-def]
    kernel = module.kernel("saxpy")
    buffer = device.upload(np.zeros(32, np.float32))
    graph, after = device.create_graph(), []
    arguments = KernelArguments(kernel.parameters, [buffer, buffer, buffer, 1.0, 32])
    for _ in range(100):
        after = [graph.add_kernel(kernel, LaunchConfig((1, 1, 1), (32, 1, 1)), arguments, after)]
    executable, stream = graph.instantiate(), device.create_stream()
    write(f"small kernel node    {10 * best(lambda: executable.launch(stream)):8.2f} us\n")


if __name__ == "__main__":
    main()
