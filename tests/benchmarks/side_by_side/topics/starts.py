"""From the start of a process to the end of its first frame, with warm caches: particles, and a thousand blocks.

    python -m tests.benchmarks.side_by_side.topics.starts PROGRAM WORK DEVICE [warm]

runs one of them, as the contests do, and prints a number of its result. Other programs draw simple particles: they are
emitted, moved and added up in a picture of the same size. With `warm`, ours ends once its kernels are optimised, so
that later processes find them in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program

ROOT, WARM = Path(__file__).parents[4], "warm"
COUNT, SIZE, BLOCKS, TURNS = 100_000, (1280, 720), 1000, 3
KERNELS = """
extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void move(float4* places, float4* ways, float* image, int count, int width, int height) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 place = places[i], way = ways[i];
    way.y -= 4.0f / 60;
    place.x += way.x / 60, place.y += way.y / 60, place.z += way.z / 60;
    places[i] = place, ways[i] = way;
    const int x = (place.x + 1) * 0.5f * width, y = (place.y + 1) * 0.5f * height;
    if (x >= 0 && x < width && y >= 0 && y < height) atomicAdd(image + y * width + x, 1.0f);
}
"""
#: The same for Warp, which reads the source of functions from files.
WARP = """
import warp as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
    i = wp.tid()
    out[i] = a * x[i] + y[i]

@wp.kernel
def move(places: wp.array(dtype=wp.vec3), ways: wp.array(dtype=wp.vec3), image: wp.array2d(dtype=float)):
    i = wp.tid()
    way = ways[i] - wp.vec3(0.0, 4.0 / 60.0, 0.0)
    place = places[i] + way / 60.0
    ways[i] = way
    places[i] = place
    x = int((place[0] + 1.0) * 0.5 * float(image.shape[1]))
    y = int((place[1] + 1.0) * 0.5 * float(image.shape[0]))
    if x >= 0 and x < image.shape[1] and y >= 0 and y < image.shape[0]:
        wp.atomic_add(image, y, x, 1.0)
"""


def contests(device: Any) -> Iterator[Contest]:
    """Yield the contests on a device."""
    name = "host" if device.info.name == "host" else "cuda:0"
    peers = ("torch", "CuPy", "Warp") if name != "host" else ("torch", "Warp")
    for work, what in (("particles", f"{COUNT // 1000} k particles"), ("chain", f"{BLOCKS} blocks")):
        programs: dict[str, Callable[[ExitStack], Program]] = {OURS: partial(process, "ours", work, name)}
        programs |= {peer: partial(process, peer, work, name) for peer in peers}
        yield Contest(f"start to first frame, {what}", programs, turns=TURNS, settles=False)


def process(program: str, work: str, device: str, opened: ExitStack) -> Program:
    """Start a process for each launch, all with one folder of Python's compiled modules."""
    module = "tests.benchmarks.side_by_side.topics.starts"
    command = [sys.executable, "-m", module, program, work, device]
    outputs: list[str] = []
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = opened.enter_context(TemporaryDirectory())
    if program == "ours":
        subprocess.run([*command, WARM], cwd=ROOT, env=kept, capture_output=True, check=False)

    def launch() -> None:
        done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it failed"])[-1]
            raise Missing(last)
        outputs[:] = done.stdout.split()

    return Program(launch, result=(lambda: float(outputs[-1])) if work == "chain" else None)


def our_chain(device: str) -> float:
    """Run the blocks that `first_frame` measures."""
    from tests.benchmarks.first_frame import chain
    from warploom import Engine, ProfilingLevel

    patch = chain(BLOCKS)
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        wait_if_warming()
        return float(engine.read(patch[[*patch.nodes][-1]]["out"])[0])


def our_particles(device: str) -> float:
    """Run the example."""
    from warploom import Engine, ProfilingLevel
    from warploom.engine.patch.files import load_patch

    with Engine(
        load_patch(ROOT / "resources/examples/particles.loom"), device, profiling=ProfilingLevel.NONE
    ) as engine:
        frame = engine.step().frame
        wait_if_warming()
        return float(frame)


def wait_if_warming() -> None:
    """Wait until kernels are optimised, in a process that fills the caches for others."""
    while WARM in sys.argv and any(thread.name == "warploom-optimiser" for thread in threading.enumerate()):
        time.sleep(0.05)


