"""Tooltips with the measurements of a frame, by profiling level."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.app.app_support import make_report
from warploom.app.view_models.profile.texts import (
    LEVELS,
    engine_text,
    held_text,
    percent,
    share_text,
    side_work_lines,
    time_share,
    times_text,
)
from warploom.app.view_models.tooltips import connection_tooltip, node_tooltip, port_tooltip
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import BufferStatistics, KernelFacts, Profile, SpanProfile
from warploom.engine.profiling.side_work import SideKind, SideWork
from warploom.engine.protocol.messages import (
    BufferReport,
    EngineStatistics,
    FrameReport,
    NodeReport,
    NodeState,
    UpdateLevel,
    UpdateRecord,
)


def span(node: str, first_us: float, last_us: float, **fields: Any) -> SpanProfile:
    """Return a span between two times, by default with one turn and busy all the time."""
    first_ns, last_ns = round(first_us * 1000), round(last_us * 1000)
    plain = {"name": "", "region": "", "operation": -1, "busy_ns": last_ns - first_ns, "turns": 1}
    plain |= {"mean_ns": last_ns - first_ns, "p99_ns": last_ns - first_ns}
    return SpanProfile(node=node, first_ns=first_ns, last_ns=last_ns, **{**plain, **fields})


def profile_of(*spans: SpanProfile, level: ProfilingLevel = ProfilingLevel.PER_BLOCK, buffers: Any = None) -> Profile:
    """Return a profile whose measuring takes 1.2 % of the time."""
    return Profile(7, level, 100_000, 110_000, 12_000, 1_000_000, spans, buffers or {})


def report_at(level: ProfilingLevel, **fields: Any) -> FrameReport:
    """Return a report of an engine whose launch takes 1 ms, of which `scale` takes 420 µs."""
    launch_ns = 1_000_000 if level >= ProfilingLevel.SUMMARY else None
    time_ns = 420_000 if level >= ProfilingLevel.PER_BLOCK else None
    node = NodeReport("test_canvas.scale", NodeState.OK, "", time_ns, 2)
    statistics = EngineStatistics("host", 4, 12, launch_ns, level, 12 * 2**20, 64 * 2**20, launch_ns)
    return make_report(**{"nodes": {"scale": node}, "statistics": statistics, **fields})


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (ProfilingLevel.NONE, ["running, 2 kernels"]),
        (ProfilingLevel.SUMMARY, ["running, 2 kernels"]),
        (
            ProfilingLevel.PER_BLOCK,
            ["running, 420 µs (42% of the frame), 2 kernels", "Last measured: 400 µs, p99 400 µs"],
        ),
        (
            ProfilingLevel.PER_KERNEL,
            [
                "running, 420 µs (42% of the frame), 2 kernels",
                "Last measured: 400 µs, p99 405 µs",
                "  blur_rows  300 µs, p99 310 µs",
                "  clear      100 µs, p99 100 µs",
            ],
        ),
    ],
)
def test_a_node_tells_what_its_level_measures(patch: Patch, level: ProfilingLevel, expected: list[str]) -> None:
    """A node's tooltip shows its state at the lowest levels, then its time, then the time of each kernel."""
    by_level = {
        ProfilingLevel.NONE: (),
        ProfilingLevel.SUMMARY: (),
        ProfilingLevel.PER_BLOCK: (span("scale", 0, 400),),
        ProfilingLevel.PER_KERNEL: (
            span("scale", 0, 300, name="blur_rows", operation=1, p99_ns=310_000),
            span("scale", 300, 400, name="clear", operation=2),
        ),
    }
    profile = profile_of(*by_level[level], level=level) if by_level[level] else None
    if profile is not None and level >= ProfilingLevel.PER_KERNEL:
        profile = replace(profile, sums_p99_ns={"scale": 405_000})
    assert node_tooltip(patch, "scale", report_at(level), profile).splitlines()[3:] == expected


def test_work_beside_frames_has_a_line_for_each_kind() -> None:
    """Each kind of work beside frames has a line of the three longest items, with their count, mean and size."""
    found = [
        SideWork(SideKind.UPLOAD, "array.out", 2, 3_000_000, 2_500_000, 8 * 2**20),
        *(SideWork(SideKind.COMPILE, f"{us}.cu", 1, us * 1000, us * 1000) for us in (5, 900, 7, 800, 600)),
    ]
    assert side_work_lines(found) == [
        "Compiled: 900.cu 900 µs, 800.cu 800 µs, 600.cu 600 µs and 2 more",
        "Uploaded: array.out 3.00 ms (8.00 MB, 2 times, mean 2.50 ms)",
    ]
    assert side_work_lines([]) == []
    profile = replace(profile_of(span("scale", 0, 400)), side_work=tuple(found))
    assert side_work_lines(found)[1] in engine_text(report_at(ProfilingLevel.PER_BLOCK), profile).splitlines()


