"""Calls that the author of a block writes: a function for the host, and one for CUDA."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.waiting import next_report
from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, In, OnStream, OperandError, Out, OwnCall, any_type, f32, param, port, u8
from warploom.engine.device.device import Device
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.types.layout import Layout


@dataclass(frozen=True)
class Marked(OwnCall):
    """out = x, with a number at one place."""

    place: int = 0

    inputs = ("x",)
    outputs = ("out",)
    numbers = {"gain": 0.0}  # noqa: RUF012 - never changed

    def host(self, arrays: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
        """Fill the array."""
        if numbers["gain"] == 13:
            raise ValueError("13 brings bad luck")
        arrays["out"][...] = arrays["x"]
        arrays["out"][self.place] = numbers["gain"]

    def cuda(self, on: OnStream) -> None:
        """Copy on the stream."""
        from cuda.bindings import driver

        assert on.layouts["x"].dtype == f32 and not on.numbers and on.workspace_bytes >= 64
        size, place = on.layouts["x"].size_bytes, on.addresses["out"] + 4 * self.place
        for target, source, count in (
            (on.addresses["out"], on.addresses["x"], size),
            (place, on.number_addresses["gain"], 4),
        ):
            assert driver.cuMemcpyDtoDAsync(target, source, count, on.stream)[0] == 0

    def workspace_bytes(self, layouts: Mapping[str, Layout]) -> int:
        """Ask for a little memory."""
        return 64


@dataclass(frozen=True)
class Ends(OwnCall):
    """out [2] = the first and the last byte of x; only on the host."""

    inputs = ("x",)
    outputs = ("out",)

    def results(self, inputs: Mapping[str, Layout]) -> Mapping[str, Layout]:
        """Return two bytes."""
        if inputs["x"].dtype != u8:
            raise OperandError("x", f"elements must be u8, got {inputs['x'].dtype}")
        return {"out": Layout(u8, (2,))}

    def host(self, arrays: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
        """Take the ends."""
        arrays["out"][...] = arrays["x"][[0, -1]]


@dataclass(frozen=True)
class Nothing(OwnCall):
    """Has no code."""

    inputs = ("x",)
    outputs = ("out",)


class Mark(Block, id="test_own.mark", version=1):
    """Puts a number into an array."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(doc="The numbers with another one in a place.")
    gain: float = param(2.0, doc="The number.")
    place: int = param(0, min=0, max=9, structural=True, doc="The place.")

    def describe(self, build: BlockBuilder) -> None:
        """Make the call."""
        build.capture(Marked(self.place).on(x=self.x, out=self.out, gain=self.gain))


class Take(Block, id="test_own.take", version=1):
    """Takes the ends."""

    x: In[any_type] = port(doc="Bytes.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="Two of them.")
    kind: str = param("ends", choices=("ends", "nothing"), doc="The call.")

    def describe(self, build: BlockBuilder) -> None:
        """Make a call."""
        build.capture((Ends() if self.kind == "ends" else Nothing()).on(x=self.x, out=self.out))


class Empty(Block, id="test_own.empty", version=1):
    """Makes a call without code."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(doc="Numbers.")

    def describe(self, build: BlockBuilder) -> None:
        """Make the call."""
        build.capture(Nothing().on(x=self.x, out=self.out))


@pytest.mark.parametrize("size", [10, 1027])
def test_an_own_call_is_part_of_the_graph(device: Device, size: int) -> None:
    """A live number is HOT, an option RECAPTURE; blocks before and after the call are in order."""
    values = np.arange(size, dtype=np.float32)
    patch = Patch()
    double, mark, last = patch.add("math.scale_offset", scale=2.0), patch.add(Mark.id), patch.add("math.scale_offset")
    patch.connect(patch.add("io.array", data=values)["out"], double["x"])
    patch.connect(double["out"], mark["x"])
    patch.connect(mark["out"], last["x"])
    with Engine(patch, device=device) as engine:

        def require(level: UpdateLevel, place: int, gain: float) -> None:
            report = engine.step()
            assert (report.update_level, report.diagnostics) == (level, ())
            expected = 2 * values
            expected[place] = gain
            np.testing.assert_array_equal(engine.read(last["out"]), expected)

        require(UpdateLevel.COLD, 0, 2)
        patch.set(mark, gain=-0.25)
        require(UpdateLevel.HOT, 0, -0.25)
        patch.set(mark, place=9)
        require(UpdateLevel.RECAPTURE, 9, -0.25)


def test_an_exception_on_the_host_is_shown_at_its_line() -> None:
    """Only the block whose call raises is left out, until it changes; its author sees the line."""
    patch = Patch()
    array = patch.add("io.array", data=np.ones(10, np.float32))
    mark, other = patch.add(Mark.id), patch.add("math.scale_offset", scale=3.0)
    for node in (mark, other):
        patch.connect(array["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.start()
        patch.set(mark, gain=13)
        report = next_report(engine, lambda report: any(item.node == mark.id for item in report.diagnostics))
        (found,) = report.diagnostics
        assert found.message == "marked must run, got ValueError: 13 brings bad luck"
        assert found.file == __file__ and found.line == Marked.host.__code__.co_firstlineno + 3
        assert engine.read(other["out"]).tolist() == [3] * 10
        engine.stop()


def test_what_an_author_leaves_out_is_named() -> None:
    """A call without code for the device, without layouts, or on other elements is an error of its block."""
    patch = Patch()
    floats = patch.add("io.array", data=np.ones(3, np.float32))
    numbers = patch.add("io.array", data=np.arange(5, dtype=np.uint8))
    empty, take, wrong = patch.add(Empty.id), patch.add(Take.id), patch.add(Take.id)
    patch.connect(floats["out"], empty["x"])
    patch.connect(numbers["out"], take["x"])
    patch.connect(floats["out"], wrong["x"])
    with Engine(patch, device="host") as engine:
        texts = {item.node: item.message for item in engine.step().diagnostics}
        assert texts == {
            empty.id: "nothing must have a method host to run on the host, got none",
            wrong.id: "elements must be u8, got f32",
        }
        assert engine.read(take["out"]).tolist() == [0, 4]
    patch.set(take, kind="nothing")
    messages = [item.message for item in check_patch(patch) if item.node == take.id]
    assert any("nothing must return the layout of out in results, got none" in text for text in messages)
    with pytest.raises(TypeError, match="Broken: inputs must be a tuple of names, got 'x'"):

        class Broken(OwnCall):
            """Has wrong inputs."""

            inputs = "x"  # type: ignore[assignment]
            outputs = ("out",)


@pytest.mark.gpu
def test_a_call_without_code_for_a_gpu_is_named() -> None:
    """A call that its author wrote for the host only says so."""
    patch = Patch()
    take = patch.add(Take.id)
    patch.connect(patch.add("io.array", data=np.arange(5, dtype=np.uint8))["out"], take["x"])
    with Engine(patch, device="cuda:0") as engine:
        (found,) = engine.step().diagnostics
        assert found.message == "ends must have a method cuda to run on a GPU, got none"
