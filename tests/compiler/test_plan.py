"""From a description to a plan: buffers, dependencies and launches, without a device."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.support.descriptions import array, graph, i, launch, node, o, ref, source
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.checking.launches import covering_launch
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.inlining.inline import inline
from warploom.engine.compiler.operations import FRAME, UploadFrame
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan, plan_what_can_run
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CopyEntry,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    InternalBuffer,
    Kernel,
    KernelEntry,
)
from warploom.engine.descriptions.shapes.extents import Extent, ShapeContext, ShapeRuleError
from warploom.engine.diagnostics import GraphValidationError, error
from warploom.engine.types import f32

IN_PLACE = (i(), o(inplace="x"))


def after(plan: Plan) -> dict[str, set[str]]:
    """Return the direct dependencies of each block's operations, by node id."""
    found: dict[str, set[str]] = {}
    for operation in plan.operations:
        found.setdefault(operation.node, set()).update(plan.operations[d].node for d in operation.after)
    return found


# Buffers


def test_inputs_and_in_place_outputs_share_memory() -> None:
    """Inputs and in-place outputs share the memory of their source, so only two buffers are allocated."""
    patch = graph(
        source("s", 4),
        node("one", *IN_PLACE),
        node("two", *IN_PLACE),
        node("end", i(), o()),
        wires=["s.out one.x", "one.out two.x", "two.out end.x"],
    )
    plan = make_plan(patch)
    assert set(plan.buffers.allocations) == {ref("s.out"), ref("end.out")}
    shared = ("s.out", "one.x", "one.out", "two.x", "two.out", "end.x")
    assert {plan.buffers.owner_of(ref(name)) for name in shared} == {ref("s.out")}


def test_lifetimes_follow_from_declarations() -> None:
    """State outlives a frame, contents are provided by the host, and other buffers are computed in each frame."""
    kept = node(
        "k", i(), o(state=True), buffers=[InternalBuffer("a", f32, "[2]", True), InternalBuffer("b", f32, "[3]")]
    )
    plan = make_plan(graph(array("p", 4), kept, node("g", i(), o()), wires=["p.out k.x", "k.out g.x"]))
    assert {str(owner): (b.lifetime, b.layout.shape) for owner, b in plan.buffers.allocations.items()} == {
        "p.out": (Lifetime.PROVIDED, (4,)),
        "k.out": (Lifetime.STATE, (4,)),
        "k.a": (Lifetime.STATE, (2,)),
        "k.b": (Lifetime.GRAPH, (3,)),
        "g.out": (Lifetime.GRAPH, (4,)),
    }


# Dependencies


def test_independent_branches_do_not_depend_on_each_other() -> None:
    """The two sides of a diamond don't depend on each other, and its end depends on both."""
    patch = graph(
        source("s", 4),
        node("left", i(), o()),
        node("right", i(), o()),
        node("end", i(), i("y"), o()),
        source("alone", 4),
        wires=["s.out left.x", "s.out right.x", "left.out end.x", "right.out end.y"],
    )
    assert after(make_plan(patch)) == {
        "s": set(),
        "alone": set(),
        "left": {"s"},
        "right": {"s"},
        "end": {"left", "right"},
    }


def test_a_writer_waits_for_readers_and_the_next_reader_for_the_writer() -> None:
    """A writer in place depends on the earlier readers, and a later reader on the writer."""
    patch = graph(
        source("s", 4),
        node("read", i(), o()),
        node("change", *IN_PLACE),
        node("after", i(), o()),
        wires=["s.out read.x", "s.out change.x", "change.out after.x"],
    )
    assert after(make_plan(patch)) == {"s": set(), "read": {"s"}, "change": {"s", "read"}, "after": {"change"}}


def test_entries_of_one_block_are_ordered_by_their_buffers_alone() -> None:
    """Entries of one block depend on each other only if they access the same buffers."""
    ports = (i(), o(), o("free"))
    out = BufferArgument("out", False, True)
    entries: list[Entry] = [
        FillEntry(out, 0),
        launch(ports, "x", "out"),
        launch(ports, "x", "free"),
        CopyEntry(out, BufferArgument("x", True, False)),
    ]
    plan = make_plan(graph(array("a", 4), node("n", *ports, entries=entries), wires=["a.out n.x"]))
    assert [o.after for o in plan.operations] == [(), (0,), (), (1,)]


