"""`Training`: a network that a person has wired, as the ports and entries of a block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from warploom.engine.blocktypes.adaptive import Interface
from warploom.engine.catalogue.fixed_catalogue import FixedCatalogue, RowBlock, row_block
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.entries import Kernel
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.inner_patches.network_members import CATEGORIES, ENDS, LOSSES, MEMBERS, Member
from warploom.engine.inner_patches.network_model import INPUTS, QUERY, Model
from warploom.engine.inner_patches.train_settings import UNSCHEDULED
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpGraphBuilder
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.lowering.program import Store, write_program
from warploom.engine.tensor_ir.lowering.step import shape_rule
from warploom.engine.tensor_ir.networks.builder import STEP
from warploom.engine.tensor_ir.networks.functions import NetworkFunction, NetworkVariable, Role
from warploom.engine.tensor_ir.networks.network import LOSS, Network, build_network
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW, Optimiser, RAdam, Ranger
from warploom.engine.tensor_ir.networks.schedules import CONSTANT, Cosine, Drop, Exponential, Linear, Schedule, Steps
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import any_type, f32, f64

#: The output of every member that has one.
OUT = "out"


def _network_block(member: Member) -> type[RowBlock]:
    """Return a member as a block type."""
    ports = [PortSpec(name, "in", any_type, doc, "same") for name, doc in member.inputs.items()]
    if member.output:
        ports.append(PortSpec(OUT, "out", any_type, member.output, ""))
    text = member.id, member.title, member.category, member.doc
    return row_block(*text, ports, member.settings, tags=member.tags)


@cache
def network_catalogue() -> FixedCatalogue:
    """Return the catalogue of members, by category."""
    shown = sorted(MEMBERS.values(), key=lambda member: CATEGORIES.index(member.category))
    blocks = {type_id: _network_block(member) for type_id, member in MEMBERS.items()}
    return FixedCatalogue("a member", blocks, [member.id for member in shown])


class NetworkPatch(InnerPatch):
    """The layers, operations and losses of one network."""

    kind: ClassVar[str] = "network"
    holds: ClassVar[str] = "layers of a network"
    own_types: ClassVar[Collection[str]] = MEMBERS.keys()
    ends: ClassVar[Mapping[str, str]] = {
        "net.input": "x",
        "net.sparse_input": "x",
        "net.target": "y",
        "net.output": "result",
    }
    infers_types: ClassVar[bool] = True
    derived: ClassVar[str] = "model"

    def __init__(self) -> None:
        super().__init__(network_catalogue())

    @cached_property
    def model(self) -> Model:
        """The current network."""
        return Model(self)

    @property
    def live(self) -> Collection[str]:
        """The nodes on which a loss or an output depends, and all ends."""
        members = ((node.id, MEMBERS.get(node.type)) for node in self.nodes.values())
        return self.feeding(node for node, member in members if member and member.category in (ENDS, LOSSES))

    @property
    def types(self) -> Mapping[str, object]:
        """The type of each node's tensor."""
        return {node: output.type for node, output in self.model.outputs.items()}

    def flow(self, port: PortRef, *, is_input: bool) -> TensorType | None:
        """Return the type of a port's values; None where it is not known."""
        source = self.source_of(port) if is_input else port
        return self.model.outputs[source.node].type if source and source.node in self.model.outputs else None

    def title(self, node_id: str) -> str:
        """Return a node's title on the canvas: a layer with its units."""
        node, title = self._require(node_id), super().title(node_id)
        return f"{title} {self.value(node_id, 'units')}" if node.type == "net.dense" and not node.title else title


