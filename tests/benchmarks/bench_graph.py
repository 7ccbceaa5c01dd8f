"""The cost of building, cloning and changing a graph: `python -m tests.benchmarks.bench_graph --device cuda:0`.

Every figure is the shortest of several runs, in microseconds per node, for a chain of kernels with five arguments. On
CUDA the bare driver calls are timed beside ours, with launch and argument addresses made beforehand, and the ratio of
ours to theirs is printed.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.device.arguments import KernelArguments, pack_arguments
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import GraphNode, LaunchConfig, LoadedKernel

PTX = """.version 7.5
.target sm_75
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .u64 out, .param .f32 a, .param .u32 n) { ret; }
"""
CONFIG = LaunchConfig((1, 1, 1), (64, 1, 1))
REPEATS = 7


class Chain:
    """A chain of kernels that was built once, and the parts to build it again."""

    def __init__(self, device: Device, kernel: LoadedKernel, buffers: list[Buffer], length: int) -> None:
        self.device, self.kernel, self.buffers, self.length = device, kernel, buffers, length
        self.arguments = self.pack()
        self.graph = self.build()
        self.nodes = [GraphNode(index) for index in range(length)]
        self.executable = self.graph.instantiate()

    def pack(self) -> list[KernelArguments]:
        """Pack the argument blocks."""
        parameters = self.kernel.parameters
        return [pack_arguments(parameters, [*self.buffers, 0.5, 64]) for _ in range(self.length)]

    def build(self) -> Graph:
        """Build the graph from existing argument blocks."""
        graph, after = self.device.create_graph(), list[GraphNode]()
        for arguments in self.arguments:
            after = [graph.add_kernel(self.kernel, CONFIG, arguments, after)]
        return graph

    def write_and_update(self) -> None:
        """Change a scalar of every node."""
        for node, arguments in zip(self.nodes, self.arguments, strict=True):
            arguments.set(3, 0.25)
            self.executable.update_kernel(node, self.kernel, CONFIG, arguments)

    def edit(self) -> Graph:
        """Remove a node from the middle of a clone."""
        clone = self.graph.clone()
        middle = self.length // 2
        clone.remove(GraphNode(middle))
        clone.set_after(GraphNode(middle + 1), [GraphNode(middle - 1)])
        return clone


def best(work: Callable[[], Any]) -> float:
    """Return the shortest time of several, in seconds, without destroying the results."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        made = work()
        times.append(time.perf_counter() - began)
        if hasattr(made, "destroy"):
            made.destroy()
    return min(times)


class Destroyed:
    """A driver object, with the driver's function that destroys it."""

    def __init__(self, handle: Any, give_back: Callable[[Any], object]) -> None:
        self.handle, self._give_back = handle, give_back

    def destroy(self) -> None:
        """Destroy the object."""
        self._give_back(self.handle)


def bare_works(chain: Chain) -> dict[str, Callable[[], Any]]:
    """Return the driver calls that each kind of work needs at least."""
    from cuda.bindings import driver

    from warploom.engine.device.cuda.launch import NativeLaunch

    kernel: Any = chain.kernel
    launches = [NativeLaunch() for _ in chain.arguments]  # the driver reads their memory later
    for launch, arguments in zip(launches, chain.arguments, strict=True):
        launch.set(kernel, CONFIG, arguments)

    def build() -> Destroyed:
        _, graph = driver.cuGraphCreate(0)
        before: list[Any] = []
        for launch in launches:
            _, node = driver.cuGraphAddKernelNode(graph, before, len(before), launch.native)
            before = [node]
        return Destroyed(graph, driver.cuGraphDestroy)

    built = build().handle
    _, executable = driver.cuGraphInstantiate(built, 0)
    _, nodes, _ = driver.cuGraphGetNodes(built, chain.length)

    def update() -> None:
        for node, launch in zip(nodes, launches, strict=True):
            driver.cuGraphExecKernelNodeSetParams(executable, node, launch.native)

    return {
        "add kernels": build,
        "instantiate": lambda: Destroyed(driver.cuGraphInstantiate(built, 0)[1], driver.cuGraphExecDestroy),
        "write and update": update,
        "clone": lambda: Destroyed(driver.cuGraphClone(built)[1], driver.cuGraphDestroy),
    }


def bench(device: Device, length: int) -> None:
    """Print the table for chains of one length."""
    buffers = [device.upload(np.zeros(64, np.float32)) for _ in range(3)]
    chain = Chain(device, device.load_module(PTX).kernel("saxpy"), buffers, length)
    bare = bare_works(chain) if device.info.name.startswith("cuda") else {}
    works: dict[str, Callable[[], Any]] = {
        "pack arguments": chain.pack,
        "add kernels": chain.build,
        "instantiate": chain.graph.instantiate,
        "write and update": chain.write_and_update,
        "clone": chain.graph.clone,
        "clone, remove one": chain.edit,
    }
    for name, work in works.items():
        ours = best(work)
        line = f"{length:6}  {name:18} {ours / length * 1e6:8.2f} us a node  {ours * 1e3:8.2f} ms"
        if name in bare:
            theirs = best(bare[name])
            line += f"   bare {theirs / length * 1e6:6.2f} us   ours / bare {ours / theirs:5.2f}"
        print(line)


def main() -> None:
    """Print the tables for the device on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--plain-edges", action="store_true")
    options = parser.parse_args()
    device = open_device(options.device, plain_edges=options.plain_edges)
    print(device.info.name, device.info.title)
    for length in (100, 1000, 10000):
        bench(device, length)
    device.close()


if __name__ == "__main__":
    main()
