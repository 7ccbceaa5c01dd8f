"""Times of nodes: sums of the mean times of a profile's spans."""

import numpy as np

from tests.profiling.spans import span
from warploom import Engine, Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, node_times, part_times


def test_a_node_takes_what_its_spans_take_by_their_means() -> None:
    """A node's kernels add up, a composite's kernels count for the composite, and the graph's own work for no node."""
    spans = [
        span("a", mean_ns=3),
        span("a", mean_ns=4),
        span("mix/blur", mean_ns=5),
        span("mix/tone", mean_ns=6),
        span(""),
    ]
    assert node_times(spans) == {"a": 7, "mix": 11}


def test_a_region_counts_what_is_in_it_once() -> None:
    """A region has the time of its own span, which includes its blocks; a composite has that of its inner region."""
    loop = span("loop", is_region=True, mean_ns=20)
    inside = [span("loop", region="loop", mean_ns=1), span("step", region="loop", mean_ns=9)]
    hidden = [span("c/loop", is_region=True, mean_ns=8), span("c/step", region="c/loop", mean_ns=7)]
    assert node_times([loop, *inside, *hidden]) == {"loop": 20, "step": 9, "c": 8}


def test_a_kernel_counts_in_equal_shares_for_its_parts() -> None:
    """The parts of a kernel share its time equally, so together they never take more than the node."""
    spans = [span("net", mean_ns=9, parts=("first", "second")), span("net", mean_ns=5, parts=("second",)), span("net")]
    assert part_times(spans) == {"net": {"first": 4, "second": 9}}


def test_shares_of_nodes_outside_of_regions_add_up_to_the_work() -> None:
    """A block's time in a region is part of the region's time, so only nodes outside regions are added."""
    spans = span("a", mean_ns=3), span("loop", is_region=True, mean_ns=20), span("b", region="loop", mean_ns=9)
    times = node_times(spans)
    assert times["a"] + times["loop"] == Profile(0, ProfilingLevel.PER_BLOCK, None, None, 0, 0, spans).work_ns


def test_blocks_that_do_not_need_each_other_are_measured_one_after_the_other() -> None:
    """On the CPU, two versions of a kernel in one patch don't share its cores while they are measured."""
    patch = Patch()
    source = patch.add("io.array", data=np.ones(1 << 20, np.float32))
    for node in "ab":
        patch.connect(source["out"], patch.add("math.scale_offset", node_id=node)["x"])
    with Engine(patch, device="host", profiling=ProfilingLevel.PER_BLOCK) as engine:
        for _ in range(4):
            engine.step()
        first, second = sorted(engine.profile().spans, key=lambda span: span.first_ns)
    assert (first.node, second.node) == ("a", "b") and first.last_ns <= second.first_ns
