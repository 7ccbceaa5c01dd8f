"""Cloning and changing graphs on every device: a change affects one graph only, and no executable."""

import random

import numpy as np
import pytest

from tests.device.graph_support import ONE, Kernels
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import ConditionalKind, GraphNode, part_of
from warploom.engine.diagnostics import DeviceError


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def digits(kernels: Kernels, out: Buffer, *values: int) -> Graph:
    """Return a chain of kernels, the k-th of which appends the k-th digit to a number."""
    graph, after = kernels.device.create_graph(), list[GraphNode]()
    for value in values:
        after = [kernels.add(graph, "digit", out, value, after=after)]
    return graph


@pytest.fixture
def out(kernels: Kernels) -> Buffer:
    """A buffer with the number that digits are appended to."""
    return kernels.number(0, np.int64)


def shown(kernels: Kernels, made: object, out: Buffer) -> int:
    """Run a graph or an executable on a zero and return the number."""
    kernels.device.fill(out.memory, 0)
    return kernels.run(made, out)[0]  # type: ignore[arg-type]  # either a graph or an executable


def test_a_clone_runs_as_the_original_and_both_can_be_changed(kernels: Kernels, out: Buffer) -> None:
    """A clone runs like its original, and a node added to either is not in the other."""
    graph = digits(kernels, out, 1, 2)
    clone = graph.clone()
    assert kernels.add(clone, "digit", out, 3, after=[GraphNode(1)]) == 2
    assert kernels.add(graph, "digit", out, 4, after=[GraphNode(1)]) == 2
    assert shown(kernels, clone, out) == 123
    assert shown(kernels, graph, out) == 124


def test_executables_of_the_original_stay_as_they_are(kernels: Kernels, out: Buffer) -> None:
    """Executables of the original keep their nodes, whose numbers are the same in the clone, and update separately."""
    graph = digits(kernels, out, 1, 2, 3)
    first = graph.instantiate()
    clone = graph.clone()
    clone.remove(GraphNode(1))
    clone.set_after(GraphNode(2), [GraphNode(0)])
    second = clone.instantiate()
    assert (shown(kernels, first, out), shown(kernels, second, out)) == (123, 13)
    kernels.update(second, GraphNode(2), "digit", out, 7)
    assert (shown(kernels, first, out), shown(kernels, second, out)) == (123, 17)
    kernels.update(first, GraphNode(1), "digit", out, 8)
    kernels.update(first, GraphNode(2), "digit", out, 9)
    assert (shown(kernels, first, out), shown(kernels, second, out)) == (189, 17)
    graph.destroy()
    clone.destroy()
    kernels.update(second, GraphNode(0), "digit", out, 5)
    assert (shown(kernels, first, out), shown(kernels, second, out)) == (189, 57)
    first.destroy()
    kernels.update(second, GraphNode(2), "digit", out, 6)
    assert shown(kernels, second, out) == 56


@pytest.mark.parametrize("seed", range(6))
def test_nodes_of_a_clone_can_be_put_in_any_order(kernels: Kernels, out: Buffer, seed: int) -> None:
    """A clone's nodes can be reordered, removed and added, and may wait for later nodes."""
    chance = random.Random(seed)
    graph = digits(kernels, out, *range(1, 8))
    values = dict(enumerate(range(1, 8)))
    for _ in range(3):
        graph = graph.clone()
        for node in chance.sample(sorted(values), 2):
            graph.remove(GraphNode(node))
            del values[node]
        value = chance.randrange(1, 10)
        values[kernels.add(graph, "digit", out, value)] = value
        order = chance.sample(sorted(values), len(values))
        for before, node in zip([None, *order], order, strict=False):
            graph.set_after(GraphNode(node), [] if before is None else [GraphNode(before)])
        expected = int("".join(str(values[node]) for node in order))
        assert shown(kernels, graph, out) == expected


def test_the_latest_dependencies_of_a_node_count(kernels: Kernels, out: Buffer) -> None:
    """A node waits only for its latest dependencies, which may repeat; removed ones are dropped."""
    graph = digits(kernels, out, 1, 2)
    third = kernels.add(graph, "digit", out, 3, after=[GraphNode(0)])
    graph.set_after(third, [GraphNode(1), GraphNode(0), GraphNode(1)])
    assert shown(kernels, graph.clone(), out) == 123
    graph.set_after(third, [GraphNode(1)])
    assert shown(kernels, graph.clone(), out) == 123
    graph.remove(GraphNode(0))
    assert shown(kernels, graph.clone(), out) == 23
    graph.remove(third)
    assert kernels.add(graph, "digit", out, 4, after=[GraphNode(1)]) == 3
    assert shown(kernels, graph, out) == 24


