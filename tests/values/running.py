"""Runs value blocks and value graphs without an engine: they need only a clock."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from warploom import Patch
from warploom.api import ValueBlock
from warploom.engine.blocktypes.updated_blocks import Moment
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.runtime.model.block_registry import BlockRegistry
from warploom.engine.runtime.model.parameters import ParameterStore
from warploom.engine.types import Array
from warploom.engine.user_code.runner import CodeRunner
from warploom.engine.values.value_graph import ValueGraph

STEP_S = 1 / 60


def moments(frames: int, step_s: float = STEP_S) -> Iterator[Moment]:
    """Yield the moments of the first frames. It is one object that changes, as in an engine."""
    now = Moment(time_step_s=step_s)
    for frame in range(frames):
        now.frame, now.time_s = frame, frame * step_s
        yield now


def place(type_id: str, **values: Any) -> ValueBlock:
    """Return a value block that is ready for its first update."""
    block = default_catalogue().require(type_id)("node", values)
    assert isinstance(block, ValueBlock)
    block.controls = {}
    block.check()
    block.begin()
    return block


def record(
    block: ValueBlock,
    frames: int,
    output: str = "value",
    *,
    step_s: float = STEP_S,
    before: Callable[[int], None] = lambda _: None,
) -> Array:
    """Return an output over some frames; `before` is called with each frame's number before the update."""
    values = []
    for now in moments(frames, step_s):
        before(now.frame)
        block.update(now)
        values.append(getattr(block, output))
    return np.array(values)


def doubling(patch: Patch, a: float = 2.0) -> NodeRef:
    """Place a Saxpy that multiplies the numbers 1 to 5 by a."""
    x = patch.add("io.array", data=np.arange(1, 6, dtype=np.float32))
    y = patch.add("io.array", data=np.zeros(5, np.float32))
    saxpy = patch.add("math.saxpy", node_id="saxpy", a=a)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    return saxpy


class Running:
    """The value graph of a patch, with the blocks and parameters that the graph drives, as in an engine's context."""

    def __init__(self, patch: Patch) -> None:
        self.parameters = ParameterStore(lambda: patch.folder)
        code = CodeRunner()
        self.registry = BlockRegistry(default_catalogue(), self.parameters, lambda: patch.folder, code)
        for node in patch.nodes.values():
            self.registry.register(node)
        self.blocks = self.registry.value_blocks
        self.graph = ValueGraph(self.registry.type_of, self.parameters, code, {})
        for block in self.blocks.values():
            self.graph.place(block)
        for connection in patch.connections:
            if patch.is_value_connection(connection):
                self.graph.connect(connection)

    def run(self, frames: int, *ports: PortRef) -> Array:
        """Return the values of some outputs or driven parameters over some frames, one row per frame."""
        rows = []
        for now in moments(frames):
            self.graph.update(now)
            seen = self.graph.snapshot()
            rows.append([float(seen[str(port)]) for port in ports])
        return np.array(rows)
