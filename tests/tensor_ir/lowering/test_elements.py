"""Element-wise operations on a device equal numpy's: each of the table, every broadcast, and random graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.tensor_ir.lowering.running import check, computed, leaf, some
from warploom.engine.tensor_ir.errors import ExecutionFailed, ShapeMismatch
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.elementwise import Cast, Elementwise
from warploom.engine.tensor_ir.operations.leaves import BatchSize
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.program_block import Wanted
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.engine.types import DType, bf16, boolean, f16, f32, f64, s8, s32, u32

KINDS: dict[str, tuple[DType, ...]] = {
    "float": (f32, f64, f16, bf16),
    "number": (f32, f64, f16, bf16, s32, u32),
    "comparison": (f32, s32),
    "boolean": (boolean,),
    "choice": (f32, s32),
}


@pytest.mark.parametrize("name", RULES)
def test_each_operation_of_the_table(tensors: Tensors, name: str) -> None:
    """Each operation of the table equals numpy's, for each element type that it takes."""
    graph, rule = TensorGraph(), RULES[name]
    wanted, leaves = [], []
    for dtype in KINDS[rule.kind]:
        operands = [leaf(graph, 3, 5, dtype=dtype, batched=True) for _ in range(rule.arity)]
        if rule.kind == "choice":
            operands[0] = leaf(graph, 3, 5, dtype=boolean, batched=True)
        # Stay away from poles, and from values where the result depends on the last bit.
        given = [x.square() * 0.2 + 0.3 if dtype.kind == "float" and x.type.dtype != boolean else x for x in operands]
        numbers = (1.5 if dtype.kind == "float" else 2.0,) * rule.numbers
        wanted.append(graph.add(Elementwise(name, numbers), given))
        leaves += operands
    check(tensors, wanted, leaves, 4, scale=20.0)


SHAPES = [(), (1,), (5,), (1, 1), (4, 1), (1, 5), (4, 5), (3, 1, 1), (3, 4, 1), (3, 1, 5), (1, 4, 5)]


