"""Execution of lazy tensors: caching, segments, reuse of programs, memory, and failures."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.tensor_runtime.lazy.conftest import Work
from warploom.engine.diagnostics import DeviceError
from warploom.engine.tensor_ir.graph import TensorOperation, reachable_nodes
from warploom.engine.tensor_ir.ordering import topological_order
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.lazy import execution
from warploom.engine.tensor_runtime.lazy.devices import lazy_device
from warploom.engine.tensor_runtime.lazy.execution import Segment, find_segments, simplified, structure_of
from warploom.engine.tensor_runtime.lazy.graph import LazyNode
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.tensors import ExecutionFailed, InvalidOperation, Tensor, execute

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)


def given(on: str = "host", **options: Any) -> Tensor:
    """Return X as a leaf."""
    return Tensor.from_numpy(X, device=on, **options)


def segments(*wanted: Tensor) -> list[Segment]:
    """Return the segments in which tensors would be computed."""
    nodes = [tensor._node() for tensor in wanted]
    return list(find_segments(topological_order(nodes, lambda node: node.value is not None), nodes))


# Caching


def test_nothing_is_computed_before_it_is_asked_for(work: Work) -> None:
    """Shapes and gradients are known without computing anything."""
    x = given(requires_grad=True)
    out = (x.exp() + 1).sum()
    assert out.gradients([x])[0].shape == X.shape
    assert (work.made, work.launched) == (0, 0)


def test_what_was_computed_is_not_computed_again(on: str, work: Work) -> None:
    """A computed node is not computed again, for another request or for another node."""
    out = given(on).exp()
    first = out.numpy()
    assert work.launched == 1
    np.testing.assert_array_equal(out.numpy(), first)
    out.execute()
    assert work.launched == 1
    (out * 2).execute()
    assert work.launched == 2
    np.testing.assert_allclose(first, np.exp(X), rtol=1e-6)


def test_tensors_on_the_way_are_kept(work: Work) -> None:
    """An intermediate tensor that the program still holds is stored when a later one is computed."""
    middle = given().exp()
    out = middle.sin() + 1
    out.execute()
    assert middle.is_computed
    middle.numpy()
    assert work.launched == 1


def test_what_nobody_has_is_fused_away() -> None:
    """Of the four nodes of a segment, only the requested tensor's node is stored."""
    out = given().exp().sin().cos() + 1
    (segment,) = segments(out)
    assert segment.kept == [out._lazy]
    assert len(segment.nodes) == 4


def test_what_another_tensor_will_need_is_kept(work: Work) -> None:
    """An intermediate node is stored if another tensor, not computed yet, depends on it."""
    x = given()
    shared = x.exp().sin()
    one, two = shared + 1, shared * 2
    node = shared._lazy
    del shared
    one.execute()
    assert node.value is not None
    two.execute()
    assert work.launched == 2
    np.testing.assert_allclose(two.numpy(), np.sin(np.exp(X)) * 2, rtol=1e-5)


def test_what_only_computed_tensors_needed_is_not_kept() -> None:
    """An intermediate node isn't stored once all tensors that depend on it are computed."""
    x = given()
    shared = x.exp()
    one = shared + 1
    node = shared._lazy
    del shared
    one.execute()
    assert node.value is None


def test_constants_are_not_stored() -> None:
    """A kernel writes a constant's number itself, even while the constant has a tensor."""
    ones = Tensor.ones((4, 6), device="host")
    out = given() + ones
    out.execute()
    assert not ones.is_computed
    np.testing.assert_array_equal(ones.numpy(), np.ones((4, 6)))


def test_another_shape_of_what_is_computed_costs_nothing(on: str, work: Work) -> None:
    """A reshaped tensor shares the memory, which is freed when both are gone."""
    before = in_use(on)
    x = Tensor.from_numpy(X, device=on)
    turned = x.reshape(-1, 1).reshape(2, 12)
    np.testing.assert_array_equal(turned.numpy(), X.reshape(2, 12))
    assert work.launched == 0
    held = in_use(on)
    del x
    np.testing.assert_array_equal((turned * 1).reshape(-1).numpy(), X.reshape(-1))
    assert work.launched == 1
    assert turned._computed().buffer.memory.pointer
    del turned
    assert in_use(on) < held
    assert before < held


