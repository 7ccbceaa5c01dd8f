"""`Chain`: the library calls that a person wired, in the order in which they are made, as one captured node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from engine.blocktypes.adaptive import Interface
from engine.blocktypes.block import Block, is_reserved
from engine.blocktypes.parameters import ParameterSpec
from engine.chains.members import ENDS, ChainInput, ChainNumber, ChainOutput, is_call
from engine.chains.recording import record
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.handles import BufferHandle, ParameterHandle
from engine.descriptions.ports import PortSpec
from engine.diagnostics import Diagnostic, Mend, PatchError, error
from engine.libraries import blas
from engine.libraries.call import CallOn
from engine.patch.changes import Node, PortRef
from engine.patch.contents import PatchContents
from engine.types import any_type


@dataclass(frozen=True)
class Step:
    """A library call of a chain: its block, and what feeds its inputs and parameters."""

    node: str
    block: Block
    sources: Mapping[str, PortRef]


class Chain:
    """The calls of a patch of library calls in the order in which they are made, or what is wrong with them."""

    def __init__(self, patch: PatchContents) -> None:
        self._patch = patch
        self.problems: list[Diagnostic] = []
        self._named: dict[str, str] = {}
        self._feeds: dict[str, dict[str, PortRef]] = {node: {} for node in patch.nodes}
        for connection in patch.connections:
            self._feeds[connection.target.node][connection.target.port] = connection.source
        self._name_ends()
        self.steps = list(self._make_steps())
        #: What gives an output, by the call's port; each output has a source of its own.
        self.given = self._find_given()

    def ends(self, kind: type[Block]) -> Iterator[tuple[Node, str]]:
        """Give the ends of a kind, with their names."""
        for node in self._patch.nodes.values():
            if ENDS.get(node.type) is kind:
                yield node, self._named[node.id]

    def _name_ends(self) -> None:
        for node in self._patch.nodes.values():
            if node.type not in ENDS:
                continue
            name = self._patch.value(node.id, "name") or node.id
            if not name.isidentifier() or is_reserved(name):
                self._tell(node.id, f"name must be one that a port can have, got {name!r}", "rename it", "name")
            elif name in self._named.values():
                self._tell(node.id, f"name must be given once, got {name!r} twice", "rename one of them", "name")
            self._named[node.id] = name

    def _make_steps(self) -> Iterator[Step]:
        before = {node: {source.node for source in feeds.values()} for node, feeds in self._feeds.items()}
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as problem:
            self._tell(problem.args[1][0], "calls must not wait for each other in a circle", "remove a connection")
            return
        for node_id in order:
            node = self._patch.nodes[node_id]
            if node.type in ENDS:
                continue
            block_type = self._patch.type_of(node)
            if block_type is None:
                self._tell(node_id, f"block type must be in the catalogue, got {node.type!r}", "remove the block")
                continue
            feeds = self._feeds[node_id]
            missing = [spec.name for spec in block_type.inputs() if not spec.optional and spec.name not in feeds]
            for name in missing:
                self._tell(node_id, "input must be connected", "connect it", name, incomplete=True)
            if not is_call(block_type):
                text = f"block in a chain must be library calls and nothing else, got {block_type.title}"
                self._tell(node_id, text, "take it out of the chain")
            elif not missing:
                values = {name: self._patch.value(node_id, name) for name in block_type.parameters}
                yield Step(node_id, block_type(node_id, values), feeds)

    def _find_given(self) -> dict[PortRef, str]:
        given: dict[PortRef, str] = {}
        for node, name in self.ends(ChainOutput):
            source = self._feeds[node.id].get("value")
            if source is None:
                self._tell(node.id, "output must be connected", "connect what it gives", "value", incomplete=True)
            elif self._patch.nodes[source.node].type in ENDS:
                self._tell(node.id, "output must come from a library call, got an input", "put a call between", "value")
            elif source in given:
                self._tell(node.id, f"output must have a source of its own, got that of {given[source]}", "remove it")
            else:
                given[source] = name
        if not given and not self.problems:
            text = "chain must have an output that a library call feeds, got none"
            self.problems.append(error(text, remedy="add an Output"))
        return given

    def name_of(self, source: PortRef) -> str:
        """Return the port or buffer of the chain's block that holds what a port inside gives."""
        if source.node in self._named:
            return self._named[source.node]
        return self.given.get(source) or f"{source.node}_{source.port}"

    def interface(self) -> Interface:
        """Return the ports and parameters of the chain's block; PatchError with the first problem."""
        if self.problems:
            raise PatchError(str(self.problems[0]))
        inputs, outputs = ([name for _, name in self.ends(kind)] for kind in (ChainInput, ChainOutput))
        ports = [PortSpec(name, "in", any_type, f"Input {name} of the chain.", "same", strided=True) for name in inputs]
        ports += [
            PortSpec(name, "out", any_type, f"Output {name} of the chain.", "captured", dtype_rule="captured")
            for name in outputs
        ]
        parameters = [
            ParameterSpec(
                *(name, "float", self._patch.value(node.id, "default"), f"{name} of the chain."),
                *(self._patch.value(node.id, "minimum"), self._patch.value(node.id, "maximum")),
            )
            for node, name in self.ends(ChainNumber)
        ]
        return Interface(tuple(ports), tuple(parameters), self)

    def describe(self, build: BlockBuilder) -> None:
        """Make all calls as one captured node; PatchError when a block does more than to call libraries.

        Blocks that work in place work on a copy.
        """
        calls: list[CallOn] = []
        for step in self.steps:
            recorded = record(step.block)
            inside = {name: build.buffer(f"{step.node}_{name}", any_type, "captured") for name in recorded.buffers}
            for spec in step.block.outputs():
                source = PortRef(step.node, spec.name)
                if source not in self.given:
                    inside[spec.name] = build.buffer(self.name_of(source), any_type, "captured")
                if spec.inplace is not None:  # others may read what the call would change
                    before = BufferHandle(self.name_of(step.sources[spec.inplace]))
                    calls.append(blas.Copy().on(x=before, y=BufferHandle(self.name_of(source))))
            calls += [self._on(step, made, inside) for made in recorded.calls]
        build.capture(*calls)

    def _on(self, step: Step, made: CallOn, inside: Mapping[str, BufferHandle]) -> CallOn:
        """Return a call with the ports, buffers and parameters of the chain's block."""
        placed = {slot: self._buffer(step, handle, inside) for slot, handle in made.buffers.items()}
        buffers = {slot: handle for slot, handle in placed.items() if handle is not None}
        numbers = {name: self._number(step, value, inside) for name, value in made.numbers.items()}
        return CallOn(made.call, buffers, numbers)

    def _buffer(self, step: Step, handle: BufferHandle, inside: Mapping[str, BufferHandle]) -> BufferHandle | None:
        """Return the port or buffer of the chain's block for one of a call's block; None for what is not connected."""
        source = step.sources.get(handle.name)
        if source is not None:
            return BufferHandle(self.name_of(source))
        if handle.name in inside:
            return inside[handle.name]
        if handle.name in step.block.ports and step.block.ports[handle.name].is_input:
            return None
        return BufferHandle(self.given[PortRef(step.node, handle.name)])

    def _number(self, step: Step, value: object, inside: Mapping[str, BufferHandle]) -> object:
        if isinstance(value, BufferHandle):
            return self._buffer(step, value, inside)
        if not isinstance(value, ParameterHandle):
            return value
        source = step.sources.get(value.name)
        return step.block.values[value.name] if source is None else ParameterHandle(self._named[source.node])

    def _tell(self, node: str, text: str, remedy: str, port: str | None = None, *, incomplete: bool = False) -> None:
        self.problems.append(
            error(text, node=node, port=port, remedy=remedy, mend=Mend.CONNECT if incomplete else None)
        )
