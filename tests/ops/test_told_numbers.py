"""Numbers as kernel arguments: results equal those of constants, and graphs with other numbers share a kernel."""

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.ops.random_graphs import valid_graph
from tests.ops.running import run
from tests.ops.test_random_graphs import SHAPE, random_inputs
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpGraph, OpGraphBuilder, compile_graph, parse_expression
from warploom.engine.ops.analysis import analyse
from warploom.engine.ops.interface import ANY_NUMBER, ToldNumbers, without_numbers
from warploom.engine.ops.lowering.kernel import lower


def _told(text: str, **inputs: str) -> list[float]:
    """Return the numbers that the kernel of an expression can take as arguments."""
    return ToldNumbers(analyse(parse_expression(text, inputs=inputs or {"x": "f32"}))).values


@settings(max_examples=many(40))
@given(st.integers(0, 10**6))
def test_other_numbers_give_the_same_code(seed: int) -> None:
    """In random graphs with branches and loops, other numbers change neither types nor code nor arguments."""
    graph = valid_graph(seed, 30)
    analysis = analyse(graph)
    told = ToldNumbers(analysis)
    changed = analyse(without_numbers(graph, told))
    assert changed.signatures == analysis.signatures
    assert ToldNumbers(changed).values == [ANY_NUMBER] * len(told.values)
    one, other = (lower(known, is_told=True) for known in (analysis, changed))
    assert (one.llvm_ir, one.arguments) == (other.llvm_ir, other.arguments)
    assert one.arguments == lower(analysis).arguments


def _bits(array: np.ndarray[Any, Any]) -> bytes:
    """Return the bits of an array with the same NaN everywhere: a compiler's NaN and a GPU's have different ones."""
    return (np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array).tobytes()


@settings(max_examples=many(3))
@given(st.integers(0, 10**6))
def test_numbers_that_are_told_give_the_bits_of_constants(device: Device, seed: int) -> None:
    """Random graphs have the same results with passed numbers and with constants, up to the bits of a NaN."""
    graph, inputs, shape = valid_graph(seed, 25), random_inputs(), SHAPE
    constant, told = (run(device, compile_graph(graph, is_told=is_told), inputs, shape) for is_told in (False, True))
    assert [_bits(constant[name]) for name in told] == [_bits(array) for array in told.values()]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x * 2 + 0.25", [2.0, 0.25]),
        ("max(x, -0.0)", [-0.0]),
        ("vec(x, 0.5, x > 3, 1).x", [0.5, 1.0, 3.0]),
        ("x / 3", []),
        ("x ** 3", []),
        ("x % 5", []),
        ("sin(x * 6)", [6.0]),
        ("x + 1e39", []),
    ],
)
def test_operands_of_arithmetic_may_be_told(text: str, told: list[float]) -> None:
    """Operands of arithmetic are passed; divisors, exponents and 1e39, which is no f32, stay in the code."""
    assert sorted(map(str, _told(text))) == sorted(map(str, told))


def test_whole_numbers_are_part_of_the_code() -> None:
    """Whole numbers stay in the code, and a number with a fraction is passed, even if it meets an integer."""
    assert _told("i + 2", i="s32") == []
    assert _told("i + 2.5", i="s32") == [2.5]


def _constant(number: float, *readers: str, **setting: str) -> OpGraph:
    """Return x with a constant added; `readers` are further ops of x and the constant."""
    g = OpGraphBuilder()
    x, c = g.add("op.input", "x")["value"], g.add("op.constant", "c", value=number, **setting)["out"]
    for name in ("add", *readers):
        g.add("op.output", f"out_{name}", value=g.add(f"op.{name}", a=x, b=c)["out"])
    return g.graph()


def test_a_constant_may_be_told_when_all_that_read_it_may_be() -> None:
    """A constant that is also a divisor, or that has a type of its own, stays in the code."""
    assert compile_graph(_constant(3.5, "multiply")).numbers == struct.pack("f", 3.5)
    assert compile_graph(_constant(3, "multiply", type="float")).numbers == struct.pack("f", 3)
    assert compile_graph(_constant(3.5, "divide")).numbers == b""
    assert compile_graph(_constant(3, type="s32")).numbers == b""
    assert compile_graph(_constant(3, type="f32")).numbers == b""


