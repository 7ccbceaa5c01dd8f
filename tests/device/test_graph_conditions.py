"""IF and WHILE nodes on every device: alone, nested, and updated."""

import numpy as np
import pytest

from tests.device.graph_support import ONE, Kernels
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode, LaunchConfig
from warploom.engine.diagnostics import DeviceError

IF, IF_ELSE, WHILE = ConditionalKind.IF, ConditionalKind.IF_ELSE, ConditionalKind.WHILE
SWITCH = ConditionalKind.SWITCH


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def conditional(
    graph: Graph, kind: ConditionalKind, *, default: int, after: tuple[GraphNode, ...] = ()
) -> tuple[Condition, GraphNode, tuple[Graph, ...]]:
    """Add a conditional node with its own condition."""
    condition = graph.create_condition(default)
    return condition, *graph.add_conditional(kind, condition, after)


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (1, 5), (7, 5), (-1, 5)])
def test_an_if_runs_its_body_unless_the_condition_is_zero(kernels: Kernels, value: int, expected: int) -> None:
    """An IF runs its body for any value but zero, even for one with only the highest bit set."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    condition = graph.create_condition(0)
    first = kernels.add(graph, "set", condition, value)
    _, (body,) = graph.add_conditional(IF, condition, [first])
    kernels.add(body, "add", out, 5)
    assert kernels.run(graph, out) == [expected]


@pytest.mark.parametrize(("value", "expected"), [(0, 7), (1, 5)])
def test_an_if_may_have_an_else(kernels: Kernels, value: int, expected: int) -> None:
    """An IF with an else runs exactly one of its two bodies."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    condition = graph.create_condition(1)
    first = kernels.add(graph, "set", condition, value)
    _, (body, other) = graph.add_conditional(IF_ELSE, condition, [first])
    kernels.add(body, "add", out, 5)
    kernels.add(other, "add", out, 7)
    assert kernels.run(graph, out) == [expected]


def test_a_switch_runs_the_body_of_its_number(kernels: Kernels) -> None:
    """A SWITCH runs the body whose number is the condition, and none for a number without a body."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    condition = graph.create_condition(0)
    first = kernels.add(graph, "set", condition, 0)
    node, bodies = graph.add_conditional(SWITCH, condition, [first], bodies=16)
    for number, body in enumerate(bodies):
        kernels.add(body, "add", out, number + 1)
    kernels.add(graph, "multiply", out, 100, after=[node])
    executable, expected, kernel = graph.instantiate(), 0, kernels.module.kernel("set")
    for value in (0, 1, 15, 7, 16, 17, -1, 2**31 - 1, 3):
        executable.update_kernel(first, kernel, ONE, kernels.arguments("set", condition, value))
        expected = 100 * (expected + (value + 1 if 0 <= value < 16 else 0)) % 2**32
        (found,) = kernels.run(executable, out)
        assert found % 2**32 == expected


def test_the_number_of_bodies_must_fit_the_kind(kernels: Kernels) -> None:
    """A SWITCH has the bodies that are asked for, at least one; other kinds have a number of their own."""
    graph = kernels.device.create_graph()
    condition = graph.create_condition(0)
    wrong = (SWITCH, None, "be at least 1"), (SWITCH, 0, "be at least 1"), (IF, 2, "be 1"), (IF_ELSE, 3, "be 2")
    for kind, count, rule in wrong:
        with pytest.raises(DeviceError, match=f"of a conditional {kind.value} must {rule}, got {count}"):
            graph.add_conditional(kind, condition, [], bodies=count)


@pytest.mark.parametrize("default", [0, 1, 2**32 - 1])
def test_every_launch_begins_with_the_default(kernels: Kernels, default: int) -> None:
    """Every launch starts with the condition's default, not with the value that the last launch left."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    condition, node, (body,) = conditional(graph, IF, default=default)
    kernels.add(body, "add", out, 1)
    kernels.add(graph, "set", condition, 0 if default else 1, after=[node])
    executable = graph.instantiate()
    for launches in (1, 2, 3):
        assert kernels.run(executable, out) == [launches if default else 0]


def test_a_default_must_fit_in_32_bits(kernels: Kernels) -> None:
    """A default must fit in 32 bits, as the driver requires."""
    graph = kernels.device.create_graph()
    for default in (-1, 2**32):
        with pytest.raises(DeviceError, match="default of a condition must be from 0 to"):
            graph.create_condition(default)


@pytest.mark.parametrize("limit", [0, 1, 2, 1000])
def test_a_while_goes_on_until_the_condition_is_zero(kernels: Kernels, limit: int) -> None:
    """A WHILE reads its condition before each turn, even the first, and later nodes wait for the last turn."""
    graph, out, after = kernels.device.create_graph(), kernels.number(0), kernels.number(0)
    condition, node, (body,) = conditional(graph, WHILE, default=int(limit > 0))
    kernels.add(body, "count_to", condition, out, limit)
    graph.add_copy(after.memory, out.memory, 4, [node])
    executable = graph.instantiate()
    assert kernels.run(executable, out, after) == [limit, limit]
    assert kernels.run(executable, out, after) == [limit + (limit > 0), limit + (limit > 0)]


