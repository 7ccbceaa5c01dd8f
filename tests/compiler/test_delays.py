"""Delays: in each frame or iteration, the output is what the input was at the end of the previous one."""

from collections.abc import Mapping

import numpy as np

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import graph, ref
from tests.compiler.support.running import Running
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.planning import make_plan
from warploom.engine.device.device import Device
from warploom.engine.runtime.model.module_cache import ModuleCache

#: The increase of the source's number from frame to frame.
SOURCE = BlockNode("s", blocks.fresh(1, 1, 0))


def value(frame: int) -> int:
    """Return the source's value in a frame."""
    return (2654435761 + 977 * frame) % 2**32


def frames(
    device: Device,
    modules: ModuleCache,
    patch: GraphDescription,
    port: str,
    count: int = 4,
    values: Mapping[str, Mapping[str, int]] | None = None,
) -> list[int]:
    """Return the first number of an output in each frame."""
    plan = make_plan(patch)
    running = Running(plan, device, modules, values or {})
    try:
        found = []
        for _ in range(count):
            running.frame()
            found.append(int(np.ravel(running.read(plan.buffers.owner_of(ref(port))))[0]))
        return found
    finally:
        running.close()


def delay(name: str, source: str, initial: int, region: str = "", like: str = "s.out") -> tuple[BlockNode, list[str]]:
    return BlockNode(name, blocks.delay(initial), region), [f"{like} {name}.like", f"{source} {name}.x"]


def test_a_delay_gives_the_last_frame(device: Device, modules: ModuleCache) -> None:
    """A delay outputs its initial value, then the previous frame's input; it swaps buffers without an operation."""
    node, wires = delay("d", "s.out", 7)
    patch = graph(SOURCE, node, wires=wires)
    assert frames(device, modules, patch, "d.out") == [7, value(0), value(1), value(2)]
    plan = make_plan(patch)
    assert plan.buffers.swaps == {ref("d.out"): ref("s.out")}
    assert [operation.node for operation in plan.operations] == ["", "s"]


def test_a_row_of_delays_is_as_late_as_it_is_long(device: Device, modules: ModuleCache) -> None:
    """Three delays in a row are three frames late, whatever their names."""
    for names in ("abc", "cba", "bca"):
        one, two, three = names
        made = [delay(one, "s.out", 1), delay(two, f"{one}.out", 2), delay(three, f"{two}.out", 3)]
        patch = graph(SOURCE, *(node for node, _ in made), wires=[wire for _, wires in made for wire in wires])
        assert frames(device, modules, patch, f"{three}.out", 5) == [3, 2, 1, value(0), value(1)]


def test_two_delays_that_feed_each_other_change_places(device: Device, modules: ModuleCache) -> None:
    """Two delays that read each other swap their contents in each frame."""
    (a, to_a), (b, to_b) = delay("a", "b.out", 1), delay("b", "a.out", 2)
    patch = graph(SOURCE, a, b, wires=[*to_a, *to_b])
    assert frames(device, modules, patch, "a.out") == [1, 2, 1, 2]
    assert frames(device, modules, patch, "b.out") == [2, 1, 2, 1]


def test_two_delays_of_one_output_begin_with_their_own_numbers(device: Device, modules: ModuleCache) -> None:
    """Two delays of one output begin with their own initial values, then equal the output's previous frame."""
    (a, to_a), (b, to_b) = delay("a", "s.out", 1), delay("b", "s.out", 2)
    patch = graph(SOURCE, a, b, wires=[*to_a, *to_b])
    assert frames(device, modules, patch, "a.out") == [1, value(0), value(1), value(2)]
    assert frames(device, modules, patch, "b.out") == [2, value(0), value(1), value(2)]


def test_a_delays_output_may_be_changed_in_place_and_fed_back(device: Device, modules: ModuleCache) -> None:
    """A delay's output that is changed in place and fed back sums over frames: `x = x * 3 + source`."""
    node, wires = delay("d", "sum.out", 5)
    patch = graph(SOURCE, node, BlockNode("sum", blocks.absorb()), wires=[*wires, "d.out sum.x", "s.out sum.y"])
    expected = [5]
    for frame in range(4):
        expected.append((expected[-1] * 3 + value(frame)) % 2**32)
    assert frames(device, modules, patch, "sum.out") == expected[1:]


def test_a_delay_in_a_loop_gives_the_last_turn(device: Device, modules: ModuleCache) -> None:
    """A delay in a loop outputs the previous iteration's index, and its initial value in the first iteration."""
    node, wires = delay("d", "loop.index", 9, "loop")
    loop = BlockNode("loop", blocks.loop_for())
    patch = graph(SOURCE, loop, node, wires=wires)
    limits = {"loop": {"count": 3, "limit": 10}}
    assert frames(device, modules, patch, "d.out", 2, limits) == [1, 1]
    once = {"loop": {"count": 1, "limit": 10}}
    assert frames(device, modules, patch, "d.out", 2, once) == [9, 0]


def test_a_delay_in_a_region_that_is_skipped_keeps_what_it_has(device: Device, modules: ModuleCache) -> None:
    """A delay in a region changes only in frames in which the region runs."""
    node, wires = delay("d", "s.out", 4, "choice")
    modulus = 2  # divides the source's value in every other frame
    choice = [BlockNode("flag", blocks.is_rare(modulus)), BlockNode("choice", blocks.when(0, otherwise=False))]
    patch = graph(SOURCE, *choice, node, wires=[*wires, "s.out flag.x", "flag.out choice.condition"])
    given, kept, expected = 4, 4, []
    for frame in range(6):
        if value(frame) % modulus == 0:
            given, kept = kept, value(frame)
        expected.append(given)
    assert expected == [4, 4, 4, value(1), value(1), value(3)]
    assert frames(device, modules, patch, "d.out", 6) == expected


def test_a_region_comes_after_what_feeds_a_delay_inside_it(device: Device, modules: ModuleCache) -> None:
    """A region runs after the source of a delay inside it, whatever the names of the blocks."""
    for name in ("a", "z"):
        node, wires = delay("d", f"{name}.out", 6, "loop")
        source = BlockNode(name, blocks.mix())
        patch = graph(SOURCE, source, BlockNode("loop", blocks.loop_for()), node, wires=[*wires, f"s.out {name}.x"])
        (mixed,) = frames(device, modules, graph(SOURCE, source, wires=[f"s.out {name}.x"]), f"{name}.out", 1)
        limits = {"loop": {"count": 2, "limit": 10}}
        assert frames(device, modules, patch, "d.out", 1, limits) == [mixed]