def test_a_number_is_told_in_each_type_that_it_takes_on(device: Device) -> None:
    """A number is passed in each type in which it is used, in a struct with C's layout."""
    g = OpGraphBuilder()
    c = g.add("op.constant", "c", value=0.1)["out"]
    sums = {}
    for name, dtype in (("a", "f32"), ("b", "f64"), ("d", "f32")):
        sums[name] = g.add("op.add", a=g.add("op.input", name, type=dtype)["value"], b=c)["out"]
    for name, value in sums.items():
        g.add("op.output", f"{name}_out", value=g.add("op.multiply", a=value, b=7.5)["out"])
    kernel = compile_graph(g.graph(), is_told=True)
    assert len(kernel.numbers) % 8 == 0
    inputs = {name: np.arange(5, dtype=dtype) for name, dtype in (("a", "f4"), ("b", "f8"), ("d", "f4"))}
    found = run(device, kernel, inputs, 5)
    for name, array in inputs.items():
        kind = array.dtype.type
        np.testing.assert_array_equal(found[f"{name}_out"], (array + kind(0.1)) * kind(7.5))


def test_a_loop_starts_with_what_the_code_knows() -> None:
    """A loop's initial values and number of turns stay in the code, and its other numbers are passed."""
    g = OpGraphBuilder()
    loop = g.add("op.for", "loop", count=4, initial_a=0.5)
    loop.connect("next_a", g.add("op.multiply", "more", region="loop", a=loop["a"], b=1.5)["out"])
    g.add("op.output", "out", value=loop["a"])
    assert ToldNumbers(analyse(g.graph())).values == [1.5]


def test_more_numbers_than_a_launch_can_pass_are_constants(device: Device) -> None:
    """The first 256 numbers are passed, the others are constants, and the results are the same."""
    text = "\n".join(f"x = x * {1 + n / 1000} + {n / 500}" for n in range(1, 200)) + "\nx"
    kernel = compile_graph(parse_expression(text, inputs={"x": "f32"}), is_told=True)
    assert len(kernel.numbers) == 256 * 4
    x = expected = np.linspace(-1, 1, 37, dtype=np.float32)
    for n in range(1, 200):
        expected = expected * np.float32(1 + n / 1000) + np.float32(n / 500)
    np.testing.assert_array_equal(run(device, kernel, {"x": x}, 37)["out"], expected)


@pytest.mark.parametrize("number", [0.0, -0.0, 0.1, 1 / 3, 1e-45, -3.4028234663852886e38, 16777217, 2**53 + 1])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_numbers_are_rounded_as_constants_are(device: Device, number: float, dtype: str) -> None:
    """Numbers are rounded to nearest, and zero keeps its sign."""
    numpy = np.dtype(np.float32 if dtype == "f32" else np.float64)
    x = np.array([1, -1, 0.5, -0.0], numpy)
    g = OpGraphBuilder()
    value = g.add("op.input", "x", type=dtype)["value"]
    g.add("op.output", "out", value=g.add("op.multiply", a=value, b=number)["out"])
    for is_told in (False, True):
        found = run(device, compile_graph(g.graph(), is_told=is_told), {"x": x}, 4)["out"]
        assert found.tobytes() == (x * numpy.type(float(number))).tobytes()


def test_sources_that_differ_in_numbers_share_what_is_told_them() -> None:
    """Sources that differ in numbers share optimised code, and have their own numbers and quick code."""
    a, b, c = (OpGraphSource.of(_constant(number)) for number in (2.5, 3.5, ANY_NUMBER))
    assert op_graphs.shared(a) == op_graphs.shared(b) == op_graphs.shared(c) == c
    assert [op_graphs.launched(source).numbers for source in (a, b, c, a)] == [
        struct.pack("f", number) for number in (2.5, 3.5, 0.5, 2.5)
    ]
    assert len({op_graphs.told_kernel(source).ptx for source in (a, b, c)}) == 1
    assert len({op_graphs.kernel(source).ptx for source in (a, b, c)}) == 3
    one, other = (OpGraphSource.of(_constant(number, "divide")) for number in (2.5, 3.5))
    assert op_graphs.shared(one) == one != op_graphs.shared(other)
