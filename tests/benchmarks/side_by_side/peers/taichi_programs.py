"""What Taichi does of the contests. Its kernels are in a file of their own, since Taichi reads their source."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.benchmarks.side_by_side.contest import Missing, Program
from tests.benchmarks.side_by_side.peers.warp_programs import load
from warploom.engine.types import Array

KERNELS = """
import taichi as ti

plane = ti.types.ndarray(dtype=ti.f32, ndim=2)
flow = ti.types.ndarray(dtype=ti.f32, ndim=3)

@ti.kernel
def push(particles: plane, step: ti.f32, gravity: ti.f32, drag: ti.f32, wind_x: ti.f32, wind_z: ti.f32,
         attraction: ti.f32, middle: ti.f32, floor_: ti.f32, bounce: ti.f32, friction: ti.f32):
    kept = ti.exp(-drag * step)
    for i in range(particles.shape[0]):
        if particles[i, 3] < particles[i, 7]:
            place = ti.Vector([particles[i, 0], particles[i, 1], particles[i, 2]])
            way = ti.Vector([particles[i, 4], particles[i, 5], particles[i, 6]])
            wind = ti.Vector([wind_x, 0.0, wind_z])
            to = ti.Vector([0.0, middle, 0.0]) - place
            pulled = to * (attraction / ti.sqrt(to.dot(to) + 0.25)) + ti.Vector([0.0, gravity, 0.0])
            way = wind + (way + pulled * step - wind) * kept
            place += way * step
            below = floor_ - place[1]
            if below > 0 and way[1] < 0:
                place[1] = floor_ + below * bounce
                way *= ti.Vector([1 - friction, -bounce, 1 - friction])
            particles[i, 3] += step
            for k in ti.static(range(3)):
                particles[i, k] = place[k]
                particles[i, 4 + k] = way[k]

@ti.func
def at(v: ti.template(), x, y):
    i, j = ti.math.clamp(y, 0, v.shape[0] - 1), ti.math.clamp(x, 0, v.shape[1] - 1)
    return ti.Vector([v[i, j, 0], v[i, j, 1]])

@ti.func
def between(v: ti.template(), x, y):
    a = ti.math.clamp(x, 0.0, v.shape[1] - 1.0)
    b = ti.math.clamp(y, 0.0, v.shape[0] - 1.0)
    left, top = int(a), int(b)
    a -= left
    b -= top
    up = at(v, left, top) * (1 - a) + at(v, left + 1, top) * a
    low = at(v, left, top + 1) * (1 - a) + at(v, left + 1, top + 1) * a
    return up * (1 - b) + low * b

@ti.kernel
def begin(v: flow, moved: flow, outflow: plane, p: plane, step: ti.f32):
    for y, x in outflow:
        here = at(v, x, y)
        across = (at(v, x - 1, y)[1] + here[1] + at(v, x - 1, y + 1)[1] + at(v, x, y + 1)[1]) / 4
        along = (at(v, x, y - 1)[0] + here[0] + at(v, x + 1, y - 1)[0] + at(v, x + 1, y)[0]) / 4
        moved[y, x, 0] = between(v, x - step * here[0], y - step * across)[0] if x > 0 else 0.0
        moved[y, x, 1] = between(v, x - step * along, y - step * here[1])[1] if y > 0 else 0.0
    for y, x in outflow:
        total = -moved[y, x, 0] - moved[y, x, 1]
        if x + 1 < outflow.shape[1]:
            total += moved[y, x + 1, 0]
        if y + 1 < outflow.shape[0]:
            total += moved[y + 1, x, 1]
        outflow[y, x] = total
        p[y, x] = 0.0

@ti.kernel
def sweep(p: plane, outflow: plane, over: ti.f32, odd: ti.i32) -> ti.f32:
    most = 0.0
    for y, half in ti.ndrange(p.shape[0], (p.shape[1] + 1) // 2):
        x = 2 * half + (y + odd) % 2
        if x < p.shape[1]:
            here, total, open_ = p[y, x], 0.0, 0.0
            if x > 0:
                total += p[y, x - 1] - here
                open_ += 1
            if x + 1 < p.shape[1]:
                total += p[y, x + 1] - here
                open_ += 1
            if y > 0:
                total += p[y - 1, x] - here
                open_ += 1
            if y + 1 < p.shape[0]:
                total += p[y + 1, x] - here
                open_ += 1
            change = over * (total - outflow[y, x]) / open_
            p[y, x] = here + change
            ti.atomic_max(most, abs(change))
    return most

@ti.kernel
def relax(p: plane, outflow: plane, over: ti.f32, odd: ti.i32):
    for y, half in ti.ndrange(p.shape[0], (p.shape[1] + 1) // 2):
        x = 2 * half + (y + odd) % 2
        if x < p.shape[1]:
            here, total, open_ = p[y, x], 0.0, 0.0
            if x > 0:
                total += p[y, x - 1] - here
                open_ += 1
            if x + 1 < p.shape[1]:
                total += p[y, x + 1] - here
                open_ += 1
            if y > 0:
                total += p[y - 1, x] - here
                open_ += 1
            if y + 1 < p.shape[0]:
                total += p[y + 1, x] - here
                open_ += 1
            p[y, x] = here + over * (total - outflow[y, x]) / open_

@ti.kernel
def end(moved: flow, p: plane, after: flow):
    for y, x in p:
        after[y, x, 0] = moved[y, x, 0] - (p[y, x] - p[y, x - 1]) if x > 0 else 0.0
        after[y, x, 1] = moved[y, x, 1] - (p[y, x] - p[y - 1, x]) if y > 0 else 0.0
"""


def started(opened: ExitStack, *, on_gpu: bool) -> tuple[Any, Any]:
    """Return Taichi, which has begun anew, and the module of the kernels."""
    import taichi

    taichi.init(arch=taichi.cuda if on_gpu else taichi.cpu, log_level=taichi.ERROR, offline_cache=False, verbose=False)
    opened.callback(taichi.reset)
    if on_gpu and taichi.lang.impl.current_cfg().arch != taichi.cuda:
        raise Missing("Taichi has no CUDA")
    return taichi, load(KERNELS, "taichi_kernels", opened.enter_context(TemporaryDirectory()))


def pushed(numbers: tuple[float, ...], particles: Array, opened: ExitStack) -> Callable[[], object]:
    """Return a function that pushes and moves particles on the CPU, in place."""
    _, module = started(opened, on_gpu=False)
    return lambda: module.push(particles, *numbers)


def fluid(given: Array, numbers: tuple[float, float, int, float], on_gpu: bool, opened: ExitStack) -> Program:
    """Run a step of the fluid."""
    step, over, sweeps, enough = numbers
    taichi, module = started(opened, on_gpu=on_gpu)
    shape = given.shape[:2]
    source, moved, after = (taichi.ndarray(taichi.f32, given.shape) for _ in range(3))
    outflow, pressure = (taichi.ndarray(taichi.f32, shape) for _ in range(2))
    source.from_numpy(np.ascontiguousarray(given))

    def launch() -> None:
        module.begin(source, moved, outflow, pressure, step)
        change = 2 * enough
        while change > enough:
            for half in range(2 * sweeps - 2):
                module.relax(pressure, outflow, over, half % 2)
            change = max(module.sweep(pressure, outflow, over, half) for half in range(2))
        module.end(moved, pressure, after)

    return Program(launch, taichi.sync, after.to_numpy)
