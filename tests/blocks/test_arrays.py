"""Arithmetic, copies, fills and views compared with numpy, and in-place changes of views."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.blocks.running import apply, apply_each, problems, run
from tests.fuzzing import many
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.types import from_bf16

SHAPES = [(1,), (257,), (3, 5, 7)]


def _binary(block: str, x: Any, y: Any, **parameters: Any) -> Any:
    patch = Patch()
    node = patch.add(block, **parameters)
    for port, data in (("x", x), ("y", y)):
        patch.connect(patch.add("io.array", data=data)["out"], node[port])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert not report.diagnostics, report.diagnostics
        return engine.read(node["out"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("block", "expected"), [("math.add", np.add), ("math.multiply", np.multiply)])
def test_arithmetic_equals_numpy(block: str, expected: Any, shape: tuple[int, ...]) -> None:
    """The arithmetic blocks return numpy's results exactly, for every shape."""
    x, y = np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32)
    np.testing.assert_array_equal(_binary(block, x, y), expected(x, y))


@settings(max_examples=many(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(count=st.integers(1, 700), a=st.floats(-10, 10, width=32))
def test_saxpy_equals_numpy(count: int, a: float) -> None:
    """Saxpy returns a * x + y within rounding, for any length."""
    x = np.linspace(-3, 7, count, dtype=np.float32)
    y = np.cos(x)
    np.testing.assert_allclose(_binary("math.saxpy", x, y, a=a), a * x + y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block", ["math.saxpy", "math.add", "math.multiply"])
def test_operands_of_different_shapes_are_refused(block: str) -> None:
    """A `y` that is shorter than `x` is refused at its port, and the message states both shapes."""
    patch = Patch()
    node = patch.add(block)
    patch.connect(patch.add("io.array", data=np.zeros(300, np.float32))["out"], node["x"])
    patch.connect(patch.add("io.array", data=np.zeros(299, np.float32))["out"], node["y"])
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
    assert (problem.node, problem.port) == (node.id, "y")
    assert "must be of shape [300]" in problem.message and "got [299]" in problem.message


def test_scale_offset_is_live() -> None:
    """The output is scale * x + offset, and new values of the two are a HOT update."""
    x = np.arange(10, dtype=np.float32)
    patch = Patch()
    node = patch.add("math.scale_offset", scale=2.0, offset=-1.0)
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), 2 * x - 1)
        patch.set(node, scale=-0.5, offset=4.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(node["out"]), -0.5 * x + 4)


def test_arrays_of_another_machine_or_layout_keep_their_numbers() -> None:
    """Files of big-endian numbers, Fortran's order, and views with steps, backwards or of one element repeated."""
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    arrays = [cube.astype(code) for code in (">f4", ">f8", ">i2", ">u8", ">c8", ">f2")]
    arrays += [np.asfortranarray(cube), cube[::-1, :, 1::2], cube.T, np.broadcast_to(np.float32(3), (4, 5))]
    patch = Patch()
    ports = [patch.add("io.array", data=array)["out"] for array in arrays]
    for array, found in zip(arrays, run(patch, *ports), strict=True):
        assert found.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f2", "f8"])
def test_copy_takes_any_type(dtype: str) -> None:
    """A copy has the type, shape and contents of its source."""
    data = np.arange(15).reshape(3, 5).astype(dtype)
    patch = Patch()
    node = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=data)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        out = engine.read(node["out"])
    assert out.dtype == data.dtype
    np.testing.assert_array_equal(out, data)


def test_copy_keeps_what_an_image_was(photograph: Any) -> None:
    """A copy of an image equals the image, with vectors as elements."""
    patch = Patch()
    source, node = patch.add("io.image_array", data=photograph), patch.add("buffer.copy")
    patch.connect(source["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), engine.read(source["out"]))


def test_fill_is_live() -> None:
    """Every element gets the value, and a new value is a HOT update."""
    patch = Patch()
    node = patch.add("buffer.fill", count=1001, value=2.5)
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), np.full(1001, 2.5, np.float32))
        patch.set(node, value=-7.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(node["out"]), np.full(1001, -7, np.float32))


CUBE = np.arange(3 * 5 * 7, dtype=np.float32).reshape(3, 5, 7)


def _seen(data: Any, *views: tuple[str, dict[str, Any]]) -> Any:
    """Return the contents that a Copy makes of a chain of views."""
    patch = Patch()
    port = patch.add("io.array", data=data)["out"]
    for block, parameters in (*views, ("buffer.copy", {})):
        node = patch.add(block, **parameters)
        patch.connect(port, node["x"])
        port = node["out"]
    return run(patch, port)[0]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize(("start", "stop", "step"), [(0, 0, 1), (1, 0, 2), (-2, 0, 1), (0, -1, 3), (1, 2, 1)])