def test_only_one_of_many_threads_need_set_a_condition(kernels: Kernels) -> None:
    """One of many threads may set a condition; if none does, the condition keeps its default."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    values = kernels.device.upload(np.arange(64 * 64, dtype=np.int32))
    condition = graph.create_condition(0)
    many = LaunchConfig((64, 1, 1), (64, 1, 1))
    first = kernels.add(graph, "found", condition, values, 2345, config=many)
    _, (body,) = graph.add_conditional(IF, condition, [first])
    kernels.add(body, "add", out, 1)
    executable = graph.instantiate()
    assert kernels.run(executable, out) == [1]
    executable.update_kernel(
        first, kernels.module.kernel("found"), many, kernels.arguments("found", condition, values, 5000)
    )
    assert kernels.run(executable, out) == [1]


def test_bodies_hold_kernels_fills_copies_and_child_graphs(kernels: Kernels) -> None:
    """Kernels, fills, copies and child graphs in a body see the results of the nodes before them."""
    device = kernels.device
    graph, child = device.create_graph(), device.create_graph()
    a, b, pinned = kernels.number(3), kernels.number(0), device.pinned(np.zeros(1, np.int32))
    kernels.add(child, "add", b, 10)
    condition, _, (body,) = conditional(graph, WHILE, default=1)
    fill = body.add_memset(a.memory, 0, 4, [])
    added = kernels.add(body, "add", a, 4, after=[fill])
    copied = body.add_copy(b.memory, a.memory, 4, [added])
    inside = body.add_child(child, [copied])
    out = body.add_copy(pinned, b.memory, 4, [inside])
    kernels.add(body, "set", condition, 0, after=[out])
    assert kernels.run(graph, a, b) == [4, 14]
    assert pinned.array[0] == 14


def test_bodies_may_be_empty(kernels: Kernels) -> None:
    """An empty body has no effect."""
    graph, out = kernels.device.create_graph(), kernels.number(1)
    _, node, _ = conditional(graph, IF_ELSE, default=1)
    kernels.add(graph, "add", out, 1, after=[node])
    assert kernels.run(graph, out) == [2]


@pytest.mark.parametrize("beside", [0, 1, 3])
def test_loops_run_side_by_side(kernels: Kernels, beside: int) -> None:
    """Loops side by side with independent nodes give the right results; on a GPU, a wrong order of nodes faults."""
    graph = kernels.device.create_graph()
    counters, sums = [kernels.number(0) for _ in range(16)], [kernels.number(0) for _ in range(16 * beside)]
    for index, counter in enumerate(counters):
        condition, _, (body,) = conditional(graph, WHILE, default=1)
        kernels.add(body, "turn", condition, counter, 2)
        for number in sums[index::16]:
            kernels.add(body, "add", number, 1)
    executable, launches = graph.instantiate(), 4 if kernels.device.info.name == "host" else 4000
    for _ in range(launches - 1):
        kernels.run(executable)
    assert kernels.run(executable, *counters, *sums) == [0] * 16 + [2 * launches] * len(sums)


def test_loops_and_choices_nest(kernels: Kernels) -> None:
    """A WHILE in an IF in a WHILE works, with the inner conditions set in each turn."""
    graph, total, counter, inner = (kernels.device.create_graph(), *(kernels.number(0) for _ in range(3)))
    outer_on, _, (outer,) = conditional(graph, WHILE, default=1)
    choice, loop_on = outer.create_condition(0), graph.create_condition(0)
    even = kernels.add(outer, "if_even", choice, counter)
    node, (middle,) = outer.add_conditional(IF, choice, [even])
    kernels.add(outer, "turn", outer_on, counter, 5, after=[node])
    armed = kernels.add(middle, "set", loop_on, 1)
    _, (loop,) = middle.add_conditional(WHILE, loop_on, [armed])
    added = kernels.add(loop, "add", total, 1)
    kernels.add(loop, "turn", loop_on, inner, 7, after=[added])
    # Turns 0, 2 and 4 of the five are even, and each runs the inner loop seven times.
    assert kernels.run(graph, total) == [21]


def test_a_default_counts_for_the_whole_launch_not_for_each_turn(kernels: Kernels) -> None:
    """A default applies once per launch: an inner loop whose condition is not set again runs in the first turn only."""
    graph, total, counter, inner = (kernels.device.create_graph(), *(kernels.number(0) for _ in range(3)))
    outer_on, _, (outer,) = conditional(graph, WHILE, default=1)
    loop_on, node, (loop,) = conditional(outer, WHILE, default=1)
    added = kernels.add(loop, "add", total, 1)
    kernels.add(loop, "turn", loop_on, inner, 4, after=[added])
    kernels.add(outer, "turn", outer_on, counter, 3, after=[node])
    executable = graph.instantiate()
    assert kernels.run(executable, total) == [4]
    assert kernels.run(executable, total) == [8]


def test_nodes_are_numbered_over_graph_and_bodies(kernels: Kernels) -> None:
    """Nodes are numbered in the order of adding across a graph and its bodies, and depend only on nodes beside them."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    _, node, (body,) = conditional(graph, IF, default=1)
    inside = kernels.add(body, "add", out, 1)
    beside = kernels.add(graph, "add", out, 1)
    assert [node, inside, beside] == [0, 1, 2]
    for place, other in ((graph, inside), (body, beside), (body, node), (graph, GraphNode(3)), (graph, GraphNode(-1))):
        with pytest.raises(DeviceError, match=f"must be one of the same graph or body, got {other}"):
            kernels.add(place, "add", out, 1, after=[other])


