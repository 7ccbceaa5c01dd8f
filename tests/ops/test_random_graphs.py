"""Random op graphs: valid ones agree with the tests' evaluator, and wrong ones are reported as errors."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.ops.random_graphs import INPUTS, nonsense, valid_graph
from tests.ops.reference import Reference, assert_same
from tests.ops.reference_numbers import Array
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Severity
from warploom.engine.ops import OpError, OpGraph, check_op_graph, compile_graph, graph_from_json, graph_to_json

SHAPE = (13, 7)


def random_inputs() -> dict[str, Array]:
    choose = np.random.default_rng(11)
    size = 13 * 7
    f = (choose.normal(size=size) * 4).astype(np.float32)
    f[:9] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-42, 3e38, 1, -1]
    whole = choose.integers(-9, 9, size).astype(np.int32)
    whole[:5] = [0, -1, 2**31 - 1, -(2**31), 7]
    made = {
        "f": f,
        "g": np.roll(f, 3)[::-1],
        "i": whole,
        "n": whole[::-1].astype(np.uint32),
        "d": choose.normal(size=size) * 1e3,
        "b": choose.integers(0, 2, size).astype(bool),
        "v": choose.normal(size=(size, 2)).astype(np.float32),
        "c": choose.integers(0, 256, (size, 4), dtype=np.uint8),
        "h": choose.normal(size=size).astype(np.float16),
    }
    assert made.keys() == INPUTS.keys()
    return {name: array.reshape(*SHAPE, *array.shape[1:]) for name, array in made.items()}


@settings(max_examples=many(8))
@given(st.integers(0, 10**6))
def test_random_graphs_give_what_the_evaluator_gives(device: Device, seed: int) -> None:
    """Random graphs with ops of all types, vectors, branches and loops equal the evaluator's results bit for bit."""
    graph = valid_graph(seed, 25)
    inputs = random_inputs()
    expected = Reference(graph, inputs, SHAPE).outputs()
    found = run(device, graph, inputs, SHAPE) if expected else {}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert_same(found[name], array, f"{name} of seed {seed}")


@settings(max_examples=many(2))
@given(st.integers(0, 10**6))
def test_the_code_of_an_edit_gives_the_bits_of_optimised_code(device: Device, optimised: Device, seed: int) -> None:
    """Quick code, with calls and one element per thread, gives the bits of optimised code."""
    graph, inputs = valid_graph(seed, 25), random_inputs()
    quick, wide = compile_graph(graph), compile_graph(graph, elements_per_thread=4)
    assert quick.arguments == wide.arguments
    first, later = run(device, quick, inputs, SHAPE), run(optimised, wide, inputs, SHAPE, is_inlined=True)
    assert [first[name].tobytes() for name in later] == [array.tobytes() for array in later.values()]


@settings(max_examples=many(150))
@given(st.integers(0, 10**9), st.integers(2, 30))
@example(0, 30)
def test_nonsense_is_told_and_nothing_else_happens(seed: int, size: int) -> None:
    """A nonsense graph is compiled or refused with the errors that checking returns."""
    graph = nonsense(seed, size)
    problems = check_op_graph(graph)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    try:
        kernel = compile_graph(graph)
    except OpError as problem:
        assert problem.errors == errors
    else:
        assert not errors
        assert compile_graph(graph) == kernel
    graph.key()


_FIELDS = ("nodes", "connections", "id", "type", "region", "parameters", "source", "target")
_LEAVES = st.none() | st.booleans() | st.floats() | st.text(max_size=4)
_ANYTHING = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
    max_leaves=12,
)


@given(_ANYTHING)
def test_any_json_is_a_graph_or_an_error(data: object) -> None:
    """Any JSON is a graph or an error, and a graph is equal after writing and reading it."""
    try:
        graph = graph_from_json(data)
    except OpError:
        return
    assert isinstance(graph, OpGraph)
    check_op_graph(graph)
    again = graph_from_json(graph_to_json(graph))
    assert again.nodes == graph.nodes or "nan" in str(graph)
