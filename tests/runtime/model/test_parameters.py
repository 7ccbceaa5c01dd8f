"""Parameters: direct writes of values, and values that need a rebuild, take effect in the order of the edits."""

import random
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.runtime.small_blocks import Make
from warploom import Engine, Patch
from warploom.api import (
    Block,
    BlockBuilder,
    Composite,
    CompositeBuilder,
    CudaText,
    Kernel,
    Moment,
    Out,
    Value,
    ValueBlock,
    f32,
    param,
    port,
    value_port,
)
from warploom.blocks.io.array import Array
from warploom.engine.ops import graph_to_json, parse_expression
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.protocol.messages import SetFusing

#: The values include equal numbers with different bits, and numbers that are 0 or denormal as f32.
VALUES = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-40, -1e-40, 3.4e38, 16777217.0, 0.1)


class Say(ValueBlock, id="test_run.say"):
    """Outputs a number."""

    said: Value[float] = value_port(doc="The number.")
    value: float = param(0.0, doc="The number.")

    def update(self, now: Moment) -> None:
        """Output the number unchanged."""
        self.said = self.value


def _graph(text: str) -> object:
    """Return the op graph of an expression."""
    return graph_to_json(parse_expression(text, inputs=dict.fromkeys("xy"[: 1 + ("y" in text)], "f32")))


def as_kernels_see(value: float) -> bytes:
    return np.float32(value).tobytes()


@pytest.mark.parametrize("seed", seeds(8))
def test_the_last_edit_counts_however_many_a_frame_has(seed: int) -> None:
    """After any sets, resets, drives, undos and redos in a frame, the graph and a saved file have the patch's bits."""
    chance = random.Random(seed)
    patch = Patch()
    made = patch.add("test_small.make")
    given = patch.add("test_run.say")

    def put() -> None:
        patch.set(made, value=chance.choice(VALUES))

    def give() -> None:
        patch.set(given, value=chance.choice(VALUES))

    def undo() -> None:
        if len(patch.history.names) > 4:  # undo must not remove the blocks
            patch.undo()

    def reset() -> None:
        patch.reset(made, "value")

    def drive() -> None:
        patch.connect(given["said"], made["value"])

    def release() -> None:
        if patch.source_of(made["value"]):
            patch.disconnect(made["value"])

    put()
    give()
    put()
    with Engine(patch, device="host") as engine:
        for _ in range(60):
            for _ in range(chance.randint(0, 4)):
                chance.choice((put, put, put, give, undo, undo, patch.redo, reset, drive, release))()
            said = patch.value(given if patch.source_of(made["value"]) else made, "value")
            engine.step()
            assert engine.read(made["out"])[0].tobytes() == as_kernels_see(said)
            again = parse_patch(dump_patch(patch))
            for node in (made.id, given.id):
                assert (
                    np.float64(again.value(node, "value")).tobytes() == np.float64(patch.value(node, "value")).tobytes()
                )


WRITE = 'extern "C" __global__ void write(float* out, double number) { *out = number; }'


class Written(Block, id="test_run.written"):
    """Writes a number that is part of the description."""

    out: Out[f32] = port(shape="[1]", doc="The number.")
    number: float = param(1.0, structural=True, doc="The number.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread."""
        build.launch(Kernel(CudaText(WRITE), "write"), num_threads=1, args=(self.out, self.number))


class Holding(Composite, id="test_run.holding"):
    """Holds two blocks: a parameter is the live value of one and the array of the other."""

    number: float = param(1.0, structural=True, doc="The number.")

    def compose(self, build: CompositeBuilder) -> None:
        """Pass the number to both blocks."""
        build.expose_output("out", build.add_child(Make, "live", value=self.number)["out"])
        build.expose_output("data", build.add_child(Array, "array", data=np.array([self.number], np.float32))["out"])


@pytest.mark.parametrize(("kind", "ports"), [("written", ("out",)), ("holding", ("out", "data"))])
def test_blocks_that_differ_in_a_bit_do_not_share_a_description(kind: str, ports: tuple[str, ...]) -> None:
    """Two blocks with 0.0 and -0.0 have descriptions of their own, even after they exchange their numbers."""
    patch = Patch()
    nodes = [patch.add(f"test_run.{kind}") for _ in VALUES]
    with Engine(patch, device="host") as engine:
        for order in (VALUES, VALUES[::-1], VALUES[1:] + VALUES[:1]):
            for node, value in zip(nodes, order, strict=True):
                patch.set(node, number=value)
            assert not engine.step().diagnostics
            for node, value in zip(nodes, order, strict=True):
                read: list[Any] = [engine.read(node[port])[0].tobytes() for port in ports]
                assert read == [as_kernels_see(value)] * len(ports)


def test_the_running_graph_keeps_the_value_of_a_parameter_that_the_patch_has_lost() -> None:
    """A block with an error runs on as it was; what is read of it is computed with the last value of its slider."""
    patch = Patch()
    array = patch.add("io.array", data=np.arange(7, dtype=np.float32))
    first, last = (patch.add("kernel.graph", graph=_graph(text)) for text in ("x * k + 1", "sqrt(x)"))
    patch.connect(array["out"], first["x"])
    patch.connect(first["out"], last["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(first, k=3.0)
        engine.step()
        patch.set(first, graph=_graph("x * y"))  # y is not connected
        assert engine.step().diagnostics
        assert np.array_equal(engine.read(first["out"]), 3 * np.arange(7, dtype=np.float32) + 1)
        patch.undo()
        assert not engine.step().diagnostics
        assert np.array_equal(engine.read(first["out"]), 3 * np.arange(7, dtype=np.float32) + 1)


@pytest.mark.parametrize("seed", seeds(4))
def test_what_a_fused_kernel_left_out_is_read_as_it_ran(seed: int) -> None:
    """After random edits of a block's parameters, engines that fuse it and that do not read the same of it."""
    draw, patch = random.Random(seed), Patch()
    array = patch.add("io.array", data=np.arange(7, dtype=np.float32))
    texts = ("x * k + 1", "x * y", "x * k * y", "x * m - 2", "x * k - m", "k * m * x * y")  # y is not connected
    first, last = (patch.add("kernel.graph", graph=_graph(text)) for text in (texts[0], "sqrt(x)"))
    patch.connect(array["out"], first["x"])
    patch.connect(first["out"], last["x"])
    with Engine(patch, device="host") as fused, Engine(patch, device="host") as other:
        other.post(SetFusing(False))
        for kind in ("step", *draw.choices(("text", "text", "set", "set", "undo", "redo", "step", "step"), k=40)):
            if kind == "text":
                patch.set(first, graph=_graph(draw.choice(texts)))
            elif kind == "set" and (names := patch.block_type(first.id).parameters.keys() & {"k", "m"}):
                patch.set(first, **{draw.choice(sorted(names)): draw.choice((2.0, 3.0, 4.0))})
            elif kind == "undo" and len(patch.history.names) > 5:
                patch.undo()
            elif kind == "redo" and patch.history.undone_names:
                patch.redo()
            elif kind == "step":
                found = [(engine.step(), engine.read(first["out"]))[1] for engine in (fused, other)]
                np.testing.assert_array_equal(*found)


def test_the_values_of_a_removed_node_go_with_its_graph() -> None:
    """The engine does not keep the array of a block that was removed."""
    patch = Patch()
    array, other = (patch.add("io.array", data=np.arange(7, dtype=np.float32)) for _ in range(2))
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.remove(array)
        engine.step()
        assert engine.core.context.parameters.snapshot().keys() == {other.id}