def test_several_tensors_at_once(on: str, work: Work) -> None:
    """Tensors that are computed together take one launch, and what they share is computed once."""
    x = given(on)
    shared = x.exp()
    outs = [shared + 1, shared * 2, shared.sin()]
    execute(outs)
    assert work.launched == 1
    for out, expected in zip(outs, [np.exp(X) + 1, np.exp(X) * 2, np.sin(np.exp(X))], strict=True):
        np.testing.assert_allclose(out.numpy(), expected, rtol=2e-5, atol=1e-6)
    assert work.launched == 1


def test_tensors_of_several_graphs_at_once(work: Work) -> None:
    """Computing tensors together doesn't merge their graphs."""
    one, two = given() + 1, given() + 2
    execute([one, two, one])
    assert one.is_computed
    assert two.is_computed
    assert one.graph is not two.graph
    assert work.launched == 2


def test_gradients_use_what_the_loss_has_computed() -> None:
    """An intermediate tensor that the program holds is not computed again for the gradient."""
    weights = given(requires_grad=True)
    hidden = weights.exp()
    loss = hidden.sum()
    loss.execute()
    (gradient,) = loss.gradients([weights])
    needed = [node for segment in segments(gradient) for node in segment.nodes]
    assert hidden._lazy not in needed
    np.testing.assert_allclose(gradient.numpy(), np.exp(X), rtol=1e-6)


# Programs that are used again


def test_an_equal_graph_compiles_nothing(on: str, work: Work) -> None:
    """Equal graphs with other contents in other memory run the same program."""
    for turn in range(4):
        x = Tensor.from_numpy(X + turn, device=on)
        out = (x.exp() * x + 0.25).sum(axis=1)
        np.testing.assert_allclose(out.numpy(), (np.exp(X + turn) * (X + turn) + 0.25).sum(axis=1), rtol=1e-4)
    assert (work.made, work.launched) == (1, 4)


def test_segments_are_simplified(on: str) -> None:
    """In a segment, repeated work is done once, and transpositions are merged into products."""
    x, y = given(on), given(on).transpose((1, 0)).execute()

    def product() -> Tensor:
        return x.transpose((1, 0)).reshape(6, 4) @ y.transpose((1, 0))

    out = (product() * 1.0).exp() / (product().exp() + 0.0)
    (segment,) = segments(out)
    inputs, (result,) = simplified(segment, [])
    nodes = [node for node in reachable_nodes([result]) if node.inputs]
    assert [node.operation.label for node in nodes] == ["Matmul", "Exp", "Div"]
    assert set(inputs) == {node for node in reachable_nodes([result]) if not node.inputs}
    np.testing.assert_array_equal(out.numpy(), np.ones((6, 6)))


def test_scaled_sums_have_the_bits_of_single_operations(on: str) -> None:
    """Scaled sums have the bits of single operations."""
    x = given(on)
    step = x * 0.1
    sums = [(x * 0.1 + x * 0.7) * 3.3, (step + (x * 0.7).execute()).execute() * 3.3]
    np.testing.assert_array_equal(*(total.numpy() for total in sums))


def equal(make: Callable[[Tensor, Tensor], Tensor], other: Callable[[Tensor, Tensor], Tensor]) -> bool:
    """Return whether two graphs have the same structure."""

    def structure(make: Callable[[Tensor, Tensor], Tensor], shape: tuple[int, ...] = (2, 2)) -> object:
        a, b = (Tensor.from_numpy(np.ones(shape, np.float32), device="host") for _ in range(2))
        out = make(a, b)
        (segment,) = segments(out)
        return structure_of(segment)[0]

    assert structure(make) == structure(make)
    return structure(make) == structure(other)


def test_what_makes_a_structure() -> None:
    """Operations, numbers, wiring and types make a structure; names and source lines don't."""
    assert equal(lambda a, b: a + b, lambda a, b: b + a)  # the operand that is read first becomes the first input
    assert not equal(lambda a, b: a - b, lambda a, b: a - a)
    assert not equal(lambda a, b: a + b, lambda a, b: a * b)
    assert not equal(lambda a, b: a**2.0, lambda a, b: a**3.0)
    assert not equal(lambda a, b: (a + b) + b, lambda a, b: a + (b + b))
    assert not equal(lambda a, b: a.sum(axis=0), lambda a, b: a.sum(axis=1))
    assert not equal(lambda a, b: a @ b, lambda a, b: a @ b + b)