def test_a_failed_node_says_why_before_what_it_cost(patch: Patch) -> None:
    """A failed node's tooltip shows the message before the times."""
    node = NodeReport("test_canvas.scale", NodeState.WARNING, "Buffer at 95% capacity", 420_000, 1)
    report = report_at(ProfilingLevel.PER_BLOCK, nodes={"scale": node})
    lines = node_tooltip(patch, "scale", report, profile_of(span("scale", 0, 400))).splitlines()
    assert lines[4:] == ["Buffer at 95% capacity", "Last measured: 400 µs, p99 400 µs"]


def test_a_block_in_a_loop_tells_its_turns_and_the_loop_does_too(patch: Patch) -> None:
    """A block in a loop shows its turns and their mean, and the loop the total of its turns."""
    patch.add("control.for", node_id="loop")
    inner = span("scale", 1, 99, region="loop", busy_ns=50_000, turns=50)
    loop = span("loop", 0, 100, is_region=True)
    turn = span("loop", 1, 99, region="loop", busy_ns=5_000, turns=50)
    profile = profile_of(loop, inner, turn)
    assert times_text(patch, "scale", profile) == "Last measured: 50.0 µs, 50 turns of 1.00 µs, p99 98.0 µs"
    assert times_text(patch, "loop", profile) == "Last measured: 100 µs, 50 turns of 2.00 µs, p99 100 µs"


def test_a_block_in_a_branch_that_was_not_taken_did_not_run(patch: Patch) -> None:
    """A block in a branch that was not taken "did not run"; a block outside the profile has no text."""
    profile = profile_of(span("scale", 0, 0, turns=0))
    assert times_text(patch, "scale", profile) == "Last measured: it did not run."
    assert times_text(patch, "count", profile) == ""


def test_what_runs_at_the_same_time_is_named(patch: Patch) -> None:
    """Blocks that ran at the same time are named by title, those with the longest overlap first.

    Work that only touches, turns of a loop, and the graph itself are left out.
    """
    patch.rename("source", "Sun")
    profile = profile_of(
        span("scale", 0, 100),
        span("count", 80, 200),
        span("source", 40, 80),
        span("next", 99, 200),
        span("looped", 0, 100, turns=3, busy_ns=9),
        span("", 0, 100),
        span("inside", 0, 100, region="loop"),
    )
    text = times_text(patch, "scale", profile)
    assert text.splitlines()[1:] == ["Ran at the same time as Sun, Count."]


def test_overlapping_kernels_of_a_block_are_not_summed_into_its_end(patch: Patch) -> None:
    """If a block's kernels overlap, their total (100 µs) and their end (60 µs) are both reported."""
    kernels = (span("scale", 0, 50, operation=1, name="a"), span("scale", 10, 60, operation=2, name="b"))
    text = times_text(patch, "scale", profile_of(*kernels, level=ProfilingLevel.PER_KERNEL))
    assert text.splitlines()[0] == "Last measured: 100 µs, in parts that overlap and end after 60.0 µs"


def test_a_kernel_tells_its_launch_its_resources_and_what_it_moved(patch: Patch) -> None:
    """A kernel's line shows its launch, resources and throughput, as far as the device reports them."""
    facts = KernelFacts((391, 2, 1), (16, 16, 1), 32, 4096, 16, 0.5, "registers")
    kernel = span("scale", 0, 2, name="blur", operation=1, kernel=facts, moved_bytes=2**21)
    profile = profile_of(kernel, level=ProfilingLevel.PER_KERNEL)
    assert times_text(patch, "scale", profile, 4 * 2**40).splitlines()[1:] == [
        "  blur  2.00 µs, p99 2.00 µs",
        "    782 × 256 threads, 32 registers, 4.00 KB shared, 16 B spilled, 50% occupancy, limited by registers,"
        " 977 GB/s (24% of the peak)",
    ]
    on_host = replace(kernel, kernel=KernelFacts((391, 1, 1), (256, 1, 1)), moved_bytes=0)
    lines = times_text(patch, "scale", profile_of(on_host, level=ProfilingLevel.PER_KERNEL)).splitlines()
    assert lines[2:] == ["    391 × 256 threads, registers and occupancy: not on this device"]


def test_of_many_kernels_the_longest_are_named_in_their_order(patch: Patch) -> None:
    """Of many kernels, the longest are listed in execution order, and the rest as a count with a total."""
    spans = [span("scale", k, k + 1 + k, operation=k, name=f"k{k}") for k in range(9)]
    lines = times_text(patch, "scale", profile_of(*spans, level=ProfilingLevel.PER_KERNEL)).splitlines()
    kernels = [line for line in lines if line.startswith("  ")]
    assert [line.split()[0] for line in kernels] == ["k3", "k4", "k5", "k6", "k7", "k8", "3"]
    assert kernels[-1].split() == ["3", "more", "6.00", "µs"]


def test_parts_of_a_composite_count_for_it(patch: Patch) -> None:
    """A composite's time is that of the blocks inside it, in which a loop counts once."""
    spans = (
        span("scale/a", 0, 10),
        span("scale/loop", 10, 30, is_region=True),
        span("scale/b", 11, 29, region="scale/loop", turns=4),
    )
    assert times_text(patch, "scale", profile_of(*spans)) == "Last measured: 30.0 µs, 4 turns of 7.50 µs"


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, "100%"), (0.314, "31%"), (0.0994, "9.9%"), (0.006, "0.6%"), (0.0004, "under 0.1%")]
)
def test_percent(share: float, expected: str) -> None:
    """A percentage is shown with two digits, and a small share as "under 0.1%" instead of 0."""
    assert percent(share) == expected