def test_a_kernel_node_can_be_given_another_launch(kernels: Kernels, out: Buffer) -> None:
    """A kernel node can get another function and other arguments; existing executables keep theirs."""
    number = kernels.number(3, np.int32)
    graph = kernels.device.create_graph()
    node = kernels.add(graph, "add", number, 1)
    first = graph.instantiate()
    graph.set_kernel(node, kernels.module.kernel("multiply"), ONE, kernels.arguments("multiply", number, 5))
    clone = graph.clone()
    clone.set_kernel(node, kernels.module.kernel("digit"), ONE, kernels.arguments("digit", out, 6))
    assert kernels.run(first, number) == [4]
    assert kernels.run(graph, number) == [20]
    assert shown(kernels, clone, out) == 6
    assert number.download().tolist() == [20]


def test_kernels_of_a_clone_outlive_their_module_and_the_original(kernels: Kernels, out: Buffer) -> None:
    """A clone's kernels still run after their module is unloaded and the original destroyed."""
    theirs = Kernels(kernels.device)
    graph = digits(theirs, out, 1, 2)
    clone = graph.clone()
    graph.destroy()
    theirs.module.unload()
    executable = clone.instantiate()
    clone.destroy()
    assert shown(kernels, executable, out) == 12


def test_argument_blocks_are_shared_and_read_when_a_graph_is_instantiated(kernels: Kernels, out: Buffer) -> None:
    """Argument blocks are shared between graphs, and are read at instantiation and at each update."""
    graph = kernels.device.create_graph()
    kernel, block = kernels.module.kernel("digit"), kernels.arguments("digit", out, 1)
    node = graph.add_kernel(kernel, ONE, block, [])
    first = graph.instantiate()
    assert shown(kernels, first, out) == 1
    block.set(1, 2)
    clone = graph.clone()
    second = clone.instantiate()
    assert shown(kernels, second, out) == 2
    block.set(1, 3)
    for executable in (first, second, graph.instantiate(), clone.instantiate()):
        executable.update_kernel(node, kernel, ONE, block)
        assert shown(kernels, executable, out) == 3
    block.set(1, 4)
    third = graph.clone().instantiate()
    assert shown(kernels, third, out) == 4