def test_which_nodes_are_stored_is_part_of_a_structure(work: Work) -> None:
    """Two graphs are different programs if an intermediate node has a tensor in only one of them."""
    for keeps in (False, True, False, True):
        x = given()
        middle = x.exp()
        out = middle + 1.625
        if not keeps:
            del middle
        out.execute()
        if keeps:
            np.testing.assert_allclose(middle.numpy(), np.exp(X), rtol=1e-6)
    assert work.made == 2


def test_other_numbers_compile_once_more_at_most(on: str, work: Work) -> None:
    """Programs that differ in numbers compile twice at most: the second program takes any numbers."""
    x = Tensor.from_numpy(X, device=on)
    for turn in range(6):
        number = 0.1875 + turn
        np.testing.assert_allclose((x * number - turn).numpy(), X * np.float32(number) - turn, rtol=1e-6)
    assert (work.made, work.launched) == (2, 6)
    whole = Tensor.from_numpy(np.arange(6, dtype=np.int32), device=on)
    for turn in range(3):
        np.testing.assert_array_equal((whole * (turn + 7)).numpy(), np.arange(6) * (turn + 7))
    for seed in range(3):
        Tensor.rand((5, 7), seed=seed, device=on).execute()
    assert work.made == 6


# Segments


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit segments to seven operations."""
    monkeypatch.setattr(find_segments, "__defaults__", (7,))


@pytest.mark.usefixtures("short")
def test_segments_hold_everything_once_in_order() -> None:
    """Each segment comes after those that it needs, and every value that crosses a border is stored."""
    x = given()
    nodes = [x]
    for turn in range(40):
        nodes.append(nodes[turn] + nodes[turn // 2] * 0.5)
    out = nodes[-1]
    del nodes
    found = segments(out)
    assert [len(segment.nodes) for segment in found[:-1]] == [7] * (len(found) - 1)
    known: set[LazyNode] = {x._lazy}
    for segment in found:
        inside: set[LazyNode] = set()
        for node in segment.nodes:
            assert all(other in known or other in inside or not other.inputs for other in node.inputs)
            inside.add(node)
        assert set(segment.kept) <= inside
        known.update(segment.kept)
    assert out._lazy in known
    computed = [node for segment in found for node in segment.nodes]
    assert len(computed) == len(set(computed)) == 80


@pytest.mark.usefixtures("short")
def test_a_graph_of_many_segments(on: str) -> None:
    """A graph of many segments gives the result of one program, and keeps only requested tensors."""
    x = given(on)
    out, expected = x, X
    for turn in range(60):
        out, expected = out * 0.5 + x, expected * np.float32(0.5) + X
        if turn == 31:
            kept = out
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)
    assert kept.is_computed
    assert len(out.graph) == 3


@pytest.mark.usefixtures("short")
def test_equal_segments_share_a_program(work: Work) -> None:
    """Equal segments of a chain share one program."""
    x = given()
    out = x
    for _ in range(7 * 9 + 3):
        out = out + x
    out.execute()
    assert work.launched == 10
    assert work.made <= 3
    np.testing.assert_allclose(out.numpy(), X * 67, rtol=1e-5)


@pytest.mark.usefixtures("short")
def test_what_is_never_the_same_is_computed_one_by_one(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a few programs, an execution compiles no more segments and computes operations one by one."""
    monkeypatch.setattr(execution, "MOST_COMPILED", 3 * 7)
    choose = Random(11)
    out, expected = given(), X
    x = out
    for _ in range(70):
        if choose.random() < 0.5:
            out, expected = out.maximum(x), np.maximum(expected, X)
        else:
            out, expected = (out + x) * 0.5, (expected + X) / 2
    out.execute()
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
    assert work.made <= 3 + 3
    assert len(out.graph) == 2


