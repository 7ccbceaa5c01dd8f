"""`Training`: a network that a person has wired, as the ports and entries of a block that trains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from engine.blocktypes.adaptive import Interface
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.entries import Kernel
from engine.descriptions.handles import BufferHandle
from engine.descriptions.ports import PortSpec
from engine.diagnostics import PatchError
from engine.kernel_sources.sources import OpGraphSource
from engine.network_patches.model import INPUTS, QUERY, Model
from engine.ops import GraphBuilder
from engine.tensor_graphs.graph import Node
from engine.tensor_graphs.lowering.program import Store, write_program
from engine.tensor_graphs.lowering.step import shape_rule
from engine.tensor_graphs.networks.functions import Function, Role, Variable
from engine.tensor_graphs.networks.network import LOSS, Network, build_network
from engine.tensor_graphs.networks.optimisers import SGD, AdamW, Optimiser, RAdam, Ranger
from engine.tensor_graphs.types import TensorType
from engine.types import f32

#: The optimisers by what a person calls them.
OPTIMISERS: Mapping[str, Optimiser] = {
    "AdamW": AdamW(),
    "RAdam": RAdam(),
    "Ranger": Ranger(),
    "SGD": SGD(momentum=0.9),
}
#: The live parameter with the learning rate, which is also the variable's name in networks.
RATE = "rate"
_HISTORY = Kernel("history.cu", "remember")


@dataclass(frozen=True)
class Options:
    """How a network is trained."""

    optimiser: str
    decay: float
    trains: bool
    has_query: bool
    history: int
    seed: int


class Training:
    """A network with its optimiser, before anything is on a device."""

    def __init__(self, model: Model, options: Options) -> None:
        """PatchError with the first problem of the model."""
        if model.problems:
            raise PatchError(str(model.problems[0]).removeprefix("error: "))
        self._options = options
        chosen = OPTIMISERS[options.optimiser]
        optimiser = type(chosen)(**{**vars(chosen), "decay": options.decay})
        self.network: Network = build_network(model.builder, optimiser, average=True)
        self._kept = tuple(model.builder.kept)
        self._queried = [name for kind in INPUTS for _, name in model.ends(kind)]

    @cached_property
    def _inputs(self) -> Mapping[str, Variable]:
        return self.network.of_role(Role.INPUT)

    @cached_property
    def _states(self) -> Mapping[str, Variable]:
        """What an optimiser keeps from step to step."""
        return self.network.of_role(Role.STATE)

    @cached_property
    def _digest(self) -> int:
        """A number for the optimiser and the first weights: with others, what the optimiser keeps begins anew too."""
        found = crc32(self._options.optimiser.encode())
        for name, item in self.network.of_role(Role.WEIGHTS).items():
            found = crc32(_stored(item).tobytes(), crc32(f"{name} {item.leaf.type}".encode(), found))
        return found

    def interface(self) -> Interface:
        """Return the ports of the block."""
        rows = f"{next(iter(self._inputs))}.dim0"
        ports = [_input(name, item.leaf.type, rows) for name, item in self._inputs.items()]
        if self._options.has_query:
            rows = f"{QUERY.format(self._queried[0])}.dim0"
            ports += [_input(QUERY.format(name), self._inputs[name].leaf.type, rows) for name in self._queried]
        for name in self._kept:
            type_ = self.network.variables[name].leaf.type
            asked = "the query" if self._options.has_query else "the batch"
            ports.append(PortSpec(name, "out", f32, f"What the network gives for {asked}.", shape_rule(type_, rows)))
        ports.append(PortSpec("loss", "out", f32, "The mean loss of the batch.", "[1]"))
        ports.append(
            PortSpec("losses", "out", f32, "The losses of the last frames, newest last.", "[history]", state=True)
        )
        for name, item in self.network.of_role(Role.WEIGHTS).items():
            shape = shape_rule(item.leaf.type, rows)
            ports.append(PortSpec(name, "out", f32, f"Weights, {item.leaf.type}.", shape, state=True))
        return Interface(tuple(ports), (), self)

    def describe(self, build: BlockBuilder) -> None:
        """Write what a frame does: a training step, and what the network gives for a query."""
        options, variables = self._options, self.network.variables
        placed = {item.leaf: BufferHandle(name) for name, item in self._inputs.items()}
        for name, item in self.network.of_role(Role.WEIGHTS).items():
            placed[item.leaf] = BufferHandle(name)
            build.provide(BufferHandle(name), _stored(item))
        for name, item in self._states.items():
            initial = _stored(item)
            rule = shape_rule(item.leaf.type, "1")
            placed[item.leaf] = build.buffer(
                f"_{name.replace('.', '_')}_{self._digest:08x}", item.leaf.type.dtype, rule, state=True, initial=initial
            )
        rate = placed[variables[RATE].leaf] = build.buffer("_rate", variables[RATE].leaf.type.dtype, "scalar")
        loss, losses = BufferHandle("loss"), BufferHandle("losses")
        step = self.network.functions["step" if options.trains else "forward"]
        if options.trains:
            build.compute(_stored_rate(), over=rate)
        given = {variables[LOSS].leaf: loss}
        if not options.has_query:
            given |= {variables[name].leaf: BufferHandle(name) for name in self._kept}
        self._write(build, step, placed, given, next(iter(self._inputs)))
        build.provide(losses, np.full(options.history, np.nan, np.float32))
        build.launch(_HISTORY, num_threads=256, thread_block=256, args=(losses, loss, losses.size))
        if options.has_query:
            asked = {self._inputs[name].leaf: BufferHandle(QUERY.format(name)) for name in self._queried}
            given = {variables[name].leaf: BufferHandle(name) for name in self._kept}
            first = QUERY.format(self._queried[0])
            self._write(build, self.network.functions["forward"], {**placed, **asked}, given, first)

    @staticmethod
    def _write(
        build: BlockBuilder,
        function: Function,
        placed: Mapping[Node, BufferHandle],
        given: Mapping[Node, BufferHandle],
        first: str,
    ) -> None:
        """Write a function whose variables are placed in buffers, and what else of its results is given."""
        wanted = function.only([*(leaf for leaf in placed if leaf in function.writes), *given]).optimised()
        stores = list(_stores(wanted, placed, given))
        write_program(build, stores, placed, f"{first}.dim0")


def _stores(
    function: Function, placed: Mapping[Node, BufferHandle], given: Mapping[Node, BufferHandle]
) -> Iterator[Store]:
    for leaf, node in function.writes.items():
        yield Store(node, given[leaf]) if leaf in given else Store(node, placed[leaf], leaf)


def _input(name: str, type_: TensorType, rows: str) -> PortSpec:
    """Return the port of an input, of which the first axis is the batch."""
    what = "places of the ones, -1 where there are fewer" if type_.nnz is not None else "one example a row"
    shape = list(type_.stored_shape)
    doc = f"{name}: {what}, {type_.stored_dtype}[batch, {', '.join(map(str, shape))}]."
    return PortSpec(name, "in", type_.stored_dtype, doc, shape_rule(type_, rows), rank=1 + len(shape))


def _stored(item: Variable) -> np.ndarray[Any, Any]:
    """Return what a variable holds at first, as it lies in memory."""
    type_ = item.leaf.type
    found = np.broadcast_to(np.asarray(item.initial, type_.dtype.numpy).reshape(-1), (type_.size,)).copy()
    return found.reshape(type_.stored_shape)


def _stored_rate() -> OpGraphSource:
    """Return the kernel that stores the learning rate where the optimiser reads it."""
    graph = GraphBuilder()
    rate = graph.add("op.parameter", "learning_rate")["out"]
    graph.add("op.output", "_rate", value=graph.add("op.convert", x=rate, type="f64")["out"], type="f64")
    return OpGraphSource.of(graph.graph())
