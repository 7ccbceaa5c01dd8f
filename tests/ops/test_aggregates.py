"""Aggregates, which combine each thread block's share of the elements, and inputs of any type."""

from typing import Any

import numpy as np
import pytest

from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Severity
from warploom.engine.ops import OpGraph, OpGraphBuilder, OpKernel, check_op_graph, compile_graph, with_types
from warploom.engine.types import NAMED
from warploom.engine.types.arrays import to_bf16

#: Sizes around the width of a thread block, around the elements that it computes at once, and multiples.
SIZES = [1, 31, 255, 257, 767, 1023, 1024, 1025, 4095, 5000, 70_001]
SCALARS = ("boolean", "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64")


def aggregating(reads: str, dtype: str, *operations: str) -> OpGraph:
    """Return a graph that aggregates its input with several operations."""
    g = OpGraphBuilder()
    value = g.add("op.input", "x", type=reads)["value"]
    for operation in operations:
        g.add("op.aggregate", operation, value=value, operation=operation, type=dtype)
    return g.graph()


def numbers(dtype: str, size: int) -> np.ndarray[Any, Any]:
    """Return whole numbers that the type holds exactly, with negative ones if the type has them."""
    kind = NAMED[dtype].numpy
    low, high = (0, 2) if dtype == "boolean" else (0, 100) if kind.kind == "u" else (-100, 100)
    return np.random.default_rng(size).integers(low, high, size).astype(kind)