@pytest.mark.usefixtures("short")
def test_long_segments_are_compiled_when_they_come_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long segment is compiled when it comes again, even with other numbers; at first it runs op by op."""
    monkeypatch.setattr(execution, "AT_ONCE", 6)
    x = Tensor.from_numpy(X[:, :3], device="host")
    made, launched = [], []
    for turn in range(4):
        number = 0.28125 + max(turn - 1, 0)
        out = ((x * number).exp().sin() + x).cos().tanh() * x
        np.testing.assert_allclose(
            out.numpy(), np.tanh(np.cos(np.sin(np.exp(X[:, :3] * number)) + X[:, :3])) * X[:, :3], rtol=1e-4, atol=1e-6
        )
        made.append(work.made)
        launched.append(work.launched)
    assert launched == [7, 8, 9, 10]
    assert made[0] == 7  # there are two products, one of them by a number
    assert made[1:] == [made[0] + 1, made[0] + 2, made[0] + 2]


@pytest.mark.usefixtures("short")
def test_another_shape_takes_no_launch_between_operations(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reshape shares memory even where operations are computed one by one."""
    monkeypatch.setattr(execution, "AT_ONCE", 2)
    out = given().exp().reshape(-1).reshape(6, 4) + 0.625
    np.testing.assert_allclose(out.numpy(), np.exp(X).reshape(6, 4) + np.float32(0.625), rtol=1e-6)
    assert work.launched == 2


@pytest.mark.parametrize("lent", [False, True])
def test_an_execution_waits_for_its_last_launch(
    on: str, lent: bool, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The execution also waits for each launch that reads another library's memory."""
    monkeypatch.setattr(execution, "AT_ONCE", 1)
    monkeypatch.setattr(execution, "MOST_COMPILED", 0)
    if lent and on != "host":
        pytest.skip("needs an array of another library on the GPU")
    waited = []
    synchronize = Tensors.synchronize
    for _ in range(2):
        x = Tensor.from_dlpack(X) if lent else given(on)
        out = (x.exp() + x).sin().sqrt().reshape(3, 8)
        monkeypatch.setattr(
            Tensors, "synchronize", lambda tensors: (waited.append(work.launched), synchronize(tensors))
        )
        work.launched, waited[:] = 0, []
        out.execute()
        monkeypatch.setattr(Tensors, "synchronize", synchronize)
        assert out.is_computed
    assert waited == ([1, 2, 4] if lent else [4])


def test_the_work_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many nodes make twice as many segments, with as many inputs and outputs each."""
    counts = []

    class Nothing:
        """A fake program, for a test of the order of work."""

        def __init__(self, _tensors: object, inputs: list[LazyNode], wanted: list[LazyNode]) -> None:
            counts[-1] += len(inputs) + len(wanted)

        def run(self, _inputs: object, _outputs: object) -> None:
            counts[-1] += 1

        def close(self) -> None:
            """Nothing to do."""

    monkeypatch.setattr(execution, "Program", Nothing)
    device = lazy_device("host")
    kept = dict(device._programs)
    device._programs.clear()
    try:
        for length in (10_000, 20_000):
            counts.append(0)
            x = given()
            out = x
            for turn in range(length):
                out = out + x if turn % 3 else out.exp()
            out.execute()
            assert len(out.graph) == 2
        assert counts[1] <= 2.1 * counts[0]
        assert counts[1] <= 20 * 2.2 + 6 * 3
    finally:
        device._programs.clear()
        device._programs.update(kept)


def test_a_deep_graph_is_computed(on: str) -> None:
    """A graph five times as deep as Python's limit of nested calls can be computed."""
    x = Tensor.from_numpy(np.zeros(3, np.float32), device=on)
    out = x
    for _ in range(5000):
        out = out + 1
    np.testing.assert_array_equal(out.numpy(), np.full(3, 5000, np.float32))


def test_a_wide_graph_is_computed() -> None:
    """A graph in which thousands of branches join is computed."""
    x = Tensor.from_numpy(np.ones(3, np.float32), device="host")
    level = [x * float(number % 5) for number in range(2048)]
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=True)]
    expected = float(sum(number % 5 for number in range(2048)))
    np.testing.assert_array_equal(level[0].numpy(), np.full(3, expected, np.float32))


# Memory


def in_use(on: str) -> int:
    """Return the bytes in use by tensors and programs."""
    gc.collect()
    return lazy_device(on).used_bytes