#: The optimisers, by their names in `TrainSettings`.
OPTIMISERS: Mapping[str, Optimiser] = {
    "AdamW": AdamW(),
    "RAdam": RAdam(),
    "Ranger": Ranger(),
    "SGD": SGD(momentum=0.9),
}
#: Schedules by their names in `TrainSettings`, made from live parameters: steps, and a factor.
SCHEDULES: Mapping[str, Callable[[TensorNode, TensorNode], Schedule]] = {
    "constant": lambda steps, factor: CONSTANT,
    "warm-up": lambda steps, factor: CONSTANT,
    "steps": Steps,
    "exponential": lambda steps, factor: Exponential(factor ** (1.0 / steps)),
    "linear": Linear,
    "drop once": Drop,
    "cosine": Cosine,
}
#: Numbers of networks that can be set between steps, by the names of their live parameters.
_LIVE = {"learning_rate": "rate", "clip_norm": "clip_norm", "weight_decay": "decay"}
#: The live parameters of a schedule.
_SCHEDULED = ("learning_rate", "schedule_steps", "schedule_factor", "warmup_steps")
_HISTORY = Kernel("history.cu", "remember")


class Training:
    """A network with its optimiser, before anything is on a device."""

    def __init__(self, model: Model, settings: Mapping[str, Any]) -> None:
        """Raise a PatchError with the first problem of the model. `settings` are the parameters of `TrainSettings`."""
        if model.problems:
            first = model.problems[0]
            place = ".".join(part for part in (first.node, first.port) if part)
            raise PatchError(f"{place}: {first.message}" if place else first.message, first.remedy)
        self._settings, self._builder = settings, model.builder
        self._queried = [name for kind in INPUTS for _, name in model.ends(kind)]

    @cached_property
    def network(self) -> Network:
        """The network with its gradients and its optimiser; takes a while to compute."""
        chosen, clip_norm = OPTIMISERS[self._settings["optimiser"]], 1.0 if self._settings["clip_gradients"] else None
        optimiser = replace(chosen, decay=0.0, clip_norm=clip_norm)  # a live parameter sets the decay
        return build_network(self._builder, optimiser, average=True)

    @cached_property
    def _digest(self) -> int:
        """A digest of the optimiser and the initial weights; another digest resets the optimiser's state too."""
        found = crc32(self._settings["optimiser"].encode())
        for first in self._builder.initial.values():
            found = crc32(repr(first).encode(), found)
        return found

    def interface(self) -> Interface:
        """Return the ports of the block."""
        builder, has_query = self._builder, self._settings["query"]
        rows = f"{next(iter(builder.inputs))}.dim0"
        ports = [_input(name, node.type, rows) for name, node in builder.inputs.items()]
        if has_query:
            rows = f"{QUERY.format(self._queried[0])}.dim0"
            ports += [_input(QUERY.format(name), builder.inputs[name].type, rows) for name in self._queried]
        for name, node in builder.kept.items():
            asked = "the query" if has_query else "the batch"
            ports.append(PortSpec(name, "out", f32, f"Result of the network for {asked}.", shape_rule(node.type, rows)))
        ports.append(PortSpec("loss", "out", f32, "The mean loss of the batch.", "[1]"))
        ports.append(
            PortSpec("losses", "out", f32, "The losses of the latest frames, newest last.", "[history]", state=True)
        )
        for name, node in builder.trained.items():
            ports.append(PortSpec(name, "out", f32, f"Weights, {node.type}.", shape_rule(node.type, rows), state=True))
        return Interface(tuple(ports), (), self)

    def describe(self, build: BlockBuilder) -> None:
        """Describe the work of a frame: a training step, and the network's results for a query."""
        settings, variables = self._settings, self.network.variables
        placed = {variables[name].leaf: BufferHandle(name) for name in self._builder.inputs}
        for name, item in self.network.of_role(Role.WEIGHTS).items():
            placed[item.leaf] = BufferHandle(name)
            build.provide(BufferHandle(name), _stored(item))
        for name, item in self.network.of_role(Role.STATE).items():
            initial = _stored(item)
            rule = shape_rule(item.leaf.type, "1")
            placed[item.leaf] = build.buffer(
                f"_{name.replace('.', '_')}_{self._digest:08x}", item.leaf.type.dtype, rule, state=True, initial=initial
            )
        if settings["train"]:
            self._store_numbers(build, placed)
        loss, losses = BufferHandle("loss"), BufferHandle("losses")
        step = self.network.functions["step" if settings["train"] else "forward"]
        given = {variables[LOSS].leaf: loss}
        if not settings["query"]:
            given |= {variables[name].leaf: BufferHandle(name) for name in self._builder.kept}
        self._write(build, step, placed, given, next(iter(self._builder.inputs)))
        build.provide(losses, np.full(settings["history"], np.nan, np.float32))
        build.launch(_HISTORY, num_threads=256, thread_block=256, args=(losses, loss, losses.size))
        if settings["query"]:
            asked = {variables[name].leaf: BufferHandle(QUERY.format(name)) for name in self._queried}
            given = {variables[name].leaf: BufferHandle(name) for name in self._builder.kept}
            first = QUERY.format(self._queried[0])
            self._write(build, self.network.functions["forward"], {**placed, **asked}, given, first)

    def _store_numbers(self, build: BlockBuilder, placed: dict[TensorNode, BufferHandle]) -> None:
        """Describe the kernels that store the live parameters for the step, and compute the rate by the schedule."""
        leaf = self.network.leaf
        numbers = {node: name for name, node in _LIVE.items() if node in self.network.variables}
        made = {name: build.buffer(f"_{node}", f64, "scalar") for node, name in numbers.items()}
        placed.update({leaf(node): made[name] for node, name in numbers.items()})
        if self._settings["schedule"] == UNSCHEDULED:
            build.compute(_stored_numbers(made), over=made["learning_rate"])
            return
        live = {**made, **{name: build.buffer(f"_{name}", f64, "scalar") for name in _SCHEDULED}}
        build.compute(_stored_numbers(live), over=live["learning_rate"])
        graph = leaf(STEP).graph
        rate, steps, factor, warmup = [graph.add(Leaf(TensorType((), f64)), name=name) for name in _SCHEDULED]
        schedule, step = SCHEDULES[self._settings["schedule"]](steps, factor), leaf(STEP)
        # The first of n steps has the rate 1 / (n + 1): with a rate of 0, nothing would be learned from its batch.
        rising = ((step + 1.0) / (warmup + 1.0)).minimum(1.0)
        known = {node: live[node.name] for node in (rate, steps, factor, warmup)}
        now = Store(rate * rising * schedule.factor((step - warmup).maximum(0.0)), made["learning_rate"])
        write_program(build, [now], {**known, step: placed[step]})

    @staticmethod
    def _write(
        build: BlockBuilder,
        function: NetworkFunction,
        placed: Mapping[TensorNode, BufferHandle],
        given: Mapping[TensorNode, BufferHandle],
        first: str,
    ) -> None:
        """Describe a function whose variables are placed in buffers, with its further results."""
        wanted = function.only([*(leaf for leaf in placed if leaf in function.writes), *given]).optimised()
        stores = [
            Store(node, given[leaf]) if leaf in given else Store(node, placed[leaf], leaf)
            for leaf, node in wanted.writes.items()
        ]
        write_program(build, stores, placed, f"{first}.dim0")


def _input(name: str, type_: TensorType, rows: str) -> PortSpec:
    """Return the port of an input, whose first axis is the batch."""
    what = "places of the ones, -1 where there are fewer" if type_.nnz is not None else "one example a row"
    shape = list(type_.stored_shape)
    doc = f"{name}: {what}, {type_.stored_dtype}[batch, {', '.join(map(str, shape))}]."
    return PortSpec(name, "in", type_.stored_dtype, doc, shape_rule(type_, rows), rank=1 + len(shape))


def _stored(item: NetworkVariable) -> np.ndarray[Any, Any]:
    """Return the initial contents of a variable, in its memory layout."""
    type_, first = item.leaf.type, item.first()
    assert first is not None
    return np.array(np.broadcast_to(first, type_.shape), type_.dtype.numpy).reshape(type_.stored_shape)


def _stored_numbers(names: Mapping[str, BufferHandle]) -> OpGraphSource:
    """Return the kernel that stores live parameters in buffers, f64[]."""
    graph = OpGraphBuilder()
    for name, buffer in names.items():
        live = graph.add("op.parameter", name)["out"]
        graph.add("op.output", buffer.name, value=graph.add("op.convert", x=live, type="f64")["out"], type="f64")
    return OpGraphSource.of(graph.graph())