def test_frame_uniforms_are_uploaded_first_and_only_when_a_kernel_takes_them() -> None:
    """The frame's uniforms are uploaded before the kernels that take them, and only if a kernel takes them."""
    ports = (i(), o())
    timed = node("t", *ports, entries=[launch(ports, "x", "out", more=[FrameArgument()])])
    plain = node("u", *ports)
    plan = make_plan(graph(array("a", 4), timed, plain, wires=["a.out t.x", "a.out u.x"]))
    assert isinstance(plan.operations[0].entry, UploadFrame)
    assert [(o.node, o.after) for o in plan.operations[1:]] == [("t", (0,)), ("u", ())]
    assert FRAME in plan.operations[1].reads
    assert not any(
        isinstance(o.entry, UploadFrame) for o in make_plan(graph(array("a", 4), plain, wires=["a.out u.x"])).operations
    )


@st.composite
def random_patches(draw: st.DrawFn) -> GraphDescription:
    """Draw blocks with up to two inputs from earlier blocks, some of which change an input in place."""
    nodes, wires = [source("n0", 4), source("n1", 4)], list[str]()
    for index in range(2, draw(st.integers(3, 12))):
        kind = draw(st.sampled_from(("unary", "binary", "in place", "in place")))
        ports = {"unary": (i(), o()), "binary": (i(), i("y"), o()), "in place": IN_PLACE}[kind]
        nodes.append(node(f"n{index}", *ports))
        inputs = [spec.name for spec in ports if spec.is_input]
        wires += [f"n{draw(st.integers(0, index - 1))}.out n{index}.{name}" for name in inputs]
    order = draw(st.permutations(range(len(nodes))))
    return graph(*(nodes[k] for k in order), wires=wires)


@given(random_patches(), st.randoms(use_true_random=False))
def test_every_order_that_dependencies_allow_computes_the_same(patch: GraphDescription, chance: random.Random) -> None:
    """In any order that dependencies allow, with shared memory, each block reads the values of separate memory."""
    try:
        plan = make_plan(patch)
    except GraphValidationError as problem:
        assert all("Copy" in d.remedy for d in problem.errors), "only in-place blocks can be in each other's way"
        return
    memory: dict[Any, Any] = {}
    done: set[int] = set()

    def value(name: str) -> tuple[Any, ...]:
        """Return a block's result as a term over the blocks before it, each with memory of its own."""
        sources = [c for c in patch.connections if c.target.node == name]
        return (name, *(value(c.source.node) for c in sorted(sources, key=lambda c: c.target.port)))

    while len(done) < len(plan.operations):
        ready = [k for k, op in enumerate(plan.operations) if k not in done and set(op.after) <= done]
        assert ready, "dependencies must leave an order"
        index = chance.choice(ready)
        operation = plan.operations[index]
        inputs = [spec.name for spec in patch.by_id[operation.node].description.ports if spec.is_input]
        read = [memory[plan.buffers.owner_of(ref(f"{operation.node}.{name}"))] for name in inputs]
        assert (operation.node, *read) == value(operation.node)
        memory[plan.buffers.owner_of(ref(f"{operation.node}.out"))] = (operation.node, *read)
        done.add(index)


@given(random_patches())
def test_operations_depend_only_on_earlier_ones_that_touch_the_same_buffer(patch: GraphDescription) -> None:
    """An operation depends only on earlier operations that access a buffer that one of the two writes."""
    try:
        plan = make_plan(patch)
    except GraphValidationError:
        return
    for index, operation in enumerate(plan.operations):
        for earlier in operation.after:
            other = plan.operations[earlier]
            assert earlier < index
            assert other.writes & (operation.reads | operation.writes) or other.reads & operation.writes


# Launches

CONTEXT = ShapeContext({"x": (1000, 70)}, {}, {})


@pytest.mark.parametrize(
    ("threads", "block", "grid"),
    [
        ((1,), (256, 1, 1), (1, 1, 1)),
        ((256,), (256, 1, 1), (1, 1, 1)),
        ((257,), (256, 1, 1), (2, 1, 1)),
        ((Extent("x.size"),), (256, 1, 1), (274, 1, 1)),
        ((Extent("x.dim1"), Extent("x.dim0")), (16, 16, 1), (5, 63, 1)),
        ((9, 5, 4), (8, 8, 4), (2, 1, 1)),
    ],
)
def test_the_grid_covers_all_threads(threads: Any, block: tuple[int, int, int], grid: tuple[int, int, int]) -> None:
    """The number of thread blocks is that of threads over the block's, rounded up in each dimension."""
    ports = (i(), o())
    config = covering_launch(launch(ports, threads=threads, block=block), CONTEXT)
    assert (config.grid, config.thread_block) == (grid, block)


