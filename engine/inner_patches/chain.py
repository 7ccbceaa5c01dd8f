"""Chains: `Chain`, the library calls that a person wired as one captured node; `ChainPatch`; `ChainBlock`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from warploom.engine.blocktypes.adaptive import Interface
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.handles import BufferHandle, ParameterHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError, error
from warploom.engine.inner_patches.chain_members import (
    ENDS,
    INPUT,
    NUMBER,
    OUTPUT,
    chain_catalogue,
    is_call,
    record,
)
from warploom.engine.inner_patches.parts import Parts
from warploom.engine.libraries import blas
from warploom.engine.libraries.call import CallOn
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.inner_patch import GRAPH, InnerBlock, InnerPatch
from warploom.engine.types import any_type


@dataclass(frozen=True)
class ChainStep:
    """A library call of a chain: its block, and the sources of its inputs and parameters."""

    node: str
    block: Block
    sources: Mapping[str, PortRef]


class Chain(Parts):
    """The calls of a patch of library calls in the order of execution, and the patch's faults."""

    def __init__(self, patch: InnerPatch) -> None:
        super().__init__(patch)
        self._named = dict(self.ends(*ENDS))
        self._misnamed(ENDS)
        self.steps = list(self._make_steps())
        #: Outputs, by the port of the call that is their source; each output has its own source.
        self.given = self._find_given()

    def _make_steps(self) -> Iterator[ChainStep]:
        for node in self._in_order("calls"):
            if node.type in ENDS:
                continue
            block_type = self._patch.type_of(node)
            if block_type is None:
                self._report(node.id, f"block type must be in the catalogue, got {node.type!r}", "remove the block")
                continue
            is_fed = self._is_fed(node.id, [spec.name for spec in block_type.inputs() if not spec.optional])
            if not is_call(block_type):
                text = f"block in a chain must consist of library calls only, got {block_type.title}"
                self._report(node.id, text, "take it out of the chain")
            elif is_fed:
                values = {name: self._patch.value(node.id, name) for name in block_type.parameters}
                yield ChainStep(node.id, block_type(node.id, values), self._feeds[node.id])

    def _find_given(self) -> dict[PortRef, str]:
        given: dict[PortRef, str] = {}
        for node, name in self.ends(OUTPUT):
            source = self._feeds[node].get("value")
            if source is None:
                self._report(
                    node, "output must be connected", "connect a library call's output", "value", incomplete=True
                )
            elif self._patch.nodes[source.node].type in ENDS:
                self._report(
                    node,
                    "output must come from a library call, got an input",
                    "put a library call between them",
                    "value",
                )
            elif source in given:
                self._report(node, f"output must have a source of its own, got that of {given[source]}", "remove it")
            else:
                given[source] = name
        if not given and not self.problems:
            text = "chain must have an output that a library call feeds, got none"
            self.problems.append(error(text, remedy="add an Output"))
        return given

    def name_of(self, source: PortRef) -> str:
        """Return the port or buffer of the chain's block that holds the output of a port inside."""
        if source.node in self._named:
            return self._named[source.node]
        return self.given.get(source) or f"{source.node}_{source.port}"

    def interface(self) -> Interface:
        """Return the ports and parameters of the chain's block. Raise PatchError with the first problem."""
        if self.problems:
            raise PatchError(str(self.problems[0]))
        inputs, outputs = ([name for _, name in self.ends(kind)] for kind in (INPUT, OUTPUT))
        ports = [PortSpec(name, "in", any_type, f"Input {name} of the chain.", "same", strided=True) for name in inputs]
        ports += [
            PortSpec(name, "out", any_type, f"Output {name} of the chain.", "captured", dtype_rule="captured")
            for name in outputs
        ]
        parameters = [
            ParameterSpec(
                *(name, "float", self._patch.value(node, "default"), f"{name} of the chain."),
                *(self._patch.value(node, "minimum"), self._patch.value(node, "maximum")),
            )
            for node, name in self.ends(NUMBER)
        ]
        return Interface(tuple(ports), tuple(parameters), self)

    def describe(self, build: BlockBuilder) -> None:
        """Describe all calls as one captured node. Raise PatchError if a block does more than call libraries.

        Blocks that work in place work on a copy.
        """
        calls: list[CallOn] = []
        for step in self.steps:
            recorded, between = record(step.block)
            inside = {name: build.buffer(f"{step.node}_{name}", any_type, "captured") for name in between}
            for spec in step.block.outputs():
                source = PortRef(step.node, spec.name)
                if source not in self.given:
                    inside[spec.name] = build.buffer(self.name_of(source), any_type, "captured")
                if spec.inplace is not None:  # other calls may read the buffer that this call changes
                    before = BufferHandle(self.name_of(step.sources[spec.inplace]))
                    calls.append(blas.Copy().on(x=before, y=BufferHandle(self.name_of(source))))
            calls += [self._on(step, made, inside) for made in recorded]
        build.capture(*calls)

    def _on(self, step: ChainStep, made: CallOn, inside: Mapping[str, BufferHandle]) -> CallOn:
        """Return a call with the ports, buffers and parameters of the chain's block."""
        placed = {slot: self._buffer(step, handle, inside) for slot, handle in made.buffers.items()}
        buffers = {slot: handle for slot, handle in placed.items() if handle is not None}
        numbers = {name: self._number(step, value, inside) for name, value in made.numbers.items()}
        return CallOn(made.call, buffers, numbers)

    def _buffer(self, step: ChainStep, handle: BufferHandle, inside: Mapping[str, BufferHandle]) -> BufferHandle | None:
        """Return the port or buffer of the chain's block for one of a call's block; None if it is not connected."""
        source = step.sources.get(handle.name)
        if source is not None:
            return BufferHandle(self.name_of(source))
        if handle.name in inside:
            return inside[handle.name]
        if handle.name in step.block.ports and step.block.ports[handle.name].is_input:
            return None
        return BufferHandle(self.given[PortRef(step.node, handle.name)])

    def _number(self, step: ChainStep, value: object, inside: Mapping[str, BufferHandle]) -> object:
        if isinstance(value, BufferHandle):
            return self._buffer(step, value, inside)
        if not isinstance(value, ParameterHandle):
            return value
        source = step.sources.get(value.name)
        return step.block.values[value.name] if source is None else ParameterHandle(self._named[source.node])


class ChainPatch(InnerPatch):
    """The library calls of one chain."""

    kind: ClassVar[str] = "chain"
    holds: ClassVar[str] = "library calls"
    own_types: ClassVar[Collection[str]] = ENDS.keys()
    takes_blocks: ClassVar[bool] = True  # blocks that call libraries can be members
    ends: ClassVar[Mapping[str, str]] = {INPUT: "x", OUTPUT: "result", NUMBER: "amount"}
    derived: ClassVar[str] = "chain"

    def __init__(self) -> None:
        super().__init__(chain_catalogue())

    @cached_property
    def chain(self) -> Chain:
        """The current calls, in order."""
        return Chain(self)


class ChainBlock(InnerBlock, abstract=True):
    """A block type whose nodes run the library calls of the chain in the parameter `graph`, which is JSON."""

    @classmethod
    def inner_patch(cls) -> type[InnerPatch]:
        """Return the kind of patch that its nodes hold."""
        return ChainPatch

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the ports and parameters of the chain; none while there is no chain."""
        return ChainPatch.parse(values[GRAPH]).chain.interface() if values[GRAPH] else Interface()
