"""The time of a frame of particles, beside CUDA C++ written by hand.

    python -m tests.benchmarks.bench_particles --device host|cuda:0 [--count N] [--size WIDTH HEIGHT]

Particles are emitted, moved by gravity, wind, turbulence and an attractor, and drawn. The program by hand has the same
state and computes the same frame in two ways: with a kernel for each step, as the patch has, and with one kernel that
does everything for a particle. Both are compared with the patch before times are measured. Times are medians of one
run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.bench_fusion import milliseconds
from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.blocks.particles.camera import Camera
from warploom.engine.compiler.frame import Frame
from warploom.engine.device.device import HOST_ARCHITECTURE, Buffer, Device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array

STEP_S, FRAMES, CELL = 1 / 60, 60, 8
#: The particles' forces: gravity, drag towards the wind, turbulence and an attractor.
GRAVITY, DRAG, WIND_X, WIND_Z, TURBULENCE, SCALE, ATTRACTION, MIDDLE = -4.0, 0.25, 1.0, -0.5, 0.7, 3.0, 2.0, 2.0
FORCES = {
    "gravity": GRAVITY, "drag": DRAG, "wind_x": WIND_X, "wind_z": WIND_Z, "turbulence": TURBULENCE,
    "turbulence_scale": SCALE, "attraction": ATTRACTION, "attractor_height": MIDDLE,
}  # fmt: skip
LIFE, SPREAD, FLOOR, BOUNCE, FRICTION = 30.0, 2.5, 0.0, 0.45, 0.25

SOURCE = r"""
// Only functions for a point's light, a particle's birth, turbulence and the camera are taken from the blocks.
#include "emitter.cu"
#include "forces.cu"
#include "render_points.cu"

struct Scene {
    float rate, life, spread;
    float gravity, drag, wind_x, wind_z, strength, scale, attraction, middle;
    float floor, bounce, friction;
};

__device__ inline bool emit(Particle& particle, const Scene& scene, const Frame& frame, unsigned int i, int count) {
    const double step = frame.time_step, time = frame.index * step;
    const long long first = (long long)ceil(time * scene.rate);
    const long long end = (long long)ceil((frame.index + 1.0) * step * scene.rate);
    const int before = (int)(first % count), after = (int)i - before;
    const long long number = first + (after < 0 ? after + count : after);
    if (number >= end) return false;
    const double birth = number / (double)scene.rate;
    const Nozzle nozzle = {0.12f, 0.0f, 5, 75.0f, 20.0f, scene.spread, 6.0f, 0.0f};
    const unsigned int key = hash((unsigned int)number) ^ hash(1u + frame.seed * 0x9E3779B9u);
    particle = born(nozzle, scene.life, number, nozzle.turn * birth / 360.0, key);
    particle.age = -(float)(birth - time);
    particle.position += particle.velocity * particle.age;
    return true;
}

__device__ inline void push(Particle& particle, const Scene& scene, const Frame& frame) {
    float3 acceleration = {0.0f, scene.gravity, 0.0f};
    acceleration += turbulence(particle.position, scene.scale, frame.time) * scene.strength;
    const float3 way = float3{0.0f, scene.middle, 0.0f} - particle.position;
    acceleration += way * (scene.attraction * rsqrtf(dot(way, way) + 0.25f));
    const float3 wind = {scene.wind_x, 0.0f, scene.wind_z};
    const float kept = expf(-scene.drag * frame.time_step);
    particle.velocity = wind + (particle.velocity + acceleration * frame.time_step - wind) * kept;
}

__device__ inline void move(Particle& particle, const Scene& scene, const Frame& frame) {
    particle.age += frame.time_step;
    particle.position += particle.velocity * frame.time_step;
    const float below = scene.floor - particle.position.y;
    if (below > 0.0f && particle.velocity.y < 0.0f) {
        particle.position.y = scene.floor + below * scene.bounce;
        particle.velocity *= float3{1.0f - scene.friction, -scene.bounce, 1.0f - scene.friction};
    }
}

