"""Which tensors share a graph, how long their nodes live, and which thread may use them."""

import gc
import random
import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.lazy.graph import LazyGraph, LazyNode
from warploom.tensors import InvalidOperation, MergeFailed, Tensor, execute


def leaf(value: float = 1.0) -> Tensor:
    """Return a leaf f32[3] on the host, in a graph of its own."""
    return Tensor.full((3,), value, device="host")


# Merging


def test_each_leaf_begins_a_graph_and_combining_merges() -> None:
    """All tensors that were combined share one graph, whichever operand is asked."""
    a, b, c = leaf(), leaf(), leaf()
    assert len({a.graph, b.graph, c.graph}) == 3
    both = a + b
    assert a.graph is b.graph is both.graph is not c.graph
    out = c * both
    assert {x.graph for x in (a, b, c, both, out)} == {out.graph}
    assert len(out.graph) == 5
    assert out.graph.nodes == sorted(out.graph.nodes, key=lambda node: node.number)


def test_the_smaller_graph_moves() -> None:
    """Merging costs as many moves as the smaller graph has nodes."""
    large = leaf()
    for _ in range(10):
        large = large.exp()
    keep = large.graph
    out = leaf() + large
    assert out.graph is keep
    out = large + leaf()
    assert out.graph is keep


def test_merging_in_turns_is_nearly_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging graphs in turns moves a node at most log2 of all nodes times."""
    moved = 0
    merge = LazyGraph.merge

    def count(self: LazyGraph, other: TensorGraph) -> LazyGraph:
        nonlocal moved
        assert isinstance(other, LazyGraph)
        moved += min(len(self), len(other))
        return merge(self, other)

    monkeypatch.setattr(LazyGraph, "merge", count)
    parts = [leaf() for _ in range(1024)]
    everything = list(parts)
    shuffled = random.Random(3)
    while len(parts) > 1:
        shuffled.shuffle(parts)
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
        everything += parts
    assert len(parts[0].graph) == 2047 == len(everything)
    assert moved <= 2047 * 11


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=40))
def test_graphs_are_the_connected_parts(pairs: list[tuple[int, int]]) -> None:
    """Graphs are the connected parts, as found by merging sets."""
    tensors = [leaf() for _ in range(8)]
    groups = [{index} for index in range(8)]
    for first, second in pairs:
        first, second = first % len(tensors), second % len(tensors)
        tensors.append(tensors[first] + tensors[second])
        group = groups[first] | groups[second] | {len(tensors) - 1}
        groups.append(group)
        for index in group:
            groups[index] = group
    for index, tensor in enumerate(tensors):
        assert {n for n, other in enumerate(tensors) if other.graph is tensor.graph} == groups[index]
        assert len(tensor.graph) == len(groups[index])


def test_nodes_of_a_builder_stay_apart() -> None:
    """A lazy tensor can't be combined with a node of a network that is to be trained."""
    node = TensorGraph().add(Leaf(TensorType((3,))))
    with pytest.raises(MergeFailed, match="lazy tensors must be combined with each other"):
        leaf() + node


def test_a_mistake_merges_nothing() -> None:
    """An operation on wrong shapes merges no graphs."""
    a, b = leaf(), Tensor.zeros((4,), device="host")
    with pytest.raises(Exception, match="shapes must broadcast"):
        a + b
    assert a.graph is not b.graph
    assert len(a.graph) == len(b.graph) == 1


# Life


def test_what_no_tensor_needs_is_gone() -> None:
    """A node lives as long as a tensor, or a node that is to be computed, needs it."""
    a = leaf()
    out = a.exp().sin()
    middle = ref(out._lazy.inputs[0])
    assert len(a.graph) == 3
    assert middle() is not None
    del out
    gc.collect()
    assert middle() is None
    assert len(a.graph) == 1


def test_what_is_computed_forgets_what_it_was_computed_from() -> None:
    """A computed tensor keeps its inputs only if it requires a gradient."""
    a = leaf()
    out = a.exp().sin()
    middle = ref(out._lazy.inputs[0])
    out.execute()
    assert middle() is None
    assert out.order() == [out._lazy]
    weights = Tensor.from_numpy(np.ones(3, np.float32), device="host", requires_grad=True)
    out = weights.exp().sin()
    out.execute()
    assert len(out.order()) == 3