@pytest.mark.parametrize(
    ("threads", "message"),
    [
        ((0,), "num_threads of k must be at least 1, got 0"),
        ((Extent("(x.dim0 - 1001)"),), "num_threads of k must be at least 1, got -1"),
        ((1 << 31,), r"num_threads of k must be below 2\^31 along each axis, got 2147483648"),
        ((1, 65536 * 16), r"grid of k must be at most \(2147483647, 65535, 65535\), got \(1, 65536, 1\)"),
        ((Extent("x.dim2"),), r"x\.dim2 must exist, got shape \[1000, 70\]"),
    ],
)
def test_launches_without_threads_or_with_too_many_are_refused(threads: Any, message: str) -> None:
    """A launch without threads, or with too many, is refused with the kernel's name and the numbers."""
    with pytest.raises(ShapeRuleError, match=message):
        covering_launch(launch((i(), o()), threads=threads, block=(1, 16, 1)), CONTEXT)


def test_an_extent_that_does_not_exist_is_an_error_of_the_plan() -> None:
    """An extent that does not exist is an error of the plan."""
    ports = (i(), o())
    bad = launch(ports, "x", "out", more=[ExtentArgument(Extent("x.dim1"))])
    with pytest.raises(GraphValidationError) as refused:
        make_plan(graph(array("a", 4), node("n", *ports, entries=[bad]), wires=["a.out n.x"]))
    (problem,) = refused.value.errors
    assert (problem.node, problem.message) == ("n", "x.dim1 must exist, got shape [4]")


# Corners


def test_an_empty_patch_has_a_plan() -> None:
    """An empty patch has a plan without operations, which needs no memory."""
    plan = make_plan(graph())
    assert (plan.operations, plan.placement.size_bytes) == ((), 0)


# What can run


def test_a_new_block_without_input_is_left_out_with_what_depends_on_it() -> None:
    """A new block without its input is left out with its dependents and reported, and the other blocks are planned."""
    patch = graph(
        array("a", 4),
        node("ok", i(), o()),
        node("new", i(), o()),
        node("behind", i(), o()),
        wires=["a.out ok.x", "new.out behind.x"],
    )
    partial = plan_what_can_run(inline(patch), [], frozenset({"a", "ok"}))
    assert partial.plan is not None
    assert set(partial.plan.description.by_id) == {"a", "ok"}
    assert partial.idle == {"new", "behind"}
    assert [(d.node, d.port) for d in partial.diagnostics] == [("new", "x")]


def test_a_running_block_that_can_run_no_more_stops_nothing() -> None:
    """If a running block can no longer run, there is no plan, and the error is on the block."""
    patch = graph(array("a", 4), node("ok", i(), o()))
    partial = plan_what_can_run(inline(patch), [], frozenset({"a", "ok"}))
    assert partial.plan is None
    assert [d.node for d in partial.diagnostics] == ["ok"]


def test_errors_found_before_keep_their_block_out() -> None:
    """A block with an earlier error is left out with its dependents, without a second error."""
    patch = graph(
        array("a", 4), node("bad", i(), o()), node("behind", i(), o()), wires=["a.out bad.x", "bad.out behind.x"]
    )
    problem = error("kernel must compile", node="bad")
    partial = plan_what_can_run(inline(patch), [problem], frozenset())
    assert partial.plan is not None
    assert set(partial.plan.description.by_id) == {"a"}
    assert partial.diagnostics == [problem]


def test_errors_of_several_phases_are_all_reported() -> None:
    """A missing input, an impossible shape and a launch without threads are reported together; the rest is planned."""
    patch = graph(
        array("a", 4),
        node("open", i(), o()),
        node("shape", i(), o(shape="[N - 4]")),
        node("threads", i(), o(), entries=[launch((i(), o()), "x", "out", threads=(0,))]),
        node("fine", i(), o()),
        wires=["a.out shape.x", "a.out threads.x", "a.out fine.x"],
    )
    partial = plan_what_can_run(inline(patch), [], frozenset())
    assert sorted(d.node or "" for d in partial.diagnostics) == ["open", "shape", "threads"]
    assert partial.plan is not None
    assert set(partial.plan.description.by_id) == {"a", "fine"}


def test_the_plan_depends_on_what_is_connected_not_on_the_order_of_nodes() -> None:
    """The operations don't depend on the order in which blocks and connections are listed."""
    nodes = [source("a", 4), source("b", 4), node("c", i(), i("y"), o())]
    wires = ["a.out c.x", "b.out c.y"]
    one, two = make_plan(graph(*nodes, wires=wires)), make_plan(graph(*nodes[::-1], wires=wires[::-1]))
    assert one.operations == two.operations
    assert all(isinstance(o.entry, KernelEntry) and o.entry.kernel == Kernel("k.cu", "k") for o in one.operations)
