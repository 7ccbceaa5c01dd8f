"""`kernel.expression` and `kernel.cuda` keep their formula or kernel in the block itself."""

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.engine.blocktypes.block import Block
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Severity
from warploom.engine.runtime.check.check_patch import check_patch

X = np.linspace(-3, 3, 1027, dtype=np.float32)


def _type(patch: Patch, node: str) -> type[Block]:
    found = patch.block_type(node)
    assert found is not None
    return found


def _problem(patch: Patch, node: str) -> str:
    placed = patch.nodes[node]
    _, problem = patch.catalogue.resolve(placed.type, placed.parameters, lambda: patch.folder, trusted=True)
    assert problem is not None
    return problem.message


def test_unknown_names_are_sliders(device: Device) -> None:
    """`sin(x*freq + time) * amp` has one input and two sliders, which are HOT."""
    patch = Patch()
    node = patch.add("kernel.expression", expression="sin(x*freq + time) * amp", sliders="freq: 0..20 = 4; amp: 0..1")
    own = {spec.name: spec for spec in _type(patch, node.id).parameters.values() if not spec.structural}
    assert [(s.name, s.minimum, s.maximum, s.default) for s in own.values()] == [("freq", 0, 20, 4), ("amp", 0, 1, 1)]
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    with Engine(patch, device=device, time_step_s=0.25) as engine:
        engine.step()
        np.testing.assert_allclose(engine.read(node["out"]), np.sin(np.float64(X) * 4), atol=1e-6)
        patch.set(node, freq=2.0, amp=0.5)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_allclose(engine.read(node["out"]), np.sin(np.float64(X) * 2 + 0.25) / 2, atol=1e-6)


def test_a_slider_without_a_range_has_the_usual_one() -> None:
    """The usual range of a slider is widened where its default lies beyond it."""
    patch = Patch()
    node = patch.add("kernel.expression", expression="x * gain + offset", sliders="offset = 25")
    gain, offset = (_type(patch, node.id).parameters[name] for name in ("gain", "offset"))
    assert (gain.minimum, gain.maximum, gain.default) == (-10, 10, 1)
    assert (offset.minimum, offset.maximum, offset.default) == (-10, 25, 25)


def test_a_slider_that_the_formula_does_not_read_is_left_out_with_a_warning() -> None:
    """The formula runs, and a warning names each slider that it does not read or that has the name of an input."""
    patch = Patch()
    node = patch.add("kernel.expression", expression="x * gain", sliders="gain: 0..2; freq: 0..20; x: 0..1")
    assert [name for name, spec in _type(patch, node.id).parameters.items() if not spec.structural] == ["gain"]
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    found = check_patch(patch)
    assert [(item.severity, item.node, item.port) for item in found] == [(Severity.WARNING, node.id, "sliders")] * 2
    assert [item.message for item in found] == [
        f"sliders must name what the expression reads, got {name}" for name in ("freq", "x")
    ]


def test_without_inputs_it_makes_a_picture(device: Device) -> None:
    """Without inputs, `u` and `v` are the position in the picture."""
    patch = Patch()
    node = patch.add("kernel.expression", expression="vec(u, v, px, py)", reads="", width=7, height=5)
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        image = engine.read(node["out"])
    assert image.shape[:2] == (5, 7)
    np.testing.assert_allclose([*image[2, 3].tolist()], [0.5, 0.5, 3, 2])


def test_inputs_have_the_types_that_are_named() -> None:
    """An input has the type that the block names for it, and a picture is read as float4."""
    patch = Patch()
    node = patch.add("kernel.expression", expression="image * gain + x", reads="image: float4, x")
    ports = _type(patch, node.id).ports
    assert [(p.name, str(p.dtype)) for p in ports.values()] == [("image", "float4"), ("x", "f32"), ("out", "float4")]


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        (
            {"expression": "sin(x"},
            "expression must be written in Python's syntax, got '(' was never closed, at column 4",
        ),
        ({"expression": "foo(x)"}, "function must be one of the ops, got 'foo', at column 1"),
        ({"reads": "x y"}, "reads must be like 'x, image: float4', got 'x y'"),
        ({"reads": "lambda"}, "reads must be like 'x, image: float4', got 'lambda'"),
        (
            {"expression": "x * g", "sliders": "g: 0..1 = 5"},
            "block kernel.expression: default of parameter g must be at most 1, got 5.0",
        ),
        ({"reads": "x: nothing"}, "reads must be like 'x, image: float4', got 'x: nothing'"),
        ({"sliders": "gain 3"}, "sliders must be like 'freq: 0..20 = 4; amp: 0..1', got 'gain 3'"),
    ],
)
def test_mistakes_are_reported(values: dict[str, str], reported: str) -> None:
    """Each mistake in a block is reported with its rule and place."""
    patch = Patch()
    node = patch.add("kernel.expression", **values)
    assert _problem(patch, node.id) == reported


def test_cuda_code_in_a_block(device: Device) -> None:
    """Another CUDA text swaps the kernel; a mistake is reported with its line while the last good kernel runs."""
    patch = Patch()
    node = patch.add("kernel.cuda", gain=3.0)
    code = _type(patch, node.id).parameters["code"].default
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), 3 * X)
        patch.set(node, code=code.replace("gain * x[i]", "gain + x[i] + EXTRA"), defines="EXTRA=2.0f")
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(node["out"]), np.float32(3) + X + np.float32(2))
        patch.set(node, code=code.replace("gain * x[i]", "oops"))
        (reported,) = engine.step().diagnostics
        assert (reported.node, reported.line) == (node.id, 9) and "oops" in reported.message
        np.testing.assert_array_equal(engine.read(node["out"]), np.float32(3) + X + np.float32(2))
