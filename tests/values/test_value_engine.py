"""Values in an engine: their cost, their reports, and driven parameters compared with ones that are set by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.values.running import doubling, moments
from tests.waiting import until
from warploom import Engine, Patch, UpdateLevel
from warploom.api import (
    Composite,
    CompositeBuilder,
    Moment,
    Value,
    ValueBlock,
    param,
    value_port,
)
from warploom.engine.blocktypes.updated_blocks import Moment as EngineMoment
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import NodeState, Reset, SetRunning
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.types import Array


@given(
    st.lists(st.floats(-20, 20), min_size=1, max_size=8),
    st.sampled_from([("image.noise", "speed"), ("image.noise", "octaves"), ("image.sobel", "per_channel")]),
)
@settings(max_examples=many(15))
def test_driven_equals_set_by_hand(values: list[float], driven: tuple[str, str]) -> None:
    """In every frame the buffers are the same as when the rounded and bounded value is set by hand."""
    type_id, name = driven
    pictures: list[list[Array]] = []
    for by_hand in (False, True):
        patch = Patch()
        board = patch.add("image.checkerboard", width=9, height=7)
        block = patch.add(type_id, node_id="b", **({"width": 9, "height": 7} if type_id == "image.noise" else {}))
        if type_id == "image.sobel":
            patch.connect(board["out"], block["image"])
        number = patch.add("value.slider", low=values[0], high=values[0])
        if not by_hand:
            patch.connect(number["value"], block[name])
        seen = []
        with Engine(patch, device="host") as engine:
            for value in values:
                patch.set(number, low=value, high=value)
                if by_hand:
                    patch.set(block, **{name: by_hand_value(patch, block, name, value)})
                engine.step()
                seen.append(engine.read(block["out"]))
        pictures.append(seen)
    np.testing.assert_array_equal(*pictures)


def by_hand_value(patch: Patch, block: NodeRef, name: str, value: float) -> float:
    """Return the value that a person would set on a parameter for this number."""
    block_type = patch.block_type(block.id)
    assert block_type is not None
    spec = block_type.parameters[name]
    if spec.type == "bool":
        return value != 0
    assert spec.minimum is not None and spec.maximum is not None
    bounded = float(np.clip(value, spec.minimum, spec.maximum))
    return bounded if spec.type == "float" else int(np.rint(bounded))


def test_setting_a_driven_parameter_waits_until_its_connection_goes() -> None:
    """A parameter keeps what was set while it was driven, or just before it was connected, until it is disconnected."""
    patch = Patch()
    saxpy = doubling(patch)
    slider = patch.add("value.slider", setting=0.75)
    with Engine(patch, device="host") as engine:
        engine.step()
        for a in (4.0, 5.0):
            patch.set(saxpy, a=a)
            engine.step()
        connection = patch.connect(slider["value"], saxpy["a"])
        for a in (6.0, 7.0, 8.0):
            patch.set(saxpy, a=a)
            assert engine.step().values["saxpy.a"] == 0.75
            assert engine.read(saxpy["out"])[0] == 0.75
        patch.disconnect(connection)
        engine.step()
        assert engine.read(saxpy["out"])[0] == 8.0
        patch.set(saxpy, a=3.0)
        engine.step()
        assert engine.read(saxpy["out"])[0] == 3.0


def test_exposed_parameters_of_a_composite_are_driven() -> None:
    """A driven parameter of a composite sets all the child parameters that it controls."""

    class TwiceScaled(Composite, id="test_values.twice_scaled"):
        """Scale twice by one number."""

        def compose(self, build: CompositeBuilder) -> None:
            """Chain two."""
            one, two = build.add_child("math.scale_offset"), build.add_child("math.scale_offset")
            build.connect_children(one["out"], two["x"])
            build.expose_input("x", one["x"])
            build.expose_output("out", two["out"])
            build.expose_parameter("scale", one)
            build.expose_parameter("scale", two)

    patch = Patch()
    x = patch.add("io.array", data=np.ones(3, np.float32))
    scaled = patch.add(TwiceScaled.id, scale=3.0)
    patch.connect(x["out"], scaled["x"])
    slider = patch.add("value.slider", low=-5.0, high=5.0, setting=0.9)
    with Engine(patch, device="host") as engine:
        engine.step()
        assert engine.read(scaled["out"])[0] == 9
        patch.connect(slider["value"], scaled["scale"])
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(scaled["out"])[0] == pytest.approx(16)
        patch.disconnect(scaled["scale"])
        engine.step()
        assert engine.read(scaled["out"])[0] == 9


def test_a_failing_value_block_marks_its_node_and_nothing_else() -> None:
    """The failing node shows the error and its line; the driven node keeps its last value, and everything else runs."""

    class Fragile(ValueBlock, id="test_values.fragile"):
        """Divide by a number."""

        value: Value[float] = value_port(doc="1 / number.")
        number: float = param(2.0, min=-10, max=10, doc="The number.")

        def update(self, now: Moment) -> None:
            """Divide."""
            self.value = 1 / self.number

    patch = Patch()
    saxpy = doubling(patch)
    fragile = patch.add(Fragile.id, node_id="fragile")
    patch.connect(fragile["value"], saxpy["a"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        patch.set(fragile, number=0.0)
        report = engine.step()
        (told,) = report.diagnostics
        assert told.severity is Severity.ERROR and (told.node, told.file) == ("fragile", __file__)
        raised = "update of test_values.fragile raised ZeroDivisionError: float division by zero"
        assert told.message == f"{raised} (test_value_engine.py:{told.line})"
        assert report.nodes["fragile"].state is NodeState.ERROR and report.nodes["saxpy"].state is NodeState.OK
        assert engine.read(saxpy["out"])[0] == 0.5 == report.values["saxpy.a"]
        patch.set(fragile, number=4.0)
        report = engine.step()
        assert not report.diagnostics and engine.read(saxpy["out"])[0] == 0.25
        assert report.nodes["fragile"].state is NodeState.OK


def test_a_check_tells_what_is_wrong_with_values() -> None:
    """A check without running reports a bad expression; correct value blocks add no diagnostics."""
    patch = Patch()
    saxpy = doubling(patch)
    text = patch.add("value.expression", text="a +")
    patch.connect(text["value"], saxpy["a"])
    (told,) = check_patch(patch)
    assert told.node == "expression" and "must be arithmetic" in told.message
    patch.set(text, text="a")
    assert check_patch(patch) == []


def test_values_are_the_same_in_every_run() -> None:
    """Frames that are stepped by hand have the same values in every run, and after a reset."""
    patch = Patch()
    saxpy = doubling(patch)
    lfo, chance = patch.add("value.lfo", frequency=0.7), patch.add("value.random", interval=0.05)
    patch.connect(chance["value"], lfo["frequency"])
    patch.connect(lfo["value"], saxpy["a"])
    bands = patch.add("sound.bands")  # which has no value in the first frame
    patch.connect(patch.add("io.array", data=np.ones(256, np.float32))["out"], bands["x"])
    with Engine(patch, device="host") as engine:
        runs = []
        for _ in range(2):
            runs.append([engine.step().values for _ in range(20)])
            engine.post(Reset())
    assert runs[0] == runs[1] and len({values["lfo.value"] for values in runs[0]}) == 20


def test_a_block_that_fails_after_a_reset_has_no_value_from_before() -> None:
    """A block that fails in the first frame after a reset has no value, so what it drives has the patch's value."""
    patch = Patch()
    saxpy = doubling(patch, a=3.0)
    ramp, mapped = patch.add("value.ramp"), patch.add("value.map", to_low=5.0, to_high=9.0)
    patch.connect(ramp["progress"], mapped["from_high"])  # both ends are 0 in the first frame, so the block fails
    patch.connect(mapped["value"], saxpy["a"])
    with Engine(patch, device="host") as engine:
        runs = []
        for _ in range(2):
            runs.append([(engine.step().values, engine.read(saxpy["out"])[0]) for _ in range(3)])
            engine.post(Reset())
    assert runs[0] == runs[1]
    assert [a for _, a in runs[0]] == [3.0, 5.0, 5.0]