def test_shares_are_of_the_frame_or_of_the_block_around() -> None:
    """A share is of the frame or of the enclosing block, and missing if nothing was measured."""
    node = NodeReport("t", NodeState.OK, "", 420_000, 1)
    statistics = EngineStatistics("host", work_ns=1_000_000)
    assert share_text(node, statistics) == " (42% of the frame)"
    assert share_text(replace(node, share=0.25), statistics) == " (25% of the block's time)"
    assert share_text(node, EngineStatistics("host")) == ""
    assert time_share(replace(node, time_ns=None), statistics) is None


SOURCE = Connection(PortRef("source", "out"), PortRef("scale", "x"))
BUFFERS = {"source.out": BufferReport("Particle", (100_000,), 3_200_000, 4_000_000)}
HELD = {"source.out": BufferStatistics(100_000, -0.25, 1.5, 3, 0)}


@pytest.mark.parametrize(
    ("level", "counts", "expected"),
    [
        (ProfilingLevel.NONE, {}, ["Particle, 100,000 elements, 3.05 MB"]),
        (ProfilingLevel.PER_BLOCK, {}, ["Particle, 100,000 elements, 3.05 MB (3.81 MB allocated)"]),
        (
            ProfilingLevel.DEEP_ASYNC,
            {"source.out": 45_231},
            [
                "Particle, 100,000 elements, 3.05 MB (3.81 MB allocated)",
                "45,231 of 100,000 elements in use",
                "-0.25 to 1.5, 3 NaN",
            ],
        ),
    ],
)
def test_a_connection_tells_what_its_level_knows(
    patch: Patch, level: ProfilingLevel, counts: dict[str, int], expected: list[str]
) -> None:
    """A connection and the ports at its ends show the same lines: size, then allocated memory, then contents."""
    report = report_at(level, buffers=BUFFERS, counts=counts)
    profile = profile_of(level=level, buffers=HELD) if level >= ProfilingLevel.DEEP_ASYNC else None
    assert connection_tooltip(patch, SOURCE, report, profile).splitlines()[1:] == expected
    for port in (SOURCE.source, SOURCE.target):
        assert port_tooltip(patch, port, report, profile).splitlines()[-len(expected) :] == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (BufferStatistics(4, 0, 255, 0, 0), "0 to 255"),
        (BufferStatistics(4, None, None, 1, 1_003), "no finite number, 1 NaN, 1,003 infinite"),
        (BufferStatistics(0, None, None, 0, 0), "holds nothing"),
    ],
)
def test_what_a_buffer_held(held: BufferStatistics, expected: str) -> None:
    """The contents of a buffer are described by its finite extremes and its counts of NaN and infinity."""
    assert held_text(held) == expected


def test_the_engines_tooltip() -> None:
    """The engine's tooltip shows the cost of measuring only once a frame of the current level was measured."""
    report = report_at(ProfilingLevel.PER_BLOCK, frame=1234, launches=17)
    expected = [
        "4 blocks, 12 kernels on host",
        "Launch: 1.00 ms",
        "Profiling: each block, takes 1.2% of the time",
        "Memory: 12.0 MB in use, 64.0 MB allocated",
        "Latency: each frame ends before the next one begins",
        "Frame 1,234",
        "Launches: 17; a frame without changes needs none",
    ]
    assert engine_text(report, profile_of()).splitlines() == expected
    expected[2] = "Profiling: each block"
    stale = profile_of(level=ProfilingLevel.PER_KERNEL)
    assert engine_text(report, None).splitlines() == engine_text(report, stale).splitlines() == expected
    off = engine_text(report_at(ProfilingLevel.NONE, in_flight=3), None)
    assert "Launch: not measured\nProfiling: off\n" in off
    assert "Throughput: frames overlap" in off
    assert engine_text(None, None) == "No patch is running"


def test_the_engines_tooltip_tells_its_own_work_and_the_last_update() -> None:
    """The engine's tooltip shows its own uploads and downloads, and the last update's time and delay."""
    spans = span("", 0, 1.6, name="upload frame", operation=0), span("scale", 2, 3, name="k", operation=1)
    profile = profile_of(*spans, span("", 3, 4, name="download status", operation=2), level=ProfilingLevel.PER_KERNEL)
    update = UpdateRecord(UpdateLevel.COLD, "a block was added", 12_300_000, 7, swap_ns=210_000)
    lines = engine_text(report_at(ProfilingLevel.PER_KERNEL), profile, update).splitlines()
    assert lines[3:5] == [
        "Besides blocks: upload frame 1.60 µs, download status 1.00 µs",
        "Last update: cold, 12.3 ms; the frame waited 210 µs",
    ]


def test_every_level_has_a_name() -> None:
    """Every profiling level has a name."""
    assert list(LEVELS) == list(ProfilingLevel)