def test_a_kernel_in_a_body_is_updated_like_any_other(kernels: Kernels) -> None:
    """A kernel in a body can get other arguments or another function, even after the graph was destroyed."""
    graph, out, rounds = kernels.device.create_graph(), kernels.number(1), kernels.number(0)
    loop_on, _, (loop,) = conditional(graph, WHILE, default=1)
    choice = loop.create_condition(1)
    node, (body,) = loop.add_conditional(IF, choice, [])
    work = kernels.add(body, "add", out, 2)
    kernels.add(loop, "turn", loop_on, rounds, 3, after=[node])
    executable = graph.instantiate()
    graph.destroy()
    assert kernels.run(executable, out) == [7]
    kernels.update(executable, work, "add", out, 10)
    assert kernels.run(executable, out) == [37]
    kernels.update(executable, work, "multiply", out, 2)
    assert kernels.run(executable, out) == [296]


def test_values_written_into_an_argument_block_reach_a_body(kernels: Kernels) -> None:
    """Values written into an argument block, as by a slider, reach a kernel in a body."""
    graph, out, config = kernels.device.create_graph(), kernels.number(0), LaunchConfig((1, 1, 1), (1, 1, 1))
    _, _, (body,) = conditional(graph, IF, default=1)
    kernel, block = kernels.module.kernel("add"), kernels.arguments("add", out, 1)
    node = body.add_kernel(kernel, config, block, [])
    executable = graph.instantiate()
    expected = 0
    for value in (1, 5, 25):
        block.set(1, value)
        executable.update_kernel(node, kernel, config, block)
        expected += value
        assert kernels.run(executable, out) == [expected]


def test_only_kernel_nodes_can_be_given_kernels(kernels: Kernels) -> None:
    """A conditional node refuses a kernel."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    _, node, _ = conditional(graph, IF, default=1)
    with pytest.raises(DeviceError, match="must be a kernel node"):
        kernels.update(graph.instantiate(), node, "add", out, 1)


def test_a_condition_belongs_to_one_conditional_node(kernels: Kernels) -> None:
    """A condition belongs to one conditional node, in its graph or a body of it; without one, the graph is refused."""
    graph, other = kernels.device.create_graph(), kernels.device.create_graph()
    condition, _, (body,) = conditional(graph, IF, default=1)
    with pytest.raises(DeviceError, match="condition must belong to one conditional node"):
        graph.add_conditional(IF, condition, [])
    foreign = other.create_condition(0)  # may have the same number on CUDA
    with pytest.raises(DeviceError, match=r"condition must (be made in this graph|belong to one conditional node)"):
        graph.add_conditional(IF, foreign, [])
    inner = body.create_condition(0)
    with pytest.raises(DeviceError, match="condition must be made in this graph"):
        graph.add_conditional(IF, inner, [])
    with pytest.raises(DeviceError, match="every condition must have a conditional node, got 1 without"):
        graph.instantiate()
    body.add_conditional(IF, inner, [])
    assert kernels.run(graph) == []


def test_a_body_is_instantiated_and_destroyed_with_its_graph(kernels: Kernels) -> None:
    """A body can't be instantiated, destroyed or added as a child by itself."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    _, _, (body,) = conditional(graph, IF, default=1)
    for use in (body.instantiate, body.destroy, lambda: kernels.device.create_graph().add_child(body, [])):
        with pytest.raises(DeviceError, match="body"):
            use()
    executable = graph.instantiate()
    graph.destroy()
    with pytest.raises(DeviceError, match="after it was destroyed"):
        kernels.add(body, "add", out, 1)
    assert kernels.run(executable) == []


def test_a_node_that_cannot_be_made_leaves_the_graph_as_it_was(kernels: Kernels) -> None:
    """A node that can't be made leaves the graph unchanged, and the next node takes its number."""
    graph, out = kernels.device.create_graph(), kernels.number(0)
    _, _, (body,) = conditional(graph, IF, default=1)
    with pytest.raises(DeviceError):
        body.add_memset(out.memory, 0, 5, [])
    with pytest.raises(DeviceError, match=r"fill value must be from 0 to 255, .*got 256"):
        body.add_memset(out.memory, 256, 1, [])
    with pytest.raises(DeviceError):
        kernels.add(body, "add", out, 1, config=LaunchConfig((1, 1, 1), (2048, 1, 1)))
    assert kernels.add(body, "add", out, 3) == 1
    assert kernels.run(graph, out) == [3]