def test_a_slice_is_that_of_numpy(axis: int, start: int, stop: int, step: int) -> None:
    """A slice equals numpy's: positions count as in Python, and a stop of 0 means the end."""
    taken: list[slice] = [slice(None)] * 3
    taken[axis] = slice(start, stop or None, step)
    out = _seen(CUBE, ("buffer.slice", {"axis": axis, "start": start, "stop": stop, "step": step}))
    np.testing.assert_array_equal(out, CUBE[tuple(taken)])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_a_transpose_is_that_of_numpy(order: tuple[int, ...]) -> None:
    """A transpose equals numpy's: axis k of the output is axis order[k] of the input."""
    out = _seen(CUBE, ("buffer.transpose", {"order": ", ".join(map(str, order))}))
    np.testing.assert_array_equal(out, CUBE.transpose(order))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8", "c8", "c16", "?"])
def test_copying_a_view_makes_any_type_contiguous(dtype: str) -> None:
    """A copy of a transposed slice equals numpy's, for elements of 1 to 16 bytes and four axes."""
    data = (np.arange(2 * 3 * 4 * 5) % 251).reshape(2, 3, 4, 5).astype(dtype)
    out = _seen(data, ("buffer.transpose", {"order": "3, 1, 0, 2"}), ("buffer.slice", {"axis": 0, "step": 2}))
    assert out.dtype == data.dtype
    np.testing.assert_array_equal(out, data.transpose(3, 1, 0, 2)[::2])


@pytest.mark.parametrize("shape", [(300_000, 2), (70_000, 1, 3), (1, 1, 5, 1), (3,)])
def test_long_and_thin_buffers_copy(shape: tuple[int, ...]) -> None:
    """Long and thin buffers are copied correctly, even with more rows than a grid may have along y and z."""
    data = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    np.testing.assert_array_equal(_seen(data), data)
    backwards = ("buffer.transpose", {"order": ", ".join(str(a) for a in reversed(range(len(shape))))})
    np.testing.assert_array_equal(_seen(data, backwards), data.T)


