"""Runs the data of a graph on a device, as exported programs do on a GPU."""

import base64
import struct
from typing import Any

import numpy as np

from warploom.engine.device.arguments import KernelArguments, pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import (
    Condition,
    ConditionalKind,
    Executable,
    GraphNode,
    LaunchConfig,
    Memory,
    part_of,
)
from warploom.engine.export.graph_data import GraphData, OperationData, OutputData


class Replay:
    """The graph with its memory, built from the data alone."""

    def __init__(self, graph: GraphData, device: Device) -> None:
        self.graph, self.device, self.frame = graph, device, 0
        self._modules = [device.load_module(module.ptx) for module in graph.modules]
        self._buffers: list[Memory] = [device.allocate(max(1, buffer.size_bytes)) for buffer in graph.buffers]
        for memory, buffer in zip(self._buffers, graph.buffers, strict=True):
            device.fill(memory, 0)
            if buffer.contents:
                device.write(memory, np.frombuffer(base64.b64decode(buffer.contents), np.uint8))
        self._uniforms = device.pinned(np.zeros(16, np.uint8))
        self._blocks = [bytearray(base64.b64decode(made.block)) for made in graph.operations]
        self._variants: list[_Variant] = []

    def set(self, name: str, value: float) -> None:
        """Set a live parameter."""
        for index, offset, _, form in self.graph.parameters[name].places:
            struct.pack_into(f"<{form}", self._blocks[index], offset, value)
        self._destroy()

    def step(self) -> None:
        """Run a frame."""
        if not self._variants:
            frames = (0, 1) if self.graph.swaps else (0,)
            self._variants = [_Variant(self, self._places(frame)) for frame in frames]
        step_s = self.graph.time_step_s
        uniforms = struct.pack("<IffI", self.frame, self.frame * step_s, step_s, 0)
        self._uniforms.array[:] = np.frombuffer(uniforms, np.uint8)
        stream = self.device.create_stream()
        self._variants[self.frame % len(self._variants)].executable.launch(stream)
        stream.synchronize()
        stream.destroy()
        self.frame += 1

    def read(self, output: OutputData) -> bytes:
        """Return the elements of an output, without gaps."""
        data = np.empty(output.span_bytes, np.uint8)
        whole = self._places(self.frame - 1)[output.buffer]
        self.device.read(part_of(whole, output.offset, output.span_bytes), data)
        steps = [output.element_bytes * stride for stride in output.strides]
        return np.ndarray(output.shape, f"V{output.element_bytes}", data, 0, steps).tobytes()

    def close(self) -> None:
        """Free everything."""
        self._destroy()
        for memory in self._buffers:
            memory.free()
        self._uniforms.free()

    def _places(self, frame: int) -> list[Memory]:
        found = list(self._buffers)
        for one, other in self.graph.swaps if frame % 2 else ():
            found[one], found[other] = self._buffers[other], self._buffers[one]
        return found

    def _destroy(self) -> None:
        for variant in self._variants:
            variant.executable.destroy()
        self._variants = []


class _Variant:
    """The graph with the addresses of its buffers in even or in odd frames."""

    def __init__(self, owner: Replay, places: list[Memory]) -> None:
        self._owner, self._places = owner, places
        graph = owner.device.create_graph()
        self._scopes: dict[int, Graph] = {0: graph}
        self._conditions: dict[int, Condition] = {}
        nodes: list[GraphNode] = []
        for index, made in enumerate(owner.graph.operations):
            after = [nodes[other] for other in made.after]
            nodes.append(self._add(self._scopes[made.scope], index, made, after))
        self.executable: Executable = graph.instantiate()
        graph.destroy()

    def _add(self, graph: Graph, index: int, made: OperationData, after: list[GraphNode]) -> GraphNode:
        match made.kind:
            case "kernel":
                kernel = self._owner._modules[made.module].kernel(made.entry)
                config = LaunchConfig(made.grid, made.thread_block, made.shared_bytes)
                return graph.add_kernel(kernel, config, self._arguments(index, made, kernel.parameters), after)
            case "fill":
                return graph.add_memset(self._part(made.target, made), made.value, made.size_bytes, after, made.width)
            case "copy":
                to, origin = self._part(made.target, made), self._part(made.source, made)
                return graph.add_copy(to, origin, made.size_bytes, after)
            case "frame":
                return graph.add_copy(self._part(made.target, made), self._owner._uniforms, made.size_bytes, after)
            case "if" | "switch" | "while":
                kind, count = ConditionalKind[made.kind.upper()], len(made.bodies)
                if made.kind == "if" and count == 2:
                    kind = ConditionalKind.IF_ELSE
                number = count if made.kind == "switch" else None
                node, bodies = graph.add_conditional(kind, self._condition(made), after, bodies=number)
                self._scopes.update(zip(made.bodies, bodies, strict=True))
                return node
        return graph.add_memset(self._places[0], 0, 0, after)

    def _arguments(self, index: int, made: OperationData, parameters: Any) -> KernelArguments:
        block = self._owner._blocks[index]
        values: dict[int, object] = {}
        for offset, size in zip(made.offsets, made.sizes, strict=True):
            values[offset] = bytes(block[offset : offset + size])
        for offset, buffer, start in made.addresses:
            whole = self._places[buffer]
            values[offset] = part_of(whole, start, whole.size_bytes - start)
        if made.condition[0] >= 0:
            values[made.condition[1]] = int(self._condition(made))
        return pack_arguments(parameters, list(values.values()))

    def _condition(self, made: OperationData) -> Condition:
        if made.condition[0] not in self._conditions:
            self._conditions[made.condition[0]] = self._scopes[made.scope].create_condition(0)
        return self._conditions[made.condition[0]]

    def _part(self, place: tuple[int, int], made: OperationData) -> Memory:
        return part_of(self._places[place[0]], place[1], made.size_bytes)