__device__ inline void put(Particle* to, const Particle& p) {
    float4* parts = (float4*)to;
    parts[0] = make_float4(p.position.x, p.position.y, p.position.z, p.age);
    parts[1] = make_float4(p.velocity.x, p.velocity.y, p.velocity.z, p.life);
}

__device__ inline Particle get(const Particle* from) {
    const float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
    return {{a.x, a.y, a.z}, a.w, {b.x, b.y, b.z}, b.w};
}

#define EACH                                                    \
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= count) return;

extern "C" __global__ void emit_each(Particle* particles, const Frame* frame, Scene scene, unsigned int count) {
    EACH Particle particle;
    if (emit(particle, scene, *frame, i, count)) put(particles + i, particle);
}

extern "C" __global__ void push_each(Particle* particles, const Frame* frame, Scene scene, unsigned int count) {
    EACH Particle particle = get(particles + i);
    if (!is_alive(particle)) return;
    push(particle, scene, *frame);
    put(particles + i, particle);
}

extern "C" __global__ void move_each(Particle* particles, const Frame* frame, Scene scene, unsigned int count) {
    EACH Particle particle = get(particles + i);
    if (!is_alive(particle)) return;
    move(particle, scene, *frame);
    put(particles + i, particle);
}

extern "C" __global__ void draw_each(
    const Particle* particles, const Camera* camera, Light* lights, unsigned int count, int width, int height) {
    EACH splat(get(particles + i), camera, lights, 10.0f, 0.8f, 7.0f, 0, width, height);
}

