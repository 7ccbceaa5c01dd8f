"""Orders while frames run: blocks without a connection run one after the other, whatever is edited."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, In, Out, OwnCall, f32, param, port
from warploom.engine.patch.document import NodeRef
from warploom.engine.runtime.engine import Engine as RuntimeEngine

RAN: list[str] = []


@dataclass(frozen=True)
class Note(OwnCall):
    """Notes that it runs."""

    name: str = ""

    inputs = ("x",)
    outputs = ("out",)

    def host(self, arrays: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
        """Note the name."""
        RAN.append(self.name)
        arrays["out"][...] = arrays["x"]


class Noted(Block, id="test_orders.noted"):
    """Notes that it runs."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(doc="The numbers.")
    name: str = param("", doc="What it notes.")

    def describe(self, build: BlockBuilder) -> None:
        """Make the call."""
        build.capture(Note(self.name).on(x=self.x, out=self.out))


@pytest.fixture
def noted() -> tuple[Patch, dict[str, NodeRef]]:
    """Blocks a to d that share only their input."""
    patch = Patch()
    numbers = patch.add("io.array", data=np.ones(3, np.float32))
    nodes = {name: patch.add(Noted.id, node_id=name, name=name) for name in "abcd"}
    for node in nodes.values():
        patch.connect(numbers["out"], node["x"])
    return patch, nodes


def frame(engine: RuntimeEngine) -> str:
    """Run a frame, and return what ran in it."""
    RAN.clear()
    assert engine.step().diagnostics == ()
    return "".join(RAN)


def test_orders_hold_through_edits(noted: tuple[Patch, dict[str, NodeRef]]) -> None:
    """An order is COLD and holds through groups, disabled blocks, undo and other edits."""
    patch, nodes = noted
    with Engine(patch, device="host") as engine:
        assert frame(engine) == "abcd"
        for first, then in ("dc", "cb", "ba"):
            patch.order(first, then)
        assert engine.step().update_level is UpdateLevel.COLD
        assert frame(engine) == "dcba"
        patch.group(["b", "d"])
        assert frame(engine) == "dcba"
        patch.undo()
        patch.set_mode("a", "disabled")
        assert frame(engine) == "dcb"
        patch.remove_order("d", "c")
        patch.order("b", "d")
        patch.set_mode("a", "")
        ran = frame(engine)
        assert ran.index("c") < ran.index("b") < min(ran.index("a"), ran.index("d"))
        patch.remove(nodes["b"])
        assert frame(engine) == "acd"
        patch.undo()
        assert frame(engine) == ran


@pytest.mark.parametrize("mode", ["disabled", "bypassed"])
def test_orders_go_through_blocks_that_are_left_out(noted: tuple[Patch, dict[str, NodeRef]], mode: str) -> None:
    """What runs before disabled or bypassed blocks runs before what runs after them, also while frames run."""
    patch, _ = noted
    for first, then in ("dc", "cb", "ba"):
        patch.order(first, then)
    patch.set_mode("c", mode)
    with Engine(patch, device="host") as engine:
        assert frame(engine) == "dba"
        patch.set_mode("b", mode)
        assert frame(engine) == "da"
        patch.remove_order("c", "b")
        assert frame(engine) == "ad"
        patch.undo()
        patch.set_mode("c", "")
        assert frame(engine) == "dca"


def test_regions_are_ordered(noted: tuple[Patch, dict[str, NodeRef]]) -> None:
    """A block outside a loop runs after all turns of a block inside, and one before the first turn."""
    patch, _ = noted
    loop = patch.add("control.for", count=2)
    patch.move_into(["b", "c"], loop)
    patch.order("d", "b")
    patch.order("c", "a")
    patch.order("c", "b")
    with Engine(patch, device="host") as engine:
        assert frame(engine) == "dcbcba"


def test_another_engine_is_told_of_orders(noted: tuple[Patch, dict[str, NodeRef]]) -> None:
    """An engine that opens a patch with orders and disabled blocks keeps the orders of the others."""
    patch, _ = noted
    patch.order("d", "a")
    patch.set_mode("b", "disabled")
    with Engine(patch, device="host") as engine:
        assert frame(engine).index("d") < RAN.index("a")
    patch.group(["a"])
    with Engine(patch, device="host") as engine:
        assert frame(engine).index("d") < RAN.index("a")
