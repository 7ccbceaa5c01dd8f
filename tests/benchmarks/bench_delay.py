"""Ways to delay a buffer by a frame: `python -m tests.benchmarks.bench_delay --device cuda:0`.

A delayed buffer and the buffer it delays change places between frames. Three ways are timed, as the median of a frame
(prepare, launch, synchronise) of a chain of kernels of which some access the two buffers: two alternating executables;
one executable whose kernel nodes are updated with the other pointers before each launch; and a copy at the end of the
frame.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from warploom.engine.device.arguments import KernelArguments, pack_arguments
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import Executable, GraphNode, LaunchConfig

PTX = """.version 7.5
.target sm_75
.address_size 64
.visible .entry touch(.param .u64 x, .param .u64 y) { ret; }
"""
CONFIG = LaunchConfig((1, 1, 1), (64, 1, 1))
FRAMES = 400
KERNELS = 50


class Bench:
    """A chain of kernels over two buffers of one size."""

    def __init__(self, device: Device, size_bytes: int) -> None:
        self.device = device
        self.kernel = device.load_module(PTX).kernel("touch")
        self.buffers = [device.upload(np.zeros(size_bytes, np.uint8)) for _ in range(2)]
        self.stream = device.create_stream()

    def build(self, pair: list[Buffer], *, copies: bool = False) -> tuple[Executable, list[KernelArguments]]:
        """Return the executable and the argument blocks."""
        graph = self.device.create_graph()
        blocks, after = [], list[GraphNode]()
        for _ in range(KERNELS):
            blocks.append(pack_arguments(self.kernel.parameters, pair))
            after = [graph.add_kernel(self.kernel, CONFIG, blocks[-1], after)]
        if copies:
            graph.add_copy(pair[1].memory, pair[0].memory, pair[0].size_bytes, after)
        return graph.instantiate(), blocks

    def frame(self, executable: Executable) -> None:
        """Launch the graph and wait for its end."""
        executable.launch(self.stream)
        self.stream.synchronize()

    def by_turns(self) -> Callable[[int], None]:
        """Return a function that runs a frame, alternating between two executables."""
        pair = self.buffers, self.buffers[::-1]
        executables = [self.build(list(p))[0] for p in pair]
        return lambda number: self.frame(executables[number % 2])

    def updated(self, touching: int) -> Callable[[int], None]:
        """Return a function that runs a frame with one executable, some of whose nodes are updated."""
        executable, blocks = self.build(self.buffers)

        def frame(number: int) -> None:
            x, y = self.buffers if number % 2 else self.buffers[::-1]
            for index in range(touching):
                blocks[index].set(0, x)
                blocks[index].set(1, y)
                executable.update_kernel(GraphNode(index), self.kernel, CONFIG, blocks[index])
            self.frame(executable)

        return frame

    def copied(self) -> Callable[[int], None]:
        """Return a function that runs a frame with one executable that ends with a copy."""
        executable, _ = self.build(self.buffers, copies=True)
        return lambda number: self.frame(executable)


def microseconds(frame: Callable[[int], None]) -> float:
    """Return the median time of a frame in microseconds."""
    times = []
    for number in range(FRAMES):
        start = time.perf_counter()
        frame(number)
        times.append(time.perf_counter() - start)
    return median(times[20:]) * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    device = open_device(parser.parse_args().device)
    print(device.info.name, device.info.title, f"chain of {KERNELS} kernels, microseconds a frame")
    for size in (1 << 12, 1 << 22, 1 << 26):
        bench = Bench(device, size)
        turns = microseconds(bench.by_turns())
        line = f"{size >> 10:6} KB  by turns {turns:7.1f}"
        for touching in (2, 8, 32):
            line += f"   {touching} nodes updated {microseconds(bench.updated(touching)):7.1f}"
        print(line + f"   copied {microseconds(bench.copied()):7.1f}")
    device.close()


if __name__ == "__main__":
    main()
