"""Particles that are pushed and moved on a CPU, beside loops in C, numba, Taichi and numpy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import numpy as np

from tests.benchmarks.bench_particles import (
    ATTRACTION,
    BOUNCE,
    DRAG,
    FLOOR,
    FORCES,
    FRICTION,
    GRAVITY,
    MIDDLE,
    STEP_S,
    WIND_X,
    WIND_Z,
)
from tests.benchmarks.side_by_side.contest import OURS, Contest, Program
from tests.benchmarks.side_by_side.peers import taichi_programs
from tests.benchmarks.side_by_side.topics.fluids import library_of
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.types import Array

COUNT, NEAR = 1_000_000, 1e-3
NUMBERS = STEP_S, GRAVITY, DRAG, WIND_X, WIND_Z, ATTRACTION, MIDDLE, FLOOR, BOUNCE, FRICTION
#: The columns of a particle are its place and age, and its velocity and life.
SOURCE = r"""
#include <math.h>
void push(float* particles, long count, float step, float gravity, float drag, float wind_x, float wind_z,
          float attraction, float middle, float floor_, float bounce, float friction) {
    const float kept = expf(-drag * step);
    #pragma omp parallel for
    for (long i = 0; i < count; i++) {
        float* p = particles + 8 * i;
        if (!(p[3] < p[7])) continue;
        const float x = -p[0], y = middle - p[1], z = -p[2];
        const float pull = attraction / sqrtf(x * x + y * y + z * z + 0.25f);
        p[4] = wind_x + (p[4] + x * pull * step - wind_x) * kept;
        p[5] = (p[5] + (gravity + y * pull) * step) * kept;
        p[6] = wind_z + (p[6] + z * pull * step - wind_z) * kept;
        p[3] += step;
        p[0] += p[4] * step, p[1] += p[5] * step, p[2] += p[6] * step;
        const float below = floor_ - p[1];
        if (below > 0 && p[5] < 0) {
            p[1] = floor_ + below * bounce;
            p[4] *= 1 - friction, p[5] *= -bounce, p[6] *= 1 - friction;
        }
    }
}
"""


def contests(device: Device, scale: float = 1.0) -> Iterator[Contest]:
    """Yield the contest on the host device; `scale` multiplies the particles."""
    if device.info.name != "host":
        return
    crowd = Crowd(device, round(COUNT * scale))
    others: dict[str, Callable[[Array, ExitStack], Callable[[], object]]] = {
        "C": crowd.in_c, "numba": crowd.in_numba, "Taichi": partial(taichi_programs.pushed, NUMBERS),
        "numpy": crowd.in_numpy,
    }  # fmt: skip
    programs = {OURS: crowd.patch, **{name: partial(crowd.compared, make) for name, make in others.items()}}
    yield Contest(
        f"{crowd.count:,} particles pushed and moved", programs, wanted=1.3, against="C", moved_bytes=64 * crowd.count
    )


class Crowd:
    """The particles of a patch, which other programs go on with."""

    def __init__(self, device: Device, count: int) -> None:
        self._device, self.count = device, count
        self._engine: Engine | None = None

    def patch(self, opened: ExitStack) -> Program:
        """Run the blocks."""
        patch = Patch()
        source, forces = patch.add("particles.scatter", count=self.count), patch.add("particles.forces", **FORCES)
        patch.set(forces, turbulence=0.0)
        self._moved = patch.add("particles.integrate")
        patch.connect(source["particles"], forces["particles"])
        patch.connect(forces["out"], self._moved["particles"])
        engine = self._engine = opened.enter_context(
            Engine(patch, self._device, profiling=ProfilingLevel.NONE, time_step_s=STEP_S)
        )
        engine.step()
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert compiled is not None
        return Program(lambda: compiled.launch(stream), stream.synchronize)

    def _read(self) -> Array:
        assert self._engine is not None
        return self._engine.read(self._moved["out"]).view(np.float32).reshape(self.count, 8)

    def compared(self, make: Callable[[Array, ExitStack], Callable[[], object]], opened: ExitStack) -> Program:
        """Return a program that goes on from the patch's particles, after one frame of both was compared."""
        particles = np.array(self._read())
        step = make(particles, opened)
        step()
        assert self._engine is not None
        self._engine.step()
        difference = np.abs(particles[:, :3] - self._read()[:, :3]).max()
        if not difference < NEAR:
            raise ArithmeticError(f"places differ by {difference:.2g}")
        return Program(step)

    @staticmethod
    def in_c(particles: Array, opened: ExitStack) -> Callable[[], object]:
        """Call C with OpenMP."""
        push, place = library_of(SOURCE, opened).push, particles.ctypes.data_as(ctypes.c_void_p)
        return lambda: push(place, ctypes.c_long(len(particles)), *map(ctypes.c_float, NUMBERS))

    @staticmethod
    def in_numba(particles: Array, _: ExitStack) -> Callable[[], object]:
        """Call a parallel loop of numba."""
        from numba import njit, prange

        @njit(parallel=True)
        def push(  # type: ignore[no-untyped-def]
            particles, step, gravity, drag, wind_x, wind_z, attraction, middle, floor, bounce, friction
        ):
            kept, one, soft = np.exp(-drag * step), np.float32(1), np.float32(0.25)
            for i in prange(len(particles)):
                p = particles[i]
                if p[3] < p[7]:
                    x, y, z = -p[0], middle - p[1], -p[2]
                    pull = attraction / np.sqrt(x * x + y * y + z * z + soft)
                    p[4] = wind_x + (p[4] + x * pull * step - wind_x) * kept
                    p[5] = (p[5] + (gravity + y * pull) * step) * kept
                    p[6] = wind_z + (p[6] + z * pull * step - wind_z) * kept
                    p[3] += step
                    p[0] += p[4] * step
                    p[1] += p[5] * step
                    p[2] += p[6] * step
                    below = floor - p[1]
                    if below > 0 and p[5] < 0:
                        p[1] = floor + below * bounce
                        p[4] *= one - friction
                        p[5] *= -bounce
                        p[6] *= one - friction

        return partial(push, particles, *map(np.float32, NUMBERS))

    @staticmethod
    def in_numpy(particles: Array, _: ExitStack) -> Callable[[], object]:
        """Call numpy."""
        step, gravity, drag, wind_x, wind_z, attraction, middle, floor, bounce, friction = map(np.float32, NUMBERS)
        wind, kept = np.array([wind_x, 0, wind_z], np.float32), np.exp(-drag * step)
        place, age, way, life = particles[:, :3], particles[:, 3], particles[:, 4:7], particles[:, 7]

        def push() -> None:
            alive = (age < life)[:, None]
            to = np.array([0, middle, 0], np.float32) - place
            pulled = to * (attraction / np.sqrt((to * to).sum(1, keepdims=True) + np.float32(0.25)))
            pulled[:, 1] += gravity
            np.copyto(way, wind + (way + pulled * step - wind) * kept, where=alive)
            np.copyto(age, age + step, where=alive[:, 0])
            np.copyto(place, place + way * step, where=alive)
            below = floor - place[:, 1]
            hit = alive[:, 0] & (below > 0) & (way[:, 1] < 0)
            place[hit, 1] = floor + below[hit] * bounce
            way[hit] *= np.array([1 - friction, -bounce, 1 - friction], np.float32)

        return push