def test_a_copy_of_five_axes_is_refused() -> None:
    """A copy of five axes is refused at its input, since the kernel loops over only four."""
    patch = Patch()
    node = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=np.zeros((2, 2, 1, 2, 2), np.float32))["out"], node["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "x") and "at most four dimensions" in text


@settings(max_examples=many(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    shape=st.lists(st.integers(1, 6), min_size=2, max_size=3),
    order=st.randoms(use_true_random=False),
    start=st.integers(0, 5),
    step=st.integers(1, 4),
)
def test_chains_of_views_are_those_of_numpy(shape: list[int], order: Any, start: int, step: int) -> None:
    """A copy of a transpose and a slice equals numpy's result for every shape."""
    data = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    axes = list(range(len(shape)))
    order.shuffle(axes)
    axis = order.randrange(len(shape))
    turned = data.transpose(axes)
    start %= turned.shape[axis]
    taken: list[slice] = [slice(None)] * len(shape)
    taken[axis] = slice(start, None, step)
    out = _seen(
        data,
        ("buffer.transpose", {"order": ", ".join(map(str, axes))}),
        ("buffer.slice", {"axis": axis, "start": start, "step": step}),
    )
    np.testing.assert_array_equal(out, turned[tuple(taken)])


def test_reshape_and_reinterpret_are_numpys() -> None:
    """Reshape and Reinterpret show the bytes that numpy's reshape and view show."""
    np.testing.assert_array_equal(_seen(CUBE, ("buffer.reshape", {"shape": "7, -1"})), CUBE.reshape(7, 15))
    np.testing.assert_array_equal(_seen(CUBE, ("buffer.reshape", {})), CUBE.reshape(-1))
    bits = _seen(CUBE, ("buffer.reinterpret", {"dtype": "u16"}))
    np.testing.assert_array_equal(bits, CUBE.view(np.uint16))
    pairs = _seen(CUBE[..., :6].copy(), ("buffer.reinterpret", {"dtype": "c64"}))
    np.testing.assert_array_equal(pairs, CUBE[..., :6].copy().view(np.complex64))


@pytest.mark.parametrize(
    ("block", "parameters", "message"),
    [
        ("buffer.slice", {"axis": 3}, "axis of the slice must be one of shape [3, 5, 7], got 3"),
        ("buffer.slice", {"start": 3}, "slice must have elements within axis 0 of shape [3, 5, 7], got 3:"),
        ("buffer.reshape", {"shape": "4, -1"}, "must divide into [4, -1], got 105 elements"),
        ("buffer.reshape", {"shape": "a"}, "parameter shape must be whole numbers with commas between them, got 'a'"),
        ("buffer.transpose", {"order": "1, 0"}, "order of a transpose must name each axis"),
        ("buffer.reinterpret", {"dtype": "f64"}, "the last axis must be whole elements of f64"),
    ],
)
def test_a_view_that_can_t_be_says_why(block: str, parameters: dict[str, Any], message: str) -> None:
    """A view that can't be made is an error of its block, and the message names the request."""
    patch = Patch()
    node = patch.add(block, **parameters)
    patch.connect(patch.add("io.array", data=CUBE)["out"], node["x"])
    ((at, _, text),) = problems(patch)
    assert at == node.id and message in text


def test_a_block_that_takes_no_strides_asks_for_a_copy() -> None:
    """Scale Offset behind a Transpose is refused, and runs with a Copy in between."""
    patch = Patch()
    turn, scale = patch.add("buffer.transpose"), patch.add("math.scale_offset")
    patch.connect(patch.add("io.array", data=CUBE[0])["out"], turn["x"])
    connection = patch.connect(turn["out"], scale["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (scale.id, "x") and "without gaps" in text
    patch.disconnect(connection)
    copy = patch.add("buffer.copy")
    patch.connect(turn["out"], copy["x"])
    patch.connect(copy["out"], scale["x"])
    np.testing.assert_array_equal(run(patch, scale["out"])[0], CUBE[0].T)


def test_assigning_to_a_slice_changes_the_whole() -> None:
    """Assigning to a slice, which is the same memory, changes one row of the whole array."""
    patch = Patch()
    whole = patch.add("buffer.constant", shape="4, 3", value=2.0)
    row = patch.add("buffer.slice", start=2, stop=3)
    value = patch.add("io.array", data=np.array([[7, 8, 9]], np.float32))
    assign = patch.add("buffer.assign")
    copy = patch.add("buffer.copy")
    patch.connect(whole["out"], row["x"])
    patch.connect(row["out"], assign["target"])
    patch.connect(value["out"], assign["value"])
    patch.connect(assign["out"], copy["x"])
    out, taken = run(patch, whole["out"], copy["out"])
    np.testing.assert_array_equal(out, [[2, 2, 2], [2, 2, 2], [7, 8, 9], [2, 2, 2]])
    np.testing.assert_array_equal(taken, [[7, 8, 9]])


@pytest.mark.parametrize(
    ("value", "message"), [(np.zeros((4, 3), np.float64), "got f64"), (np.zeros((3, 4), np.float32), "got [3, 4]")]
)
def test_an_assigned_array_must_have_the_targets_type_and_shape(value: Any, message: str) -> None:
    """Assign refuses an array of another type or shape at its input `value`."""
    patch = Patch()
    assign = patch.add("buffer.assign")
    patch.connect(patch.add("buffer.constant", shape="4, 3")["out"], assign["target"])
    patch.connect(patch.add("io.array", data=value)["out"], assign["value"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (assign.id, "value")
    assert message in text


NUMBERS = ["float32", "float64", "float16", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
NAMES = dict(zip(NUMBERS, ["f32", "f64", "f16", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"], strict=True))


@pytest.mark.parametrize("source", NUMBERS)
def test_numbers_convert_as_in_numpy(source: str) -> None:
    """Small numbers convert as by numpy's astype, also negative ones and fractions where both types have them."""
    numbers = np.array([0, 1, 2, 3.5, 100.75, 127])
    data = np.concatenate([numbers, [] if "u" in source else -numbers]).astype(source)
    found = apply_each(*(("buffer.convert", {"x": data}, {"dtype": NAMES[target]}) for target in NUMBERS))
    for target, out in zip(NUMBERS, found, strict=True):
        expected = data.astype(target)
        if "float" in source and "u" in target:
            expected = np.maximum(data, 0).astype(target)  # C doesn't define the conversion of negative numbers
        assert out.dtype == expected.dtype
        np.testing.assert_array_equal(out, expected, err_msg=target)


def test_conversions_keep_to_the_range() -> None:
    """Floats out of an integer type's range are clamped and NaN becomes 0; integers wrap, even at 64 bits."""
    wild = np.array([-1e30, -129, -128.9, 127.9, 128, 1e30, np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(
        apply("buffer.convert", {"x": wild}, dtype="s8"), np.array([-128, -128, -128, 127, 127, 127, 127, -128, 0])
    )
    np.testing.assert_array_equal(
        apply("buffer.convert", {"x": wild}, dtype="u64")[[0, 3, 5, 6, 8]], [0, 127, 2**64 - 1, 2**64 - 1, 0]
    )
    np.testing.assert_array_equal(
        apply("buffer.convert", {"x": wild}, dtype="s64")[[0, 5, 8]], [-(2**63), 2**63 - 1, 0]
    )
    large = np.array([2**63 - 1, -(2**63), 2**53 + 1, -1], np.int64)
    np.testing.assert_array_equal(apply("buffer.convert", {"x": large}, dtype="u64"), large.astype(np.uint64))
    np.testing.assert_array_equal(apply("buffer.convert", {"x": large}, dtype="u8"), large.astype(np.uint8))


def test_booleans_and_bfloats_convert() -> None:
    """As a boolean, a number is whether it is not 0; as a bf16, it is rounded to nearest, ties to even."""
    data = np.array([0.0, -0.0, 0.25, -3, np.nan, 257 / 256, 259 / 256, 1e38], np.float32)
    np.testing.assert_array_equal(apply("buffer.convert", {"x": data}, dtype="boolean"), data != 0)
    flags = np.array([True, False, True])
    np.testing.assert_array_equal(apply("buffer.convert", {"x": flags}, dtype="f32"), [1, 0, 1])
    brain = from_bf16(apply("buffer.convert", {"x": data}, dtype="bf16"))
    np.testing.assert_array_equal(np.isnan(brain), np.isnan(data))
    np.testing.assert_array_equal(brain[[0, 2, 3, 5, 6]], [0, 0.25, -3, 1.0, 1 + 4 / 256])
    assert abs(brain[7] / 1e38 - 1) < 2**-8


def test_only_numbers_convert() -> None:
    """Converting complex numbers is refused at the input, and the message names their type."""
    patch = Patch()
    node = patch.add("buffer.convert")
    patch.connect(patch.add("io.array", data=np.ones(3, np.complex64))["out"], node["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "x") and "single real numbers or booleans, got c64" in text


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_positions_are_numpys_indices(axis: int) -> None:
    """Positions equal numpy's indices along each axis of an odd shape."""
    out = apply("buffer.positions", {}, shape="3, 5, 7", axis=axis)
    np.testing.assert_array_equal(out, np.indices((3, 5, 7))[axis])
    assert out.dtype == np.uint32


def test_positions_need_their_axis() -> None:
    """Positions along an axis that the shape lacks are refused, and the message names the axis."""
    patch = Patch()
    node = patch.add("buffer.positions", shape="4, 4", axis=2)
    ((at, _, text),) = problems(patch)
    assert at == node.id and "must be one of the 2 axes of the shape, got 2" in text


def test_numbers_are_rounded_once() -> None:
    """An f64 just above the middle between two numbers of a small float is rounded once, to the upper one."""
    x = np.array([1 + 2.0**-11 + 2.0**-40, -(1 + 2.0**-11 + 2.0**-40), 1 + 2.0**-11, 1e300, np.nan])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(apply("buffer.convert", {"x": x}, dtype="f16"), expected)
    above = np.array([1 + 2.0**-8 + 2.0**-40, -(1 + 2.0**-8 + 2.0**-40), 1 + 2.0**-8, np.inf])
    rounded = apply("buffer.convert", {"x": above}, dtype="bf16")
    assert rounded.tolist() == [0x3F81, 0xBF81, 0x3F80, 0x7F80]


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("size", [1, 5, 1027, 4096])
def test_a_copy_has_the_elements_of_every_size_of_buffer(dtype: Any, size: int) -> None:
    """A copy equals its source for elements of 1 to 16 bytes, also if the source begins at an odd element."""
    whole = np.random.default_rng(size).integers(0, 200, size + 3).astype(dtype)
    patch = Patch()
    part, copies = patch.add("buffer.slice", start=3, stop=size + 3), [patch.add("buffer.copy") for _ in range(2)]
    source = patch.add("io.array", data=whole)
    patch.connect(source["out"], part["x"])
    for x, node in zip((source, part), copies, strict=True):
        patch.connect(x["out"], node["x"])
    found = run(patch, *(node["out"] for node in copies))
    assert np.array_equal(found[0], whole) and np.array_equal(found[1], whole[3:])
