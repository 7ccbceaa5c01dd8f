"""What Warp does of the contests. Its kernels are in files of their own, since Warp reads their source."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.benchmarks.side_by_side.contest import Program

SAXPY = """
import warp as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
    i = wp.tid()
    out[i] = a * x[i] + y[i] + 0.0 * float({number})
"""


FLUID = """
import warp as wp

@wp.func
def at(v: wp.array2d(dtype=wp.vec2), x: int, y: int):
    return v[wp.clamp(y, 0, v.shape[0] - 1), wp.clamp(x, 0, v.shape[1] - 1)]

@wp.func
def between(v: wp.array2d(dtype=wp.vec2), x: float, y: float):
    a = wp.clamp(x, 0.0, float(v.shape[1]) - 1.0)
    b = wp.clamp(y, 0.0, float(v.shape[0]) - 1.0)
    left, top = int(a), int(b)
    a -= float(left)
    b -= float(top)
    up = wp.lerp(at(v, left, top), at(v, left + 1, top), a)
    low = wp.lerp(at(v, left, top + 1), at(v, left + 1, top + 1), a)
    return wp.lerp(up, low, b)

@wp.kernel
def move_flow(v: wp.array2d(dtype=wp.vec2), out: wp.array2d(dtype=wp.vec2), step: float):
    y, x = wp.tid()
    here = v[y, x]
    across = (at(v, x - 1, y)[1] + here[1] + at(v, x - 1, y + 1)[1] + at(v, x, y + 1)[1]) / 4.0
    along = (at(v, x, y - 1)[0] + here[0] + at(v, x + 1, y - 1)[0] + at(v, x + 1, y)[0]) / 4.0
    i, j = float(x), float(y)
    moved = wp.vec2(0.0, 0.0)
    if x > 0:
        moved[0] = between(v, i - step * here[0], j - step * across)[0]
    if y > 0:
        moved[1] = between(v, i - step * along, j - step * here[1])[1]
    out[y, x] = moved

@wp.kernel
def sum_flow(v: wp.array2d(dtype=wp.vec2), out: wp.array2d(dtype=float), p: wp.array2d(dtype=float)):
    y, x = wp.tid()
    total = -v[y, x][0] - v[y, x][1]
    if x + 1 < v.shape[1]:
        total += v[y, x + 1][0]
    if y + 1 < v.shape[0]:
        total += v[y + 1, x][1]
    out[y, x] = total
    p[y, x] = 0.0

@wp.kernel
def relax_all(p: wp.array2d(dtype=float), outflow: wp.array2d(dtype=float), change: wp.array(dtype=float), over: float,
              odd: int, last: int):
    y, half = wp.tid()
    x = 2 * half + (y + odd) % 2
    if x < p.shape[1]:
        here, total, open_ = p[y, x], float(0.0), float(0.0)
        if x > 0:
            total += p[y, x - 1] - here
            open_ += 1.0
        if x + 1 < p.shape[1]:
            total += p[y, x + 1] - here
            open_ += 1.0
        if y > 0:
            total += p[y - 1, x] - here
            open_ += 1.0
        if y + 1 < p.shape[0]:
            total += p[y + 1, x] - here
            open_ += 1.0
        step = over * (total - outflow[y, x]) / open_
        p[y, x] = here + step
        if last != 0:
            wp.atomic_max(change, 0, wp.abs(step))

@wp.kernel
def take_slope(v: wp.array2d(dtype=wp.vec2), p: wp.array2d(dtype=float), out: wp.array2d(dtype=wp.vec2)):
    y, x = wp.tid()
    rest = wp.vec2(0.0, 0.0)
    if x > 0:
        rest[0] = v[y, x][0] - (p[y, x] - p[y, x - 1])
    if y > 0:
        rest[1] = v[y, x][1] - (p[y, x] - p[y - 1, x])
    out[y, x] = rest
"""


def load(source: str, name: str, folder: str) -> Any:
    """Import a module from its source."""
    path = Path(folder, f"{name}.py")
    path.write_text(source)
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Chain:
    """Kernels in Warp, captured as a graph."""

    def __init__(self) -> None:
        import warp

        warp.config.quiet = True
        self._warp, self._folder = warp, TemporaryDirectory()
        self._source = warp.ones(1024, dtype=float, device="cuda:0")
        self._turns = [warp.empty(1024, dtype=float, device="cuda:0") for _ in range(2)]

    def compile(self, number: int) -> None:
        """Compile the kernel anew."""
        self._module = load(SAXPY.format(number=number), f"saved_{number}", self._folder.name)
        self._warp.load_module(self._module, device="cuda:0")

    def replay(self, length: int) -> None:
        """Capture the launches and launch the graph."""
        warp = self._warp
        with warp.ScopedDevice("cuda:0"):
            with warp.ScopedCapture() as capture:
                last = self._source
                for index in range(length):
                    out = self._turns[index % 2]
                    warp.launch(self._module.saxpy, dim=1024, inputs=[last, self._source, out, 1.0])
                    last = out
            warp.capture_launch(capture.graph)
            warp.synchronize()


def fluid(
    given: np.ndarray[Any, Any], numbers: tuple[float, float, int, float], on_gpu: bool, opened: ExitStack
) -> Program:
    """Run a step of the fluid: captured graphs of its beginning, of its sweeps and of its end."""
    import warp

    step, over, sweeps, enough = numbers
    warp.config.quiet = True
    module = load(FLUID, "fluid", opened.enter_context(TemporaryDirectory()))
    shape, on = given.shape[:2], "cuda:0" if on_gpu else "cpu"
    with warp.ScopedDevice(on):
        source = warp.array(given, dtype=warp.vec2)
        moved, after = (warp.zeros(shape, dtype=warp.vec2) for _ in range(2))
        outflow, pressure = (warp.zeros(shape, dtype=float) for _ in range(2))
        change = warp.zeros(1, dtype=float)
        warp.load_module(module, device=on)
        with warp.ScopedCapture() as begin:
            warp.launch(module.move_flow, dim=shape, inputs=[source, moved, step])
            warp.launch(module.sum_flow, dim=shape, inputs=[moved, outflow, pressure])
        with warp.ScopedCapture() as turn:
            change.zero_()
            for half in range(2 * sweeps):
                values = [pressure, outflow, change, over, half % 2, int(half >= 2 * sweeps - 2)]
                warp.launch(module.relax_all, dim=(shape[0], (shape[1] + 1) // 2), inputs=values)
        with warp.ScopedCapture() as end:
            warp.launch(module.take_slope, dim=shape, inputs=[moved, pressure, after])

    def launch() -> None:
        warp.capture_launch(begin.graph)
        while True:
            warp.capture_launch(turn.graph)
            if change.numpy()[0] <= enough:
                break
        warp.capture_launch(end.graph)

    return Program(launch, lambda: warp.synchronize_device(on), after.numpy)
