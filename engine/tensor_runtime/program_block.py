"""`ProgramBlock`: a tensor program as a block's description, made without a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.regions import describe_for
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.device.external import ExternalArray
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import TOP
from warploom.engine.tensor_ir.errors import ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.lowering.program import Store, write_program
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import u32
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT

#: The most turns of a loop in one launch.
MOST_TURNS = 2**31 - 1
#: The ids of the description's nodes: the block with the ports' memory, the program, and the loop around it.
MEMORY, PROGRAM, _LOOP = "memory", "program", "loop"


class Wanted(NamedTuple):
    """A node for a program to compute. With `over`, it replaces that input in the input's buffer."""

    node: TensorNode
    over: TensorNode | None = None


class ProgramBlock:
    """The description of a program as a block with ports `x0`, `x1` and so on, for every batch size."""

    def __init__(
        self, inputs: Sequence[TensorNode], stores: Sequence[Wanted], names: Mapping[TensorNode, str], *, is_loop: bool
    ) -> None:
        self._loop = _loop() if is_loop else None
        ports: list[PortSpec] = []
        targets: list[Store] = []
        placed = {node: BufferHandle(f"x{number}") for number, node in enumerate(inputs)}
        for node, handle in placed.items():
            ports.append(_port(handle.name, node.type))
        count = len(inputs)
        for number, store in enumerate(stores):
            if store.over is None:
                into = f"x{count}"
                ports.append(_port(into, store.node.type))
                count += 1
            else:
                into = placed[store.over].name
                if (store.node.type.size, store.node.type.batched) != (store.over.type.size, store.over.type.batched):
                    raise ShapeMismatch(f"the replacement of {store.over!r} must be of its type, got {store.node!r}")
            ports.append(_port(f"y{number}", store.node.type, inplace=into))
            targets.append(Store(store.node, BufferHandle(f"y{number}"), store.over))
        build = BlockBuilder("tensor", {spec.name: spec for spec in ports}, (), {"batch": 1}, None)
        written = write_program(build, targets, placed, "batch")
        self._block = build.commit()
        #: The names of the nodes that each entry computes.
        self.names = [tuple([names.get(node, node.label) for node in nodes if node.inputs]) for nodes in written]

    def description(self, types: Sequence[TensorType], batch: int, alignments: Sequence[int]) -> GraphDescription:
        """Return the program for a batch size as two blocks: the program's own, and one that has the ports' memory.

        The memory is aligned like allocated memory, unless `alignments` is given.
        """
        block = BlockDescription(
            self._block.ports,
            self._block.entries,
            self._block.buffers,
            structural=(("batch", batch),),
        )
        alignments = alignments or [ALLOCATION_ALIGNMENT] * len(types)
        arrays = {
            f"x{number}": _array(type_, batch, alignment)
            for number, (type_, alignment) in enumerate(zip(types, alignments, strict=False))
        }
        outputs = [
            PortSpec(name, "out", type_.stored_dtype, "", "data") for name, type_ in zip(arrays, types, strict=True)
        ]
        connections = [Connection(PortRef(MEMORY, name), PortRef(PROGRAM, name)) for name in arrays]
        nodes = [BlockNode(PROGRAM, block, TOP if self._loop is None else _LOOP)]
        if self._loop is not None:
            turns = f"x{len(types)}"
            arrays[turns] = ExternalArray(0, u32.numpy, (1,), None, False, "", None)
            outputs.append(PortSpec(turns, "out", u32, "", "data"))
            connections.append(Connection(PortRef(MEMORY, turns), PortRef(_LOOP, "turns")))
            nodes.append(BlockNode(_LOOP, self._loop))
        memory = BlockDescription(tuple(outputs), (), externals=arrays)
        return GraphDescription((BlockNode(MEMORY, memory), *nodes), tuple(connections))


def _loop() -> BlockDescription:
    """Return a region that runs as many times as its input's value."""
    ports = {
        "turns": PortSpec("turns", "in", u32, "", "same"),
        "index": PortSpec("index", "out", u32, "", "[1]"),
    }
    build = BlockBuilder("tensor loop", ports, (), {}, None)
    describe_for(build, 0, BufferHandle("turns"), index=BufferHandle("index"), limit=Extent(str(MOST_TURNS)))
    return build.commit()


def _port(name: str, type_: TensorType, inplace: str | None = None) -> PortSpec:
    return PortSpec(name, "in" if inplace is None else "out", type_.stored_dtype, "", "same", inplace=inplace)


def _array(type_: TensorType, batch: int, alignment: int) -> ExternalArray:
    """Return an array as a stand-in for memory whose address is passed at launch."""
    shape = (*((batch,) if type_.batched else ()), *type_.stored_shape)
    return ExternalArray(alignment, type_.stored_dtype.numpy, shape, None, False, "", None)