def test_clones_of_clones_to_any_depth(kernels: Kernels, out: Buffer) -> None:
    """A clone of a clone, at any depth, can be changed after the graphs before it are destroyed."""
    graph = digits(kernels, out, *[1] * 6)
    executable = graph.instantiate()
    for turn in range(30):
        clone = graph.clone()
        graph.destroy()
        executable.destroy()
        node = GraphNode(turn % 6)
        clone.set_kernel(node, kernels.module.kernel("digit"), ONE, kernels.arguments("digit", out, 1 + turn // 6))
        graph, executable = clone, clone.instantiate()
    assert shown(kernels, executable, out) == 555555
    kernels.update(executable, GraphNode(3), "digit", out, 7)
    assert shown(kernels, executable, out) == 555755
    last = graph.clone()
    for index in range(5):
        last.remove(GraphNode(index))
    assert shown(kernels, last, out) == 5


def test_changing_the_original_afterwards_does_not_reach_the_clone(kernels: Kernels, out: Buffer) -> None:
    """A clone keeps the nodes that its original loses later, even if they were not used before."""
    graph = digits(kernels, out, 1, 2, 3)
    clone = graph.clone()
    deeper = clone.clone()
    graph.remove(GraphNode(1))
    graph.set_after(GraphNode(2), [GraphNode(0)])
    kernels.add(graph, "digit", out, 4, after=[GraphNode(2)])
    graph.remove(GraphNode(3))
    assert shown(kernels, graph, out) == 13
    executable = clone.instantiate()
    kernels.update(executable, GraphNode(1), "digit", out, 8)
    assert shown(kernels, executable, out) == 183
    deeper.remove(GraphNode(0))
    assert shown(kernels, deeper, out) == 23


def test_child_graphs_are_cloned_with_their_nodes(kernels: Kernels, out: Buffer) -> None:
    """A clone numbers the nodes of child graphs as its original does; a child graph is removed as a whole."""
    graph, inner, child = (kernels.device.create_graph() for _ in range(3))
    kernels.add(inner, "digit", out, 3)
    first = kernels.add(child, "digit", out, 2)
    child.add_child(inner, [first])
    begin = kernels.add(graph, "digit", out, 1)
    node = graph.add_child(child, [begin])
    last = kernels.add(graph, "digit", out, 4, after=[node])
    assert (node, last) == (1, 5)
    clone = graph.clone()
    executable = clone.instantiate()
    kernels.update(executable, GraphNode(4), "digit", out, 9)
    kernels.update(executable, GraphNode(2), "digit", out, 8)
    assert shown(kernels, executable, out) == 1894
    shorter = clone.clone()
    shorter.remove(node)
    shorter.set_after(last, [begin])
    assert shown(kernels, shorter, out) == 14
    for gone in (1, 2, 4):
        with pytest.raises(DeviceError, match="must be one of the same graph"):
            shorter.set_after(GraphNode(gone), [])
    assert kernels.add(shorter, "digit", out, 5, after=[last]) == 6
    assert shown(kernels, graph, out) == 1234


def test_a_changed_graph_can_be_a_child(kernels: Kernels, out: Buffer) -> None:
    """A changed graph, with gaps from removed nodes and nodes that wait for later ones, can be a child graph."""
    child = digits(kernels, out, 1, 2, 3)
    child.remove(GraphNode(1))
    child.set_after(GraphNode(0), [GraphNode(2)])
    graph = kernels.device.create_graph()
    node = graph.add_child(child, [])
    last = kernels.add(graph, "digit", out, 4, after=[node])
    assert (node, last) == (0, 4)
    executable = graph.instantiate()
    assert shown(kernels, executable, out) == 314
    kernels.update(executable, GraphNode(3), "digit", out, 9)
    assert shown(kernels, executable, out) == 914


def test_fills_and_copies_are_cloned(kernels: Kernels) -> None:
    """In a clone, a fill can be removed from before a copy; the first graph keeps it."""
    device = kernels.device
    memory, pinned = device.upload(np.arange(8, dtype=np.uint8)), device.pinned(np.zeros(8, np.uint8))
    graph = device.create_graph()
    fill = graph.add_memset(memory.memory, 50, 3, [])
    copy = graph.add_copy(pinned, memory.memory, 8, [fill])
    clone = graph.clone()
    clone.remove(fill)
    clone.set_after(copy, [])
    kernels.run(clone)
    np.testing.assert_array_equal(pinned.array, np.arange(8))
    kernels.run(graph)
    np.testing.assert_array_equal(pinned.array, [50, 50, 50, 3, 4, 5, 6, 7])


def test_nodes_beside_and_in_bodies_can_be_changed(kernels: Kernels) -> None:
    """In a graph with conditions, nodes can be changed, but the graph can't be cloned or lose a conditional node."""
    graph, number = kernels.device.create_graph(), kernels.number(1)
    condition = graph.create_condition(1)
    before = kernels.add(graph, "add", number, 1)
    choice, (body,) = graph.add_conditional(ConditionalKind.IF, condition, [before])
    gone = kernels.add(body, "multiply", number, 100)
    kept = kernels.add(body, "multiply", number, 10, after=[gone])
    after = kernels.add(graph, "add", number, 5, after=[choice])
    with pytest.raises(DeviceError, match=r"graph must have no conditions to be cloned.*build it again"):
        graph.clone()
    with pytest.raises(DeviceError, match="body"):
        body.clone()
    with pytest.raises(DeviceError, match=f"removed node must not be conditional, got node {choice}"):
        graph.remove(choice)
    with pytest.raises(DeviceError, match=f"must be one of the same graph or body, got {kept}"):
        graph.remove(kept)
    body.remove(gone)
    body.set_kernel(kept, kernels.module.kernel("add"), ONE, kernels.arguments("add", number, 20))
    graph.remove(before)
    graph.set_after(after, [])
    graph.set_after(choice, [after])
    assert kernels.run(graph, number) == [26]


def test_impossible_changes_are_refused_and_change_nothing(kernels: Kernels, out: Buffer) -> None:
    """Unknown nodes, nodes of other kinds, cycles, and removal after instantiation are refused without any change."""
    graph = digits(kernels, out, 1, 2, 3)
    fill = graph.add_memset(out.memory, 0, 0, [])
    digit, block = kernels.module.kernel("digit"), kernels.arguments("digit", out, 1)
    for node in (GraphNode(-1), GraphNode(4)):
        for call in (graph.remove, lambda n: graph.set_after(n, []), lambda n: graph.set_after(GraphNode(0), [n])):
            with pytest.raises(DeviceError, match=f"must be one of the same graph or body, got {node}"):
                call(node)
        with pytest.raises(DeviceError, match="changed node"):
            graph.set_kernel(node, digit, ONE, block)
    with pytest.raises(DeviceError, match=f"changed node must be a kernel, got node {fill}, which is a memset"):
        graph.set_kernel(fill, digit, ONE, block)
    with pytest.raises(DeviceError, match=r"sizes|bytes"):
        graph.set_kernel(GraphNode(0), digit, ONE, pack_arguments([], []))
    with pytest.raises(DeviceError, match="node 1 must wait for other nodes, got itself"):
        graph.set_after(GraphNode(1), [GraphNode(1)])
    graph.remove(fill)
    with pytest.raises(DeviceError, match="must be one of the same graph"):
        graph.remove(fill)
    with pytest.raises(DeviceError, match="node to wait for must be one of the same graph"):
        graph.set_after(GraphNode(0), [fill])
    assert shown(kernels, graph, out) == 123
    with pytest.raises(DeviceError, match=r"node 1 must be removed before the graph is instantiated.*clone"):
        graph.remove(GraphNode(1))
    graph.set_after(GraphNode(0), [GraphNode(2)])
    with pytest.raises(DeviceError, match=r"in a circle, got 0 after 2 after 1 after 0;"):
        graph.instantiate()
    graph.set_after(GraphNode(2), [])
    graph.set_after(GraphNode(0), [GraphNode(2)])
    assert shown(kernels, graph, out) == 312


def test_a_destroyed_graph_is_not_cloned(kernels: Kernels, out: Buffer) -> None:
    """A graph or clone that was destroyed can't be cloned."""
    graph = digits(kernels, out, 1, 2, 3)
    clone, other = graph.clone(), graph.clone()
    for gone in (graph, clone, other):
        gone.destroy()
        with pytest.raises(DeviceError, match="destroyed"):
            gone.clone()


def test_a_copy_node_reads_another_pinned_array(device: Device) -> None:
    """An executable's copy node can read another pinned array from the next launch on; other nodes refuse one."""
    first, second = (device.pinned(np.arange(start, start + 3, dtype=np.int32)) for start in (1, 4))
    target, other = (device.upload(np.zeros(3, np.int32)) for _ in range(2))
    graph, stream = device.create_graph(), device.create_stream()
    node = graph.add_copy(target.memory, first, 12, [])
    inner = graph.add_copy(other.memory, target.memory, 12, [node])
    executable, twin = graph.instantiate(), graph.instantiate()
    for source in (first, second, first, second):
        executable.update_copy(node, source)
        executable.launch(stream)
        stream.synchronize()
        assert other.download().tolist() == source.array.tolist()
    twin.launch(stream)
    stream.synchronize()
    assert other.download().tolist() == [1, 2, 3]
    with pytest.raises(DeviceError, match="that reads a pinned array"):
        executable.update_copy(inner, second)


def test_fills_and_copies_use_other_memory_of_the_same_size(device: Device) -> None:
    """An executable's fill and copy use other memory from the next launch on; other nodes are refused."""
    values = [np.arange(start, start + 33, dtype=np.uint8) for start in (1, 101)]
    sources = [device.upload(array) for array in values]
    targets = [device.upload(np.zeros(33, np.uint8)) for _ in range(4)]
    graph, stream = device.create_graph(), device.create_stream()
    fill = graph.add_memset(targets[0].memory, 7, 33, [])
    copy = graph.add_copy(targets[1].memory, sources[0].memory, 33, [fill])
    executable, twin = graph.instantiate(), graph.instantiate()
    executable.launch(stream)
    executable.move_fill(fill, targets[2].memory)
    executable.move_copy(copy, targets[3].memory, sources[1].memory)
    executable.launch(stream)
    stream.synchronize()
    for target, expected in zip(targets, ([7] * 33, values[0], [7] * 33, values[1]), strict=True):
        np.testing.assert_array_equal(target.download(), expected)
        device.fill(target.memory, 0)
    twin.launch(stream)
    stream.synchronize()
    assert [int(target.download().max()) for target in targets] == [7, 33, 0, 0]
    with pytest.raises(DeviceError, match="must be a fill of"):
        executable.move_fill(copy, targets[2].memory)
    with pytest.raises(DeviceError, match="must be a copy of"):
        executable.move_copy(fill, targets[3].memory, sources[1].memory)


@pytest.mark.parametrize(("value", "width"), [(0xFE, 1), (0x1234, 2), (0x3F800000, 4), (0xFFFFFFFF, 4)])
def test_fills_of_numbers_of_several_bytes(device: Device, value: int, width: int) -> None:
    """A fill sets each number of 1, 2 or 4 bytes, up to its size, at an offset and in other memory."""
    targets = [device.upload(np.full(1024 + width, 0x55, np.uint8)) for _ in range(2)]
    graph, stream = device.create_graph(), device.create_stream()
    node = graph.add_memset(part_of(targets[0].memory, width, 33 * width), value, 33 * width, [], width)
    executable = graph.instantiate()
    executable.launch(stream)
    executable.move_fill(node, targets[1].memory)
    executable.launch(stream)
    stream.synchronize()
    for target, start in zip(targets, (width, 0), strict=True):
        found = target.download()
        assert found[start : start + 33 * width].tobytes() == value.to_bytes(width, "little") * 33
        assert set(found[start + 33 * width :].tolist()) | set(found[:start].tolist()) == {0x55}
    for wrong, size_bytes, of in ((256**width, 4 * width, width), (-1, 4 * width, width), (0, 4, 3), (0, 7, 2)):
        with pytest.raises(DeviceError, match="fill"):
            graph.add_memset(targets[0].memory, wrong, size_bytes, [], of)