def test_dropped_tensors_free_their_memory(on: str) -> None:
    """Both dropped and intermediate tensors free their memory at once."""
    size = 1 << 20
    big = Tensor.zeros((size // 4,), device=on)
    (big + 1).execute()  # compiles the program
    before = in_use(on)
    one = (big + 1).execute()
    assert in_use(on) == before + size
    two = (one + 1).execute()
    assert in_use(on) == before + 2 * size
    del one
    assert in_use(on) == before + size
    del two
    assert in_use(on) == before


def test_what_is_still_needed_stays() -> None:
    """The memory of a dropped tensor stays while another tensor is to be computed from it."""
    before = in_use("host")
    leaf = Tensor.from_numpy(np.ones(1 << 18, np.float32), device="host")
    out = leaf + 1
    del leaf
    assert in_use("host") == before + (1 << 20)
    total = out.sum()
    assert total.item() == 1 << 19
    del out, total
    assert in_use("host") < before + (1 << 20)


def test_a_loop_runs_in_the_memory_of_a_few_turns(on: str) -> None:
    """A loop of tensors uses the memory of a few turns."""
    x = Tensor.from_numpy(np.zeros(1 << 18, np.float32), device=on)
    for turn in range(20):
        x = (x + 1).execute()
        if turn == 3:
            before = in_use(on)
    assert in_use(on) == before
    np.testing.assert_array_equal(x.numpy()[:3], [20, 20, 20])


def test_the_segments_of_one_execution_free_what_they_no_longer_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of a hundred large tensors needs the memory of a few."""
    monkeypatch.setattr(find_segments, "__defaults__", (1,))
    x = Tensor.from_numpy(np.zeros(1 << 18, np.float32), device="host")
    out = x
    for _ in range(100):
        out = out + x
    most = 0
    run = Program.run

    def watch(program: Program, *args: Any, **options: Any) -> None:
        nonlocal most
        run(program, *args, **options)
        most = max(most, lazy_device("host").used_bytes)

    before = in_use("host")
    monkeypatch.setattr(Program, "run", watch)
    out.execute()
    assert most <= before + (4 << 20)


def test_programs_give_way_when_memory_runs_out(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When memory runs out, programs that are kept for later are dropped, and the result is computed."""
    x = Tensor.from_numpy(X, device=on)
    for turn in range(3):
        (x + turn).execute()
    pool = lazy_device(on).tensors.services.pool
    acquire, refused = pool.acquire, []

    def refuse(size_bytes: int, **options: Any) -> Any:
        if len(lazy_device(on)._programs) > 1 and size_bytes == 4 * 24 * 8:
            refused.append(size_bytes)
            raise DeviceError("allocation must fit in memory")
        return acquire(size_bytes, **options)

    monkeypatch.setattr(pool, "acquire", refuse)
    wide = Tensor.ones((8, 4, 6), device=on) * x
    np.testing.assert_array_equal(wide.numpy(), np.broadcast_to(X, (8, 4, 6)))
    assert refused == [768]
    assert len(lazy_device(on)._programs) == 1


# Failures


@dataclass(frozen=True)
class Unfinished(TensorOperation):
    """An operation without a lowering."""

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the input's type."""
        return inputs[0]


def test_an_operation_that_cannot_be_lowered() -> None:
    """An operation without a lowering is an error with tensor, shape, line and reason; other tensors stay usable."""
    x = given()
    bad = x.exp()._apply(Unfinished(), x._lazy)
    after = bad + 1
    message = r"Add\d+: f32\[4, 6\], made at .*_execution\.py:\d+, must be computed on host, got: Unfinished must have"
    for _ in range(2):
        with pytest.raises(ExecutionFailed, match=message):
            after.execute()
    assert not after.is_computed
    np.testing.assert_allclose((x * 2).numpy(), X * 2)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let the launches fail whose numbers are in the list."""
    numbers: list[int] = []
    launched = 0
    run = Program.run

    def fail(program: Program, *args: Any, **options: Any) -> None:
        nonlocal launched
        launched += 1
        if launched in numbers:
            raise InvalidOperation("out of luck")
        run(program, *args, **options)

    monkeypatch.setattr(Program, "run", fail)
    return numbers


@pytest.mark.usefixtures("short")
def test_a_failure_in_the_middle_keeps_what_was_computed(failing: list[int]) -> None:
    """After a failure, the next attempt continues from what was computed, and no memory is lost."""
    x = given()
    out, expected = x, X
    for _ in range(20):
        out, expected = out + x, expected + X
    (out + 0).execute()
    del out
    before = in_use("host")
    out = x
    for _ in range(20):
        out = out + x
    failing.append(5)
    with pytest.raises(ExecutionFailed, match="out of luck"):
        out.execute()
    assert not out.is_computed
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)
    del out
    assert in_use("host") == before