def shares(array: np.ndarray[Any, Any], thread_blocks: int) -> list[np.ndarray[Any, Any]]:
    """Return each thread block's share: neighbouring elements, equally many (a multiple of 256) except in the last."""
    each = -(-array.size // (256 * thread_blocks)) * 256
    return [array[at * each : (at + 1) * each] for at in range(thread_blocks)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("thread_blocks", [1, 2, 3, 64])
def test_each_thread_block_combines_its_share(device: Device, size: int, thread_blocks: int) -> None:
    """Each thread block combines its share, which may be empty."""
    x = numbers("f32", size)
    kernel = compile_graph(aggregating("f32", "f32", "add", "minimum", "maximum"))
    found = run(device, kernel, {"x": x}, size, thread_blocks=thread_blocks)
    parts = shares(x, thread_blocks)
    np.testing.assert_array_equal(found["add"], [part.sum() for part in parts])
    np.testing.assert_array_equal(found["minimum"], [part.min(initial=np.inf) for part in parts])
    np.testing.assert_array_equal(found["maximum"], [part.max(initial=-np.inf) for part in parts])


@pytest.mark.parametrize("dtype", SCALARS)
def test_elements_are_read_alike_whether_their_type_is_told_or_known(device: Device, dtype: str) -> None:
    """With types known or passed at launch, numbers are read as f64, and sums have the same bits."""
    x = numbers(dtype, 1500)
    if x.dtype.kind in "iu" and x.itemsize == 8:
        x[7] = np.iinfo(x.dtype).max
    if x.dtype.kind == "f":
        x[:500] += np.linspace(-1, 1, 500).astype(x.dtype)
        x[3], x[4] = -0.0, np.finfo(x.dtype).smallest_subnormal
    graph = aggregating("number", "f64", "add", "maximum")
    told = run(device, graph, {"x": x}, x.size, thread_blocks=2)
    known = run(device, with_types(graph, {"x": dtype}), {"x": x}, x.size, thread_blocks=2)
    for name, array in told.items():
        assert array.tobytes() == known[name].tobytes(), name
    expected = [part.astype(np.float64).sum() for part in shares(x, 2)]
    np.testing.assert_allclose(told["add"], expected, rtol=1e-14)
    np.testing.assert_array_equal(told["maximum"], [part.astype(np.float64).max() for part in shares(x, 2)])
    graph = aggregating("any", "u32", "add")
    told = run(device, graph, {"x": x}, x.size, thread_blocks=2)
    known = run(device, with_types(graph, {"x": dtype}), {"x": x}, x.size, thread_blocks=2)
    assert told["add"].tolist() == known["add"].tolist() == [np.count_nonzero(part) for part in shares(x, 2)]


@pytest.mark.parametrize("dtype", ["boolean", "u8", "s8", "u16", "s16"])
def test_sums_of_short_numbers_are_exact(device: Device, dtype: str) -> None:
    """Sums and extremes of the largest and of the smallest numbers of 16 bits or fewer are exact."""
    kind = NAMED[dtype].numpy
    kernel = compile_graph(with_types(aggregating("number", "f64", "add", "minimum"), {"x": dtype}))
    limits = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    for extreme in limits:
        x = np.full(70_001, extreme, kind)
        x[5::7] = limits[0]
        found = run(device, kernel, {"x": x}, x.size, thread_blocks=3)
        assert found["add"].tolist() == [float(part.sum(dtype=np.int64)) for part in shares(x, 3)]
        assert found["minimum"].tolist() == [float(limits[0])] * 3


@pytest.mark.parametrize("dtype", ["s8", "s16"])
@pytest.mark.parametrize("to", ["f32", "f64"])
def test_negative_numbers_that_became_unsigned_are_combined_as_such(device: Device, dtype: str, to: str) -> None:
    """A short number below zero, converted to u32 and then to a float, counts as the great number that it is then."""
    g = OpGraphBuilder()
    unsigned = g.add("op.convert", "unsigned", x=g.add("op.input", "x", type=dtype)["value"], type="u32")["out"]
    value = g.add("op.convert", "value", x=unsigned, type=to)["out"]
    for operation in ("add", "minimum", "maximum"):
        g.add("op.aggregate", operation, value=value, operation=operation, type=to)
    x = np.arange(-1500, 1500).astype(NAMED[dtype].numpy)
    found = run(device, g.graph(), {"x": x}, x.size)
    expected = x.astype(np.uint32).astype(NAMED[to].numpy)
    assert (found["minimum"][0], found["maximum"][0]) == (expected.min(), expected.max())
    np.testing.assert_allclose(found["add"][0], expected.sum(dtype=np.float64), rtol=1e-5 if to == "f32" else 0)


@pytest.mark.parametrize("dtype", ["u8", "s8", "s16", "f16"])
@pytest.mark.parametrize("thread_blocks", [1, 3, 16])
def test_elements_of_few_bytes_are_combined_in_the_order_of_others(
    device: Device, dtype: str, thread_blocks: int
) -> None:
    """A thread loads more elements of one or two bytes at once; sums have the bits of those of f32."""
    x = numbers(dtype, 70_001)
    if dtype == "f16":
        x = np.random.default_rng(4).normal(size=x.size).astype(np.float16)
    graph = aggregating(dtype, "f64", "add", "minimum")
    few = run(device, graph, {"x": x}, x.size, thread_blocks=thread_blocks)
    wide = run(
        device, aggregating("f32", "f64", "add", "minimum"), {"x": x.astype(np.float32)}, x.size,
        thread_blocks=thread_blocks,
    )  # fmt: skip
    assert few["add"].tobytes() == wide["add"].tobytes()
    np.testing.assert_array_equal(few["minimum"], [part.min() for part in shares(x, thread_blocks)])


@pytest.mark.parametrize("dtype", ["boolean", "u8", "s16", "f16", "bf16", "f32"])
def test_neighbours_that_are_loaded_at_once_give_the_same_bits(device: Device, dtype: str) -> None:
    """A thread on a GPU loads four neighbours at once where a buffer is aligned; results have the same bits."""
    graph = aggregating(dtype, "f32" if dtype == "u8" else "f64", "add", "maximum")
    one, four = compile_graph(graph), compile_graph(graph, elements_per_thread=4)
    for size in (1, 1023, 5000, 70_001):
        x = np.random.default_rng(size).normal(size=size)
        x = to_bf16(x) if dtype == "bf16" else x > 0 if dtype == "boolean" else abs(30 * x).astype(NAMED[dtype].numpy)
        for offset in (0, NAMED[dtype].size_bytes):
            options: dict[str, Any] = {"thread_blocks": 3, "offset": offset, "is_inlined": True}
            found, expected = (run(device, kernel, {"x": x}, size, **options) for kernel in (four, one))
            assert all(found[name].tobytes() == array.tobytes() for name, array in expected.items())
            if dtype in ("u8", "s16"):
                most = [part.max() for part in shares(x, 3) if part.size]
                np.testing.assert_array_equal(found["maximum"][: len(most)], most)


def test_elements_of_several_bytes_count_unless_all_are_zero(device: Device) -> None:
    """Elements of several bytes are counted if any byte is not zero."""
    graph = aggregating("any", "u32", "add")
    x = np.zeros(1500, np.complex128)
    x[5], x[1100], x[1499] = 1e-300, 3, 2j
    assert run(device, graph, {"x": x}, x.size, thread_blocks=2)["add"].tolist() == [1, 2]


@pytest.mark.parametrize("at", [0, 300, 1023, 1499])
def test_a_nan_is_passed_on(device: Device, at: int) -> None:
    """A NaN of either sign reaches the result from any position."""
    for nan in (np.nan, -np.nan):
        x = np.linspace(-5, 5, 1500)
        x[at] = nan
        found = run(device, aggregating("f64", "f64", "add", "minimum", "maximum"), {"x": x}, x.size)
        assert all(np.isnan(array).all() for array in found.values())


def test_what_is_aggregated_may_be_computed_and_stored(device: Device) -> None:
    """A value may depend on index and position, come from a branch, and be an output as well as aggregated."""
    g = OpGraphBuilder()
    place = g.add("op.position", "place")
    x = g.add("op.input", "x", type="s32")["value"]
    choice = g.add("op.if", "choice", condition=g.add("op.greater", a=x, b=0.0)["out"])
    far = g.add("op.multiply", a=place["y"], b=1000.0)
    choice.connect("then_a", g.add("op.add", region="choice", a=place["x"], b=far["out"])["out"])
    choice.connect("else_a", g.add("op.negate", region="choice.else", x=place["index"])["out"])
    g.add("op.output", "each", value=choice["a"])
    g.add("op.aggregate", "all", value=choice["a"], type="s32")
    x_values = numbers("s32", 41 * 83).reshape(41, 83)
    rows, columns = np.indices(x_values.shape)
    expected = np.where(x_values > 0, columns + 1000 * rows, -(columns + 83 * rows)).astype(np.int32)
    found = run(device, g.graph(), {"x": x_values}, x_values.shape, thread_blocks=3)
    np.testing.assert_array_equal(found["each"], expected)
    assert found["all"].tolist() == [part.sum() for part in shares(expected.ravel(), 3)]


def test_whole_numbers_wrap_and_keep_their_sign(device: Device) -> None:
    """Integers of 32 and 64 bits wrap; a boolean counts as 0 or 1."""
    for dtype in ("s32", "u32", "s64", "u64"):
        limits = np.iinfo(NAMED[dtype].numpy)
        x = np.array([limits.max, 5, limits.min, 3, limits.max], NAMED[dtype].numpy)
        found = run(device, aggregating(dtype, dtype, "add", "minimum", "maximum"), {"x": x}, x.size)
        with np.errstate(over="ignore"):
            expected = [x.sum(dtype=x.dtype), x.min(), x.max()]
        assert [found[name][0] for name in ("add", "minimum", "maximum")] == expected
    flags = numbers("boolean", 999)
    assert run(device, aggregating("boolean", "u32", "add"), {"x": flags}, 999)["add"] == flags.sum()


def test_bf16_is_read_as_the_number_it_is(device: Device) -> None:
    """bf16 and f16 elements are distinguished, although their sizes are equal."""
    x = to_bf16(np.array([1.5, -3, 1e30], np.float32))
    kernel = compile_graph(with_types(aggregating("number", "f64", "minimum"), {"x": "bf16"}))
    assert run(device, kernel, {"x": x}, 3)["minimum"] == [-3]


def problems(graph: OpGraph) -> list[str]:
    """Return the messages of the errors of a graph."""
    return [problem.message for problem in check_op_graph(graph) if problem.severity is Severity.ERROR]


def test_what_an_aggregate_takes_is_checked() -> None:
    """An aggregate is refused unless it takes one number that its elements can hold, outside regions."""
    for kind, dtype, text in (("float2", "f32", "must be one number"), ("f32", "s32", "must be a whole number")):
        (message,) = problems(aggregating(kind, dtype, "add"))
        assert text in message
    g = OpGraphBuilder()
    loop = g.add("op.for", "loop", count=2.0)
    g.add("op.aggregate", "inside", region="loop", value=loop["index"])
    (message,) = problems(g.graph())
    assert "outside all regions" in message


def test_threads_of_a_kernel_with_an_aggregate_do_not_wait() -> None:
    """A barrier in a kernel with an aggregate is refused, since its threads have different numbers of elements."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x")["value"]
    g.add("op.output", "out", value=g.add("op.reduce", "sum", value=x)["out"])
    g.add("op.aggregate", "all", value=x)
    (message,) = problems(g.graph())
    assert message.startswith("Reduce must be reached by all threads")


def test_a_kernel_with_an_aggregate_has_a_thread_block_of_its_own() -> None:
    """A kernel with an aggregate has a fixed thread block, since that decides the order of combining."""
    kernel: OpKernel = compile_graph(aggregating("f32", "f32", "add"), elements_per_thread=4)
    assert (kernel.thread_block, kernel.elements_per_thread, kernel.is_free) == ((256, 1, 1), 1, False)
    assert [(port.name, port.is_aggregate) for port in kernel.outputs] == [("add", True)]