def test_a_long_loop_keeps_nothing() -> None:
    """A long loop that replaces its tensor in each iteration keeps one node."""
    x = leaf()
    for _ in range(50):
        x = (x * 0.5 + 1).execute()
    assert len(x.graph) == 1
    np.testing.assert_allclose(x.numpy(), [2, 2, 2], atol=1e-6)


def test_a_deep_graph_is_dropped_without_recursion() -> None:
    """A graph of tens of thousands of nodes that refer to each other can be dropped."""
    first = node = leaf()
    for _ in range(20_000):
        node = node.exp()
    graph = first.graph
    assert len(graph) == 20_001
    del node
    assert len(graph) == 1


# Threads


def in_thread(work: Callable[[], Any]) -> Any:
    """Return the result of a function in another thread, or raise its exception."""
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(work())
        except Exception as problem:  # noqa: BLE001 - raised again by the caller
            result.append(problem)

    thread = threading.Thread(target=run, name="other")
    thread.start()
    thread.join()
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


@pytest.mark.parametrize(
    "use",
    [
        lambda tensor: tensor + 1,
        lambda tensor: tensor.execute(),
        lambda tensor: tensor.numpy(),
        lambda tensor: tensor.gradients([tensor]),
        lambda tensor: tensor.hand_over(),
        lambda tensor: execute([tensor]),
    ],
)
def test_a_tensor_belongs_to_its_thread(use: Callable[[Tensor], object]) -> None:
    """A tensor's use in another thread is refused with a remedy, and its own thread can still use the tensor."""
    tensor = leaf()
    told = r"f32\[3\].* belongs to, MainThread, got other; call its hand_over\(\) there first \(.*_graph\.py:\d+\)"
    with pytest.raises(InvalidOperation, match=told):
        in_thread(lambda: use(tensor))
    np.testing.assert_array_equal((tensor + 1).numpy(), [2, 2, 2])


def test_what_is_known_may_be_asked_anywhere() -> None:
    """Shape, element type and text of a tensor are available in every thread."""
    tensor = leaf()
    assert in_thread(lambda: (tensor.shape, repr(tensor))) == ((3,), repr(tensor))


def test_tensors_of_two_threads_are_not_combined() -> None:
    """Tensors of two threads can be combined only after a handover."""
    here = leaf()
    waiting, made = threading.Event(), threading.Event()
    there: list[Tensor] = []

    def other() -> None:
        there.append(leaf(2.0))
        made.set()
        waiting.wait()
        there[0].hand_over()

    thread = threading.Thread(target=other, name="other")
    thread.start()
    made.wait()
    with pytest.raises(
        MergeFailed, match=r"f32\[3\].*of one thread .* got MainThread and other; .*\(.*_graph\.py:\d+\)"
    ):
        here + there[0]
    waiting.set()
    thread.join()
    np.testing.assert_array_equal((here + there[0]).numpy(), [3, 3, 3])


def test_what_was_handed_over_belongs_to_the_next_thread() -> None:
    """A tensor that was handed over belongs to the next thread, with all tensors that it was combined with."""
    tensor = leaf()
    out = tensor + 1
    started, done = threading.Event(), threading.Event()
    found: list[Any] = []
    tensor.hand_over()

    def other() -> None:
        found.append(out.numpy())
        started.set()
        done.wait()

    thread = threading.Thread(target=other, name="other")
    thread.start()
    started.wait()
    with pytest.raises(InvalidOperation, match="belongs to, other, got MainThread"):
        tensor.numpy()
    done.set()
    thread.join()
    np.testing.assert_array_equal(found[0], [2, 2, 2])


def test_the_tensors_of_a_thread_that_ended_can_be_used() -> None:
    """A tensor of a thread that has ended can be used in another thread."""
    tensor = in_thread(lambda: leaf() + 1)
    np.testing.assert_array_equal((tensor * 2).numpy(), [4, 4, 4])


def test_threads_compute_side_by_side() -> None:
    """Threads compute their results side by side on one device."""
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for turn in range(15):
                x = Tensor.from_numpy(np.full(50, number, np.float32), device="host")
                found = ((x + turn) * 2).numpy()
                if not (found == (number + turn) * 2).all():
                    wrong.append(found)
        except Exception as problem:  # noqa: BLE001 - reported by the test
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_lazy_graph_has_lazy_nodes() -> None:
    """Nodes that arithmetic adds are lazy too."""
    assert all(isinstance(node, LazyNode) for node in (leaf() * 2).graph.nodes)