def test_values_go_on_while_the_engine_runs_by_itself() -> None:
    """Values follow edits from another thread while the engine plays; while paused, they show what a person sets."""
    patch = Patch()
    saxpy = doubling(patch)
    slider = patch.add("value.slider", setting=0.5)
    patch.connect(slider["value"], saxpy["a"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.start(rate=None)

        def wait_for(expected: float) -> None:
            until(lambda: engine.read(saxpy["out"])[0] == np.float32(expected))

        wait_for(0.5)
        patch.set(slider, setting=0.25)
        wait_for(0.25)
        engine.post(SetRunning(False))
        patch.set(slider, setting=0.125)
        wait_for(0.125)


def test_the_moment_is_one_object() -> None:
    """The moment that blocks see is one object, which the engine changes in place."""
    seen = list(moments(3))
    assert seen[0] is seen[1] is seen[2] and isinstance(seen[0], EngineMoment)


def test_a_patch_of_values_alone_runs() -> None:
    """A patch without device blocks launches nothing, and its reports have the values."""
    patch = Patch()
    patch.add("value.time")
    with Engine(patch, device="host") as engine:
        engine.step()
        report = engine.step()
    assert report.values["time.frame"] == 1 and report.nodes["time"].state is NodeState.OK
    assert not report.diagnostics


def test_values_are_read_as_buffers_are() -> None:
    """A value output and a driven parameter are read as arrays without dimensions; other reads are still refused."""
    patch = Patch()
    slider = patch.add("value.slider", setting=0.25, high=8.0)
    noise = patch.add("image.noise", octaves=1)
    patch.connect(slider["value"], noise["octaves"])
    with Engine(patch, device="host") as engine:
        engine.step()
        value, octaves = engine.read(slider["value"]), engine.read(noise["octaves"])
        assert (value.shape, float(value), int(octaves)) == ((), 2.0, 2)
        with pytest.raises(PatchError, match=r"port noise\.speed must be part of the running graph"):
            engine.read(PortRef("noise", "speed"))