@pytest.mark.parametrize("batch", [1, 2, 7, 1000])
@pytest.mark.parametrize("batched", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_every_broadcast(tensors: Tensors, batch: int, batched: tuple[bool, bool]) -> None:
    """Every broadcast of two operands equals numpy's, aligned at the last axis and along the batch."""
    graph = TensorGraph()
    x, y = leaf(graph, 3, 4, 5, batched=batched[0]), [leaf(graph, *shape, batched=batched[1]) for shape in SHAPES]
    wanted = [x * 2.0 - other for other in y] + [other / (x.square() + 1.0) for other in y]
    wanted += [one + other for one in y[3:7] for other in y[3:7]]
    check(tensors, wanted, [x, *y], batch)


def test_conversions(tensors: Tensors) -> None:
    """Conversions between every two types equal numpy's."""
    graph = TensorGraph()
    leaves = [leaf(graph, 7, dtype=dtype) for dtype in (f32, f64, f16, bf16, s32, u32, s8, boolean)]
    wanted = [graph.add(Cast(other.type.dtype), (x,)) for x in leaves for other in leaves]
    check(tensors, wanted, leaves)


def test_narrow_elements_are_rounded_where_they_are_made(tensors: Tensors) -> None:
    """A conversion to f16 rounds even where the result is used in the same kernel."""
    graph = TensorGraph()
    x = leaf(graph, 100)
    check(tensors, [(x.cast(f16).cast(f32) - x) * 1000.0], [x])


def test_batch_size(tensors: Tensors) -> None:
    """BatchSize is the number of examples with which a program is run."""
    graph = TensorGraph()
    x = leaf(graph, 3, batched=True)
    check(tensors, [graph.add(BatchSize(f32)), x / graph.add(BatchSize(f32))], [x], 7)


def test_many_operations_take_several_kernels(tensors: Tensors) -> None:
    """A long chain, and a graph that uses each node twice, equal numpy's results over several kernels."""
    graph = TensorGraph()
    x = leaf(graph, 4)
    chain = both = x
    for _ in range(500):
        chain, both = chain * 0.99 + 0.01, both * 0.5 + both * 0.4
    check(tensors, [chain, both], [x])


def test_updates_see_what_was_there_before(tensors: Tensors) -> None:
    """All updates read the old values: two leaves are swapped, one is transposed, and one depends on all."""
    graph = TensorGraph()
    a, b, c, d = (leaf(graph, 3, 3) for _ in range(4))
    values = {x: some(x, 1, np.random.default_rng(number)) for number, x in enumerate((a, b, c, d))}
    total = a + b.transpose() + c + d
    wanted = [Wanted(b, a), Wanted(a, b), Wanted(c.transpose(), c), Wanted(d @ total, d), total, Wanted(a, a)]
    found = computed(tensors, values, wanted[:5])
    old = [values[x].astype(np.float64) for x in (a, b, c, d)]
    whole = old[0] + old[1].T + old[2] + old[3]
    for array, right in zip(found, (old[1], old[0], old[2].T, old[3] @ whole, whole), strict=True):
        np.testing.assert_allclose(array, right, atol=1e-5)


def test_a_program_takes_other_buffers_and_batch_sizes(tensors: Tensors) -> None:
    """A compiled program runs on any buffers, and its batch may grow, shrink and grow again."""
    graph = TensorGraph()
    x, w = leaf(graph, 5, 1, batched=True), leaf(graph, 3, 5)
    out = (w @ x).relu().sum().sum_batch()
    program = Program(tensors, [x, w], [out, w @ x])
    random = np.random.default_rng(5)
    for batch in (4, 9, 4, 2, 30, 9, 100, 4):
        values = {node: some(node, batch, random) for node in (x, w)}
        inputs = [tensors.buffer(node.type, batch) for node in (x, w)]
        outputs = [tensors.buffer(type_, batch) for type_ in program.output_types]
        for buffer, value in zip(inputs, values.values(), strict=True):
            buffer.write(value)
        program.run(inputs, outputs, batch)
        for buffer, right in zip(outputs, evaluate([out, w @ x], values), strict=True):
            np.testing.assert_allclose(buffer.read(), right, rtol=1e-4, atol=1e-4)
        for buffer in (*inputs, *outputs):
            buffer.free()
    program.close()


def test_copies_follow_other_buffers(tensors: Tensors) -> None:
    """Copies in a compiled program, even in a loop, follow other buffers."""
    graph = TensorGraph()
    x, y = leaf(graph, 3), leaf(graph, 3)
    program = Program(tensors, [x, y], [x, Wanted(x + y, y)], is_loop=True)
    for number in range(3):
        buffers = [tensors.buffer(node.type) for node in (x, y, x)]
        buffers[0].write(np.full(3, number + 1, np.float32))
        program.run(buffers[:2], buffers[2:], turns=2)
        assert [buffer.read()[0] for buffer in buffers] == [number + 1, 2 * (number + 1), number + 1]
        if number < 2:
            continue
        for buffer in buffers:
            buffer.free()
    program.close()


def test_what_a_device_cannot_compute_is_named(tensors: Tensors) -> None:
    """The error names a leaf without a buffer, a tensor without elements, and a buffer of another type or batch."""
    graph = TensorGraph()
    x, y = leaf(graph, 4, batched=True), leaf(graph, 4)
    with pytest.raises(ExecutionFailed, match=r"leaf must have a buffer, got none for Leaf\d+: f32\[4\]"):
        Program(tensors, [x], [x + y])
    with pytest.raises(ExecutionFailed, match=r"tensors on a device must have elements, got none in Slice\d+"):
        Program(tensors, [y], [y[:0]])
    program = Program(tensors, [x], [x * 2.0])
    made, other = tensors.buffer(x.type, 3), tensors.buffer(y.type)
    with pytest.raises(ShapeMismatch, match=r"input buffer must hold f32\[4\], batched, got f32\[4\]"):
        program.run([other], [made], 3)
    with pytest.raises(ShapeMismatch, match="output buffer must hold 2 examples, got 3"):
        program.run([tensors.buffer(x.type, 2)], [made], 2)
    with pytest.raises(ShapeMismatch, match="program must be given 1 output buffers, got 0"):
        program.run([made], [], 3)
    program.close()


def test_a_loop_carries_what_it_replaces(tensors: Tensors) -> None:
    """Several turns of a loop in one launch give the result of as many launches."""
    graph = TensorGraph()
    x, step = leaf(graph, 3, 1), leaf(graph)
    program = Program(tensors, [x, step], [Wanted(x * 0.5 + step, x), Wanted(step + 1.0, step)], is_loop=True)
    buffers = [tensors.buffer(x.type), tensors.buffer(step.type)]
    buffers[0].write(np.array([1.0, 2.0, 3.0], np.float32))
    expected = np.array([[1.0], [2.0], [3.0]])
    for turns in (3, 3, 1, 0, 5):
        program.run(buffers, [], turns=turns)
    for number in range(12):
        expected = expected * 0.5 + number
    np.testing.assert_allclose(buffers[0].read(), expected, rtol=1e-6)
    assert buffers[1].read() == 12.0
    program.close()
    for buffer in buffers:
        buffer.free()


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[TensorNode], list[TensorNode], int]:
    """Draw nodes of a random graph to compute, its leaves, and a batch size."""
    graph = TensorGraph()
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    shapes = [(n, 1), (m, 1), (m, n), (n, n), (1, 1), ()]
    leaves = [leaf(graph, *shape, batched=draw(st.booleans())) for shape in shapes]
    nodes = list(leaves)
    for _ in range(draw(st.integers(1, 25))):
        x = draw(st.sampled_from(nodes))
        kind = draw(st.sampled_from(["unary", "binary", "product", "sum", "batch", "transpose", "reshape", "concat"]))
        if kind == "unary":
            nodes.append(x.elementwise(draw(st.sampled_from(["tanh", "relu", "neg", "sigmoid", "abs", "sin"]))))
        elif kind == "binary":
            others = [o for o in nodes if not _clashes(o, x)]
            y = draw(st.sampled_from(others))
            nodes.append(x.elementwise(draw(st.sampled_from(["add", "sub", "mul", "maximum"])), y))
        elif kind == "product" and len(x.type.shape) == 2:
            others = [o for o in nodes if len(o.type.shape) == 2 and o.type.shape[0] == x.type.shape[1]]
            if others:
                nodes.append((x @ draw(st.sampled_from(others))) * 0.3)
        elif kind == "sum" and x.type.shape:
            nodes.append(x.sum(draw(st.integers(0, len(x.type.shape) - 1)), keepdims=True) * 0.3)
        elif kind == "batch" and x.type.batched:
            nodes.append(x.mean_batch())
        elif kind == "transpose" and len(x.type.shape) == 2:
            nodes.append(x.transpose())
        elif kind == "reshape":
            nodes.append(x.reshape(-1) if draw(st.booleans()) else x.reshape(1, x.type.size, 1))
        elif kind == "concat" and x.type.shape:
            nodes.append(x.concat(x * 0.5, axis=0))
    count = draw(st.integers(1, 4))
    wanted = [draw(st.sampled_from(nodes)) for _ in range(count)]
    return list(dict.fromkeys([*wanted, nodes[-1]])), leaves, draw(st.sampled_from([1, 2, 7]))


def _clashes(a: TensorNode, b: TensorNode) -> bool:
    pairs = zip(a.type.shape[::-1], b.type.shape[::-1], strict=False)
    return any(x != y and 1 not in (x, y) for x, y in pairs)


@given(graphs())
@settings(max_examples=many(25))
def test_random_graphs(tensors: Tensors, made: tuple[list[TensorNode], list[TensorNode], int]) -> None:
    """Every node of a random graph equals numpy's result, whatever is fused."""
    wanted, leaves, batch = made
    check(tensors, wanted, leaves, batch, scale=10.0)
