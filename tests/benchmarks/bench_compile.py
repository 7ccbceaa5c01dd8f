"""The cost of compiling a patch: `python -m tests.benchmarks.bench_compile --device cuda:0`.

Times are the shortest of several, from a `GraphDescription` to an executable, with modules loaded and memory allocated,
as in a patch that is being edited. On CUDA, the same nodes are also added and instantiated by bare driver calls. Each
full compile gets new descriptions, for which nothing is memoised.
"""

import argparse
import dataclasses
import gc
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from warploom.engine.blocktypes.describing import describe
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph, compile_plan
from warploom.engine.compiler.frame import Frame
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.runtime.memory.buffer_pool import BufferPool
from warploom.engine.runtime.memory.graph_memory import GraphMemory, allocate_buffers, keep_memory
from warploom.engine.runtime.memory.state_store import StateStore
from warploom.engine.runtime.model.module_cache import ModuleCache
from warploom.engine.runtime.model.plan_kernels import PlanKernels

REPEATS = 7
ELEMENTS = 1024


class Bench:
    """A device with the resources of an engine's graphs."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.modules = ModuleCache(device)
        self.pool = BufferPool(device)
        self.states = StateStore(self.pool, device)
        self.frame = device.pinned(np.zeros(1, Frame.numpy))
        self.frame_memory = self.pool.acquire(Frame.size_bytes)

    def realise(
        self,
        plan: Plan,
        values: Mapping[str, Mapping[str, object]],
        running: tuple[CompiledGraph, GraphMemory] | None = None,
    ) -> tuple[CompiledGraph, GraphMemory]:
        """Make the executable of a plan, from the `running` one if possible."""
        changes = plan_difference(running[0].plan, plan) if running else None
        claimed = keep_memory(changes, running[1]) if changes and running else None
        memory = allocate_buffers(plan, self.device, self.pool, self.states, self.frame_memory, claimed)
        kernels = PlanKernels(plan, self.modules)
        resources = Resources(memory.by_owner, kernels, values, self.frame, memory.status, memory.swapped)
        return compile_plan(plan, self.device, resources, running[0] if running else None), memory


def patch(blocks: int, seed: int = 1) -> tuple[GraphDescription, dict[str, dict[str, object]]]:
    """Return a description of `blocks` saxpy blocks, each fed by two earlier ones nearby, and their values.

    Their second input is optional here, and unconnected at the block in the middle.
    """
    random.seed(seed)
    catalogue = default_catalogue()
    saxpy, array = catalogue.require("math.saxpy"), catalogue.require("io.array")
    source = array("b0", {"data": np.ones(ELEMENTS, np.float32)})
    nodes = [BlockNode("b0", describe(source))]
    values: dict[str, dict[str, object]] = {"b0": source.values}
    connections = []
    asked = describe(saxpy("b1"))
    ports = tuple(replace(port, optional=True) if port.name == "y" else port for port in asked.ports)
    asked = dataclasses.replace(asked, ports=ports)
    for number in range(1, blocks + 1):
        block = saxpy(f"b{number}")
        nodes.append(BlockNode(block.node, asked))
        values[block.node] = block.values
        for port in ("x",) if number == blocks // 2 else ("x", "y"):
            feeding = f"b{random.randrange(max(0, number - 8), number)}"
            connections.append(Connection(PortRef(feeding, "out"), PortRef(block.node, port)))
    return GraphDescription(tuple(nodes), tuple(connections)), values


def connected(description: GraphDescription) -> GraphDescription:
    """Return the description with a connection to the unconnected input in the middle."""
    middle = (len(description.nodes) - 1) // 2
    made = Connection(PortRef(f"b{max(0, middle - 5)}", "out"), PortRef(f"b{middle}", "y"))
    return GraphDescription(description.nodes, (*description.connections, made))


def rewired(description: GraphDescription) -> GraphDescription:
    """Return the description with one connection in the middle moved to another source."""
    connections = list(description.connections)
    middle = len(connections) // 2
    old = connections[middle]
    number = int(old.target.node[1:])
    connections[middle] = Connection(PortRef(f"b{max(0, number - 12)}", "out"), old.target)
    return GraphDescription(description.nodes, tuple(connections))


def shortest(work: Callable[[Any], Any], prepare: Callable[[], Any], finish: Callable[[Any], None]) -> float:
    """Return the shortest time of `work` in seconds, without that of `prepare` and `finish`."""
    times = []
    for _ in range(REPEATS):
        given = prepare()
        gc.collect()
        gc.disable()
        began = time.perf_counter()
        made = work(given)
        times.append(time.perf_counter() - began)
        gc.enable()
        finish(made)
    return min(times)


def bare(bench: Bench, compiled: CompiledGraph) -> Callable[[Any], Any]:
    """Return the driver calls that add the nodes of a compiled graph and instantiate it."""
    from cuda.bindings import driver

    from warploom.engine.device.cuda.launch import NativeLaunch

    nodes = {node.operation: node for node in compiled.kernels}
    launches: list[tuple[NativeLaunch, tuple[int, ...]]] = []  # the driver reads their memory later
    for index, node in sorted(nodes.items()):
        kernel: Any = node.kernel.kernel
        launches.append((NativeLaunch(), compiled.plan.operations[index].after))
        launches[-1][0].set(kernel, node.config, node.arguments)

    def work(_: object) -> Any:
        _, graph = driver.cuGraphCreate(0)
        handles: list[Any] = []
        for launch, after in launches:
            before = [handles[i] for i in after]
            handles.append(driver.cuGraphAddKernelNode(graph, before, len(before), launch.native)[1])
        return graph, driver.cuGraphInstantiate(graph, 0)[1]

    return work


def bare_finish(made: Any) -> None:
    """Destroy a bare graph."""
    from cuda.bindings import driver

    driver.cuGraphExecDestroy(made[1])
    driver.cuGraphDestroy(made[0])


def bench_size(bench: Bench, blocks: int) -> None:
    """Print the row of one patch size."""
    _, values = patch(blocks)

    def finish(made: tuple[CompiledGraph, GraphMemory]) -> None:
        made[0].destroy()
        made[1].release(bench.pool)

    full = shortest(lambda d: bench.realise(make_plan(d), values), lambda: patch(blocks)[0], finish)
    plan_only = shortest(make_plan, lambda: patch(blocks)[0], lambda _: None)
    description = patch(blocks)[0]
    compiled, memory = bench.realise(make_plan(description), values)
    edits = {}
    for name, edit in (("connected", connected), ("rewired", rewired)):
        again = shortest(
            lambda d: bench.realise(make_plan(d, previous=compiled.plan), values, (compiled, memory)),
            lambda edit=edit: edit(description),
            finish,
        )
        plan_again = shortest(
            lambda d: make_plan(d, previous=compiled.plan), lambda edit=edit: edit(description), lambda _: None
        )
        edits[name] = f"{name} {again * 1e3:7.2f} ms (plan {plan_again * 1e3:6.2f}), {again / full:.2f} of full   "
    placement = compiled.plan.placement
    line = (
        f"{blocks:6} blocks  full {full * 1e3:8.2f} ms (plan {plan_only * 1e3:7.2f})   "
        f"{edits['connected']}{edits['rewired']}"
        f"memory {placement.size_bytes >> 10} of {placement.unshared_bytes >> 10} KB"
    )
    if bench.device.info.name.startswith("cuda"):
        theirs = shortest(bare(bench, compiled), lambda: None, bare_finish)
        line += f"   bare calls {theirs * 1e3:.2f} ms, full / bare {full / theirs:.2f}"
    print(line)
    finish((compiled, memory))


def main() -> None:
    """Print the table for the device on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--blocks", type=int, nargs="*", default=[100, 1000, 10000])
    arguments = parser.parse_args()
    device = open_device(arguments.device)
    print(device.info.name, device.info.title)
    bench = Bench(device)
    for blocks in arguments.blocks:
        bench_size(bench, blocks)
    bench.frame.free()
    bench.modules.close()
    bench.pool.close()
    device.close()


if __name__ == "__main__":
    main()