extern "C" __global__ void all_at_once(Particle* particles, const Frame* frame, Scene scene, const Camera* camera,
                                       Light* lights, unsigned int count, int width, int height) {
    EACH Particle particle = get(particles + i);
    emit(particle, scene, *frame, i, count);
    if (!is_alive(particle)) return;
    push(particle, scene, *frame);
    move(particle, scene, *frame);
    put(particles + i, particle);
    splat(particle, camera, lights, 10.0f, 0.8f, 7.0f, 0, width, height);
}
"""


class ByHand:
    """The program by hand: its kernels, and its state in memory of the device."""

    def __init__(self, device: Device, particles: Array, size: tuple[int, int], rate: float, frame: int) -> None:
        self.device, self.size, self.count = device, size, len(particles)
        architecture = HOST_ARCHITECTURE if device.info.name == "host" else device.info.architecture
        compiled = compile_cuda(SOURCE, Path("particles_by_hand.cu"), architecture, [KERNELS_FOLDER])
        self.module = device.load_module(compiled.cubin or compiled.ptx)
        self.cells = -(-size[0] // CELL), -(-size[1] // CELL)
        uniforms = np.array([(frame, frame * STEP_S, STEP_S, 0)], Frame.numpy)
        forces = (GRAVITY, DRAG, WIND_X, WIND_Z, TURBULENCE, SCALE, ATTRACTION, MIDDLE)
        self.scene = np.array([rate, LIFE, SPREAD, *forces, FLOOR, BOUNCE, FRICTION], np.float32).view("V56")[0]
        pixels, cells = size[0] * size[1], self.cells[0] * self.cells[1]
        arrays = {
            "particles": particles, "frame": uniforms, "camera": np.zeros(1, Camera.numpy),
            "lights": np.zeros(pixels, np.uint64), "glow": np.zeros((cells, 4), np.float32),
            "spread": np.zeros((cells, 4), np.float32), "image": np.zeros((size[1], size[0], 4), np.float32),
        }  # fmt: skip
        self.buffers: dict[str, Buffer] = {name: device.upload(array) for name, array in arrays.items()}

    def _run(self, kernel: str, threads: tuple[int, ...], *args: Any) -> None:
        block = (256,) if len(threads) == 1 else (32, 8)
        grid = tuple(-(-number // of) for number, of in zip(threads, block, strict=True))
        self.device.launch(self.module.kernel(kernel), grid=grid, thread_block=block, args=list(args))

    def frame(self, *, at_once: bool) -> None:
        """Launch one frame."""
        b, i = self.buffers, np.int32
        size, cells = (i(self.size[0]), i(self.size[1])), (i(self.cells[0]), i(self.cells[1]))
        state, count = (b["particles"], b["frame"], self.scene), np.uint32(self.count)
        numbers = map(np.float32, (20.0, 6.0, 17.0, 9.5, 1.7, 42.0))
        self._run("place_camera", (1,), b["camera"], b["frame"], *numbers, size[1])
        self.device.fill(b["lights"].memory, 0)
        if at_once:
            self._run("all_at_once", (self.count,), *state, b["camera"], b["lights"], count, *size)
        else:
            for kernel in ("emit_each", "push_each", "move_each"):
                self._run(kernel, (self.count,), *state, count)
            self._run("draw_each", (self.count,), b["particles"], b["camera"], b["lights"], count, *size)
        self._run("gather_glow", self.cells, b["lights"], b["glow"], i(0), *size, *cells)
        self._run("spread_glow", self.cells, b["glow"], b["spread"], i(0), *cells)
        self._run("spread_glow", self.cells, b["spread"], b["glow"], i(1), *cells)
        look = (*map(np.float32, (0.0, 0.8, 1.0)), i(0))
        runs = (self.size[0], self.cells[1] + 1)
        self._run("develop_picture", runs, b["lights"], b["glow"], b["image"], *look, *size, *cells)

    def free(self) -> None:
        """Free its memory."""
        for buffer in self.buffers.values():
            buffer.free()


def patch(count: int, size: tuple[int, int]) -> tuple[Patch, NodeRef, NodeRef]:
    """Return the patch, with the block that moves particles and the one that draws them."""
    made = Patch()
    emitter = made.add("particles.emitter", count=count, rate=float(count), life=LIFE)
    forces, move = made.add("particles.forces", **FORCES), made.add("particles.integrate")
    draw = made.add("particles.render_points", width=size[0], height=size[1])
    made.connect(emitter["particles"], forces["particles"])
    made.connect(forces["out"], move["particles"])
    made.connect(move["out"], draw["particles"])
    return made, move, draw


def difference(particles: Array, image: Array, by_hand: ByHand) -> str:
    """Return how far the particles and the picture are from those by hand."""
    theirs, picture = by_hand.buffers["particles"].download(), by_hand.buffers["image"].download()
    place = np.abs(particles["position"] - theirs["position"]).max()
    return f"places differ by {place:.2g} m, the picture by {np.abs(image - picture).max():.2g}"


def main() -> None:
    """Print the times for the device on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--count", type=int)
    parser.add_argument("--size", nargs=2, type=int, default=(1920, 1080), metavar=("WIDTH", "HEIGHT"))
    options = parser.parse_args()
    with closing(open_device(options.device)) as device:
        on_gpu = device.info.name != "host"
        count, size, batch = (
            options.count or (10_000_000 if on_gpu else 200_000),
            tuple(options.size),
            10 if on_gpu else 1,
        )
        made, move, draw = patch(count, size)
        print(f"{device.info.title}: {count} particles, {size[0]} x {size[1]} pixels")
        with Engine(made, device, profiling=ProfilingLevel.NONE, time_step_s=STEP_S) as engine:
            for _ in range(FRAMES):
                report = engine.step()
                assert not report.diagnostics, report.diagnostics
            programs = [ByHand(device, engine.read(move["out"]), size, count, FRAMES) for _ in range(2)]
            engine.step()
            for program, at_once in zip(programs, (False, True), strict=True):
                program.frame(at_once=at_once)
                device.synchronize()
                print(difference(engine.read(move["out"]), engine.read(draw["image"]), program))
            compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
            assert compiled is not None
            frames: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
                "patch": (lambda: compiled.launch(stream), stream.synchronize),
                "by hand, a kernel for each step": (lambda: programs[0].frame(at_once=False), device.synchronize),
                "by hand, one kernel": (lambda: programs[1].frame(at_once=True), device.synchronize),
            }
            taken = {name: milliseconds(launch, wait, batch) for name, (launch, wait) in frames.items()}
            for name, time in taken.items():
                print(f"{name:32}{time:9.4f} ms {taken['patch'] / time:7.2f} x")
            for program in programs:
                program.free()


if __name__ == "__main__":
    main()
