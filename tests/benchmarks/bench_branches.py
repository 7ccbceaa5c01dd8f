"""Independent branches on the host device: `python -m tests.benchmarks.bench_branches [EXAMPLE]...`.

A branch is a chain of kernels of 256 elements. The first table shows the time of graphs with one and four branches,
of kernels that take from a tenth of a microsecond to a millisecond. The ratio is four branches over one: 1 is ideal on
four cores, and 4 means that the branches run one after the other. The second table shows the frames of examples, by
default of all. Times are medians in ms.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.benchmarks.bench_frame import EXAMPLES, milliseconds
from warploom import Engine, ProfilingLevel
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.protocol import GraphNode, LaunchConfig
from warploom.engine.patch.files import load_patch

#: Each element goes through `turns` iterations of a logistic map.
PTX = """.version 8.0
.target sm_75
.address_size 64
.visible .entry steps(.param .u64 x, .param .u32 turns) {
  .reg .b64 %a<3>; .reg .b32 %i<3>; .reg .f32 %v<3>; .reg .pred %p;
  ld.param.u64 %a0, [x]; mov.u32 %i0, %tid.x; mul.wide.u32 %a1, %i0, 4; add.u64 %a2, %a0, %a1;
  ld.global.f32 %v0, [%a2]; ld.param.u32 %i1, [turns]; mov.u32 %i2, 0;
again:
  sub.f32 %v1, 0f3F800000, %v0; mul.f32 %v1, %v1, %v0; mul.f32 %v0, %v1, 0f406CCCCD;
  add.u32 %i2, %i2, 1; setp.lt.u32 %p, %i2, %i1; @%p bra again;
  st.global.f32 [%a2], %v0; ret;
}
"""


def chains(device: Device, turns: int, length: int, count: int) -> tuple[Callable[[], None], list[Buffer]]:
    """Return a function that launches chains of `length` kernels of `turns` steps, and the elements of each chain."""
    kernel = device.load_module(PTX).kernel("steps")
    buffers = [device.upload(np.linspace(0.1, 0.9, 256, dtype=np.float32)) for _ in range(count)]
    graph = device.create_graph()
    after: list[list[GraphNode]] = [[] for _ in buffers]
    for _ in range(length):
        for branch, buffer in enumerate(buffers):
            arguments = pack_arguments(kernel.parameters, [buffer, turns])
            after[branch] = [graph.add_kernel(kernel, LaunchConfig((1, 1, 1), (256, 1, 1)), arguments, after[branch])]
    executable, stream = graph.instantiate(), device.create_stream()
    return lambda: executable.launch(stream), buffers


def bench_branches(device: Device, turns: int, length: int) -> None:
    """Print one row of the first table."""
    times, results = [], []
    for count in (1, 4):
        launch, buffers = chains(device, turns, length, count)
        for _ in range(5):
            launch()
        results += [buffer.download() for buffer in buffers]
        times.append(milliseconds(launch, max(20, 200_000 // (turns * length + 1000))))
    assert all(np.array_equal(result, results[0]) for result in results)
    one, four = times
    print(f"{length:5} kernels of {turns:6} steps: one branch {one:8.4f}   four {four:8.4f}   ratio {four / one:5.2f}")


def bench_example(device: Device, path: Path) -> None:
    """Print an example's frame time after its kernels were optimised."""
    with Engine(load_patch(path), device, profiling=ProfilingLevel.NONE) as engine:
        for _ in range(20):
            engine.step()
        print(f"{path.stem:12} {milliseconds(engine.step, 100):9.3f}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Time independent branches and examples on the host device.")
    parser.add_argument("examples", nargs="*", help="examples to time, by default all")
    names = parser.parse_args().examples
    device = HostDevice(quick_first=False)
    print(f"{device.info.title}, {device.info.cores} cores")
    for turns, length in ((1, 1), (1, 250), (100, 1), (100, 20), (1000, 1), (1000, 20), (10_000, 1)):
        bench_branches(device, turns, length)
    for path in sorted(EXAMPLES.glob("*.loom")):
        if not names or path.stem in names:
            bench_example(device, path)
    device.close()


if __name__ == "__main__":
    main()