def torch_chain(device: str) -> float:
    """Run a kernel each; on a GPU in a graph."""
    import torch

    on = "cpu" if device == "host" else "cuda"
    source = torch.ones(1024, device=on)
    torch.add(source, source, alpha=1.0)

    def run() -> Any:
        last = source
        for _ in range(BLOCKS):
            last = torch.add(source, last, alpha=1.0)
        return last

    if on == "cpu":
        return float(run()[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        last = run()
    graph.replay()
    return float(last[0])


def torch_particles(device: str) -> float:
    """Move and draw by torch's operations."""
    import torch

    on, (width, height) = "cpu" if device == "host" else "cuda", SIZE
    places, ways = torch.rand(COUNT, 3, device=on) * 2 - 1, torch.rand(COUNT, 3, device=on)
    ways[:, 1] -= 4 / 60
    places += ways / 60
    x, y = ((places[:, 0] + 1) * 0.5 * width).long(), ((places[:, 1] + 1) * 0.5 * height).long()
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    image = torch.zeros(width * height, device=on).index_add_(0, (y * width + x)[inside], inside[inside].float())
    return float(image.sum())


def cupy_chain(_: str) -> float:
    """Capture the launches of a kernel."""
    import cupy
    import numpy as np

    saxpy, stream = cupy.RawKernel(KERNELS, "saxpy"), cupy.cuda.Stream(non_blocking=True)
    with stream:
        source = last = cupy.ones(1024, np.float32)
        turns = [cupy.empty(1024, np.float32) for _ in range(2)]
        saxpy.compile()
        stream.begin_capture()
        for index in range(BLOCKS):
            saxpy((4,), (256,), (source, last, turns[index % 2], np.float32(1), np.int32(1024)))
            last = turns[index % 2]
        graph = stream.end_capture()
        graph.launch(stream)
        return float(last[0].get())


def cupy_particles(_: str) -> float:
    """Move and draw by one kernel."""
    import cupy
    import numpy as np

    (width, height), numbers = SIZE, np.random.default_rng(0)
    places, ways = (cupy.asarray(numbers.random((COUNT, 4), np.float32)) for _ in range(2))
    image, sizes = cupy.zeros((height, width), np.float32), map(np.int32, (COUNT, width, height))
    cupy.RawKernel(KERNELS, "move")((-(-COUNT // 256),), (256,), (places, ways, image, *sizes))
    return float(image.get().sum())


def warp_chain(device: str) -> float:
    """Capture the launches of a kernel."""
    warp, module, on = start_warp(device)
    with warp.ScopedDevice(on):
        source = last = warp.ones(1024, dtype=float)
        turns = [warp.empty(1024, dtype=float) for _ in range(2)]
        warp.load_module(module, device=on)
        with warp.ScopedCapture() as capture:
            for index in range(BLOCKS):
                warp.launch(module.saxpy, dim=1024, inputs=[source, last, turns[index % 2], 1.0])
                last = turns[index % 2]
        warp.capture_launch(capture.graph)
        return float(last.numpy()[0])


def warp_particles(device: str) -> float:
    """Move and draw by one kernel."""
    import numpy as np

    warp, module, on = start_warp(device)
    numbers = np.random.default_rng(0)
    with warp.ScopedDevice(on):
        places, ways = (warp.array(numbers.random((COUNT, 3), np.float32), dtype=warp.vec3) for _ in range(2))
        image = warp.zeros(SIZE[::-1], dtype=float)
        warp.launch(module.move, dim=COUNT, inputs=[places, ways, image])
        return float(image.numpy().sum())


def start_warp(device: str) -> tuple[Any, Any, str]:
    """Return Warp, its kernels and the name of the device."""
    import warp

    from tests.benchmarks.side_by_side.peers.warp_programs import load

    warp.config.quiet = True
    with TemporaryDirectory() as folder:
        module = load(WARP, "started", folder)
    return warp, module, "cpu" if device == "host" else device


#: The first frames of other programs, by program and work.
FIRST_FRAMES: dict[tuple[str, str], Callable[[str], float]] = {
    ("ours", "chain"): our_chain, ("ours", "particles"): our_particles,
    ("torch", "chain"): torch_chain, ("torch", "particles"): torch_particles,
    ("CuPy", "chain"): cupy_chain, ("CuPy", "particles"): cupy_particles,
    ("Warp", "chain"): warp_chain, ("Warp", "particles"): warp_particles,
}  # fmt: skip

if __name__ == "__main__":
    print(FIRST_FRAMES[sys.argv[1], sys.argv[2]](sys.argv[3]))
