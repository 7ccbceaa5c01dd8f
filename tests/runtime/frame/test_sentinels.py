"""Sentinels in the running graph: their findings compared with numpy, the places of the checks, and the contents that a
freeze keeps.
"""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.lagging_device import LaggingDevice
from tests.runtime import small_blocks
from tests.runtime.conftest import Kernels
from tests.small_examples import small
from tests.waiting import next_report, until
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Severity, Source
from warploom.engine.patch.changes import PortRef, Sentinel, SentinelAction, SentinelChanged
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import FrameReport, Frozen, NodeState, SetRunning
from warploom.engine.protocol.pacing import Pacing, PacingMode
from warploom.engine.protocol.pipe import connect
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.runtime.report import diagnostics_store
from warploom.engine.types import Array, to_bf16

#: The dtypes of arrays; c8 and c16 are elements of two numbers.
TYPES = ["f2", "f4", "f8", "c8", "c16", "i1", "u1", "i4", "u4", "i8", "?"]
BAD = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "low": -60.0, "high": 61.5}


def finding(
    data: Array, rank: int, low: float | None, high: float | None, *, nan: bool = True, inf: bool = True
) -> str:
    """Return the expected finding for data whose first `rank` axes are the port's; empty if all is well."""
    numbers = data.view({"c8": "f4", "c16": "f8"}.get(data.dtype.str[1:], data.dtype))
    numbers = numbers.astype(np.float64).reshape(*data.shape[:rank], -1)
    is_nan, is_inf = np.isnan(numbers) & nan, np.isinf(numbers) & inf
    with np.errstate(invalid="ignore"):
        outside = numbers < (-np.inf if low is None else low)
        outside |= numbers > (np.inf if high is None else high)
    outside &= ~is_inf
    wrong = is_nan | is_inf | outside
    nans, infinities = is_nan.any(-1), is_inf.any(-1) & ~is_nan.any(-1)
    others = outside.any(-1) & ~is_nan.any(-1) & ~is_inf.any(-1)
    parts = [
        f"{count:,} {what}"
        for count, what in ((nans.sum(), "NaN"), (infinities.sum(), "infinite"), (others.sum(), "out of range"))
        if count
    ]
    if not parts:
        return ""
    first = tuple(np.argwhere(wrong.any(-1))[0])
    value = numbers[first][wrong[first]][0]
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    text += f" among {wrong.any(-1).size:,}" + (f", the first at [{', '.join(map(str, first))}]" if first else "")
    return text + (f": {value:.7g}" if np.isfinite(value) else "")


def found(report: FrameReport, port: PortRef) -> str:
    """Return the finding of a port's sentinel in a report."""
    told = [d for d in report.diagnostics if (d.node, d.port, d.source) == (port.node, port.port, Source.SENTINEL)]
    assert len(told) <= 1 and all(d.severity is Severity.WARNING and d.remedy for d in told)
    return told[0].message.partition(", got ")[2] if told else ""


def watched(data: Array | NodeRef, patch: Patch | None = None) -> tuple[Patch, NodeRef]:
    """Return a patch in which a block reads an array, and whose output has a reader."""
    patch = patch or Patch()
    source = data if isinstance(data, NodeRef) else patch.add("io.array", data=data)
    patch.connect(source["out"], patch.add("buffer.copy")["x"])
    return patch, source


def spoilt(chance: np.random.Generator, dtype: str, count: int, kinds: list[str]) -> Array:
    """Return numbers from -50 to 50, some of them wrong in ways that the type can hold."""
    numbers = chance.uniform(-50, 50, count * (2 if dtype[0] == "c" else 1))
    if dtype in ("u1", "u4", "?"):
        numbers = abs(numbers)
    part = dtype.replace("c8", "f4").replace("c16", "f8")
    for kind in kinds:
        if (dtype[0] in "fc" or np.isfinite(BAD[kind])) and not (dtype in ("u1", "u4", "?") and BAD[kind] < 0):
            numbers[chance.integers(0, numbers.size, 1 + numbers.size // 50)] = BAD[kind]
    return numbers.astype(part).view(dtype)


@pytest.mark.parametrize("count", [1, 255, 257, 100_003])
@pytest.mark.parametrize("dtype", TYPES)
def test_it_finds_what_numpy_finds(device: Device, dtype: str, count: int) -> None:
    """Counts, the first wrong element and its value equal numpy's, for every element type and any size."""
    data = spoilt(np.random.default_rng(count), dtype, count, list(BAD))
    patch, source = watched(data)
    patch.set_sentinel(source["out"], minimum=-55, maximum=55)
    with Engine(patch, device) as engine:
        assert found(engine.step(), source["out"]) == finding(data, 1, -55, 55)


@given(st.data())
def test_any_array_and_any_rule(data: st.DataObject) -> None:
    """Counts and the first wrong index equal numpy's for random arrays and rules."""
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = data.draw(st.sampled_from([(1,), (7,), (3, 5), (2, 3, 43), (1, 1, 1), (300, 7)]))
    kinds = data.draw(st.lists(st.sampled_from(list(BAD)), max_size=4))
    array = spoilt(chance, data.draw(st.sampled_from(TYPES)), int(np.prod(shape)), kinds).reshape(shape)
    bounds = st.sampled_from([None, -55.0, -0.0, 0.0, 12.5])
    low, high = sorted([data.draw(bounds), data.draw(bounds)], key=lambda b: (b is not None, b or 0.0))
    nan, inf = data.draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    patch, source = watched(array)
    patch.set_sentinel(source["out"], minimum=low, maximum=high, nan=nan, infinity=inf)
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        assert found(engine.step(), source["out"]) == finding(array, len(shape), low, high, nan=nan, inf=inf)


def test_brains_vectors_and_structs_of_one_type(device: Device) -> None:
    """A bf16 is checked as its number; one wrong component makes one element of a vector or struct wrong."""
    numbers = np.array([[1.5, -2.0, 0.25, 4.0], [0.0, 3.0, np.nan, np.nan], [np.inf, 3.0, np.nan, -8.0]], np.float32)
    assert np.array_equal(to_bf16(numbers[:1]).astype(np.uint32) << 16, numbers[:1].view(np.uint32)), "exact in bf16"
    patch = Patch()
    flat = patch.add("io.array", data=numbers.reshape(-1))
    brains = patch.add("buffer.convert", dtype="bf16")
    vectors = patch.add("buffer.reinterpret", dtype="float4")
    patch.connect(flat["out"], brains["x"])
    patch.connect(flat["out"], vectors["x"])
    emitter = patch.add("particles.emitter")
    patch.connect(emitter["particles"], patch.add("particles.render_points")["particles"])
    for node in (brains, vectors):
        watched(node, patch)
    ports = brains["out"], vectors["out"], emitter["particles"]
    for port in ports:
        patch.set_sentinel(port)
    with Engine(patch, device) as engine:
        report = engine.step()
        assert [found(report, port) for port in ports] == [
            "3 NaN and 1 infinite among 12, the first at [6]",
            "2 NaN among 3, the first at [1]",
            "",
        ]


def test_limits_leave_out_the_alpha_of_images(device: Device) -> None:
    """In an image, limits are about red, green and blue; NaN is wrong in alpha too. Other vectors have no alpha."""
    pixels = np.full((3, 5, 4), 0.25, np.float32)
    pixels[..., 3] = 1.0
    pixels[1, 2, 0] = 0.75
    pixels[2, 0, 3] = np.nan
    patch = Patch()
    flat = patch.add("io.array", data=pixels.reshape(-1))
    vectors = patch.add("buffer.reinterpret", dtype="float4")
    image = patch.add("buffer.reshape", shape="3, 5")
    patch.connect(flat["out"], vectors["x"])
    patch.connect(vectors["out"], image["x"])
    for node in (vectors, image):
        watched(node, patch)
        patch.set_sentinel(node["out"], maximum=0.5)
    with Engine(patch, device) as engine:
        report = engine.step()
        assert found(report, image["out"]) == "1 NaN and 1 out of range among 15, the first at [1, 2]: 0.75"
        assert found(report, vectors["out"]) == "1 NaN and 14 out of range among 15, the first at [0]: 1"


@pytest.mark.parametrize("transform", ["transpose", "slice", "whole"])
def test_views_are_looked_at_where_they_lie(device: Device, transform: str) -> None:
    """Gaps of a view are not checked, and the index is one of the view's shape."""
    data = np.arange(5 * 7 * 3, dtype=np.float32).reshape(5, 7, 3)
    data[0, 1, 2] = data[4, 5, 1] = np.nan
    patch = Patch()
    array = patch.add("io.array", data=data)
    kind, values, seen = {
        "transpose": ("buffer.transpose", {"order": "2, 0, 1"}, data.transpose(2, 0, 1)),
        "slice": ("buffer.slice", {"axis": 1, "start": 3, "stop": 7, "step": 2}, data[:, 3:7:2]),
        "whole": ("buffer.reshape", {"shape": "21, 5"}, data.reshape(21, 5)),
    }[transform]
    view = patch.add(kind, **values)
    patch.connect(array["out"], view["x"])
    watched(view, patch)
    patch.set_sentinel(view["out"])
    with Engine(patch, device) as engine:
        assert np.array_equal(engine.read(view["out"]), seen, equal_nan=True)
        assert found(engine.step(), view["out"]) == finding(np.ascontiguousarray(seen), seen.ndim, None, None)


def test_each_port_is_looked_at_before_its_memory_is_changed(device: Device) -> None:
    """Of several blocks that change one buffer in place, each output is checked right after its block."""
    patch = Patch()
    ports = [small_blocks.zeros(patch, 257)["out"]]
    for _ in range(4):
        bump = patch.add(small_blocks.Bump.id, amount=10.0)
        patch.connect(ports[-1], bump["x"])
        ports.append(bump["out"])
    for number, port in enumerate(ports[:-1]):
        patch.set_sentinel(port, minimum=10.0 * number, maximum=10.0 * number)
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        for number, port in enumerate(ports[:-1]):
            patch.set_sentinel(port, minimum=10.0 * number + 1)
        report = engine.step()
        told = [found(report, port) for port in ports[:-1]]
        assert told == [f"257 out of range among 257, the first at [0]: {10 * number}" for number in range(4)]


def test_what_is_checked_is_stored_although_it_could_be_fused(device: Device) -> None:
    """A checked output is stored though it could be fused; without the sentinel, the blocks are one kernel again."""
    x = np.array([0.5, -1.0, 4.0], np.float32)
    patch = Patch()
    roots = patch.add("kernel.expression", expression="log(x)")
    double = patch.add("math.scale_offset", scale=2.0, offset=0.0)
    patch.connect(patch.add("io.array", data=x)["out"], roots["x"])
    patch.connect(roots["out"], double["x"])
    with Engine(patch, device) as engine:
        assert engine.step().nodes[roots.id].fused_into == (double.id,)
        result = engine.read(double["out"])
        patch.set_sentinel(roots["out"])
        report = engine.step()
        assert found(report, roots["out"]) == "1 NaN among 3, the first at [1]"
        assert report.buffers[f"{roots.id}.out"].allocated_bytes and not report.nodes[roots.id].fused_into
        assert np.array_equal(engine.read(double["out"]), result, equal_nan=True)
        patch.remove_sentinel(roots["out"])
        report = engine.step()
        assert not report.diagnostics and report.nodes[roots.id].fused_into == (double.id,)


@pytest.mark.parametrize("kind", ["control.for", "control.while"])
def test_a_loop_tells_the_turn_in_which_it_went_wrong(device: Device, kind: str) -> None:
    """Each turn of a loop is checked, and the report names the first turn with a wrong element."""
    patch = Patch()
    value = small_blocks.zeros(patch, 300, 1.0)
    loop = patch.add(kind, **({"count": 10} if kind == "control.for" else {"limit": 10}))
    if kind == "control.while":
        patch.connect(small_blocks.zeros(patch, 1, 1.0)["out"], loop["condition"])
    bump = patch.add(small_blocks.Bump.id, amount=2.0, region=loop.body)
    patch.connect(value["out"], bump["x"])
    watched(bump, patch)
    patch.set_sentinel(bump["out"], maximum=8)
    with Engine(patch, device) as engine:
        for _ in range(2):
            told = found(engine.step(), bump["out"])
            assert told == "300 out of range among 300, the first at [0]: 9, in turn 4"
        patch.set_sentinel(bump["out"], maximum=21)
        assert not found(engine.step(), bump["out"])


def test_only_a_branch_that_runs_is_checked(device: Device) -> None:
    """A wrong element is reported only in frames in which its branch runs."""
    patch = Patch()
    condition = patch.add("io.array", data=np.zeros(1, np.float32))
    choice = patch.add("control.if")
    patch.connect(condition["out"], choice["condition"])
    make = patch.add(small_blocks.Make.id, region=choice.body)
    watched(make, patch)
    patch.set_sentinel(make["out"], maximum=1)
    with Engine(patch, device) as engine:
        assert not found(engine.step(), make["out"])
        patch.set(condition, data=np.ones(1, np.float32))
        assert found(engine.step(), make["out"]) == "3 out of range among 3, the first at [0]: 7"


def test_append_buffers_are_checked_as_far_as_they_are_filled(device: Device) -> None:
    """Elements behind the count are not checked, and an empty append buffer has none."""
    patch = Patch()
    emitter = patch.add("particles.emitter")
    chosen = patch.add("particles.select", low=0.0, capacity=100_000)
    patch.connect(emitter["particles"], chosen["particles"])
    patch.connect(chosen["selected"], patch.add("particles.render_points")["particles"])
    unread = {str(item) for item in check_patch(patch)}
    patch.set_sentinel(chosen["selected"], maximum=-1e30)
    assert {str(item) for item in check_patch(patch)} == unread, "the check does not read the count for anybody"
    with Engine(patch, device) as engine:
        for _ in range(3):
            report = engine.step()
        count = report.counts[str(chosen["selected"])]
        assert 0 < count < 100_000
        assert found(report, chosen["selected"]).startswith(f"{count:,} out of range among {count:,}, the first at [0]")
        patch.set(chosen, low=1000.0)
        report = engine.step()
        assert not report.counts[str(chosen["selected"])] and not found(report, chosen["selected"])


def test_a_composite_is_checked_at_its_own_output(device: Device) -> None:
    """The finding is reported at the composite's output, also when its blocks are a child graph."""
    patch = Patch()
    total = patch.add(small_blocks.Sum3.id, a=1.0, b=2.0, c=3.0)
    patch.connect(small_blocks.zeros(patch, 5)["out"], total["x"])
    watched(total, patch)
    patch.set_sentinel(total["out"], maximum=5)
    with Engine(patch, device) as engine:
        assert found(engine.step(), total["out"]) == "5 out of range among 5, the first at [0]: 6"


def test_other_bounds_need_no_other_graph(device: Device) -> None:
    """A sentinel's new bounds are HOT; adding, removing or freezing a sentinel is a COLD build."""
    patch, source = watched(np.array([1, 2, np.inf], np.float32))
    with Engine(patch, device) as engine:
        engine.step()
        levels = []
        for rule in ({"maximum": 1.5}, {"maximum": 0.5}, {"infinity": False, "minimum": 1.0}, {"action": "freeze"}):
            patch.set_sentinel(source["out"], **rule)
            levels.append(engine.step().update_level)
        patch.undo()
        report = engine.step()
        assert not found(report, source["out"])
        patch.remove_sentinel(source["out"])
        levels.append(engine.step().update_level)
        cold, hot = UpdateLevel.COLD, UpdateLevel.HOT
        assert levels == [cold, hot, hot, cold, cold]


def test_what_cannot_be_checked_is_told_and_runs(device: Device) -> None:
    """An output of mixed structs, or of more than eight axes, gets a warning instead of a check, and the patch runs."""
    patch = Patch()
    pairs, copy = patch.add(small_blocks.MakePairs.id), patch.add("buffer.copy")
    patch.connect(pairs["out"], copy["x"])
    watched(copy, patch)
    deep = patch.add("io.array", data=np.full((2, 1, 1, 1, 1, 1, 1, 1, 2), np.nan, np.float32))
    flat = patch.add("buffer.reshape", shape="4")
    patch.connect(deep["out"], flat["x"])
    for node in (copy, deep):
        patch.set_sentinel(node["out"], minimum=1e30)
    told = [item for item in check_patch(patch) if item.source is Source.SENTINEL]
    assert [(item.node, item.port, item.severity) for item in told] == [
        (deep.id, "out", Severity.WARNING),
        (copy.id, "out", Severity.WARNING),
    ]
    assert "at most 8 dimensions" in told[0].message and "numbers of one type to be checked" in told[1].message
    with Engine(patch, device) as engine:
        assert engine.step().diagnostics == tuple(told)
        assert engine.read(copy["out"]).tobytes() == engine.read(pairs["out"]).tobytes()


def test_a_check_never_keeps_a_block_from_running(device: Device) -> None:
    """A block that lost its input keeps running, and its sentinel keeps checking."""
    patch = Patch()
    source = small_blocks.array(patch, 1, np.nan, 3)
    scale = patch.add("math.scale_offset")
    wire = patch.connect(source["out"], scale["x"])
    watched(scale, patch)
    patch.set_sentinel(scale["out"])
    with Engine(patch, device) as engine:
        assert found(engine.step(), scale["out"])
        patch.disconnect(wire)
        report = engine.step()
        assert found(report, scale["out"]) == "1 NaN among 3, the first at [1]"
        patch.remove(scale)
        assert not found(engine.step(), PortRef(scale.id, "out"))


def growing(kernels: Kernels) -> tuple[Patch, NodeRef]:
    """Return a patch that counts frames from 1, and multiplies the count by ten."""
    patch = Patch()
    count = patch.add("test_run.count", size=3)
    scale = patch.add("test_run.scale", node_id="scale", factor=10.0)
    patch.connect(count["out"], scale["x"])
    watched(scale, patch)
    return patch, scale


def test_a_freeze_pauses_after_that_very_frame(
    device: Device, kernels: Kernels, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread runs freely; the fifth frame is the last one, and its results stay."""
    patch, scale = growing(kernels)
    patch.set_sentinel(scale["out"], maximum=45, action="freeze")
    with Engine(patch, device) as engine, caplog.at_level(logging.INFO):
        engine.start(rate=None)
        report = next_report(engine, lambda r: not r.running)
        assert report.frame == 4 and report.nodes[scale.id].state is NodeState.WARNING
        text = (
            f"{scale.id}.out: elements must be finite and at most 45, got 3 out of range among 3, the first at [0]: 50"
        )
        assert f"frame 4 is frozen: {text}" in [record.getMessage() for record in caplog.records]
        (frozen,) = (event for event in engine.take_events() if isinstance(event, Frozen))
        assert frozen.frame == 4 and f"{frozen.reasons[0].node}.out: {frozen.reasons[0].message}" == text
        assert engine.read(PortRef("count", "out")).tolist() == [5.0] * 3
        assert engine.read(scale["out"]).tolist() == [50.0] * 3
        engine.post(SetRunning(True))  # the next frame is as wrong as this one
        assert next_report(engine, lambda r: r.frame == 5 and not r.running).frame == 5
        patch.set_sentinel(scale["out"], maximum=45)
        engine.post(SetRunning(True))
        assert next_report(engine, lambda r: r.frame > 8).running


def test_an_edit_of_a_frozen_frame_is_shown_at_that_frame(kernels: Kernels) -> None:
    """Time stays at the frozen frame until somebody continues, and the next frame follows it."""
    patch = Patch()
    tell, scale = patch.add("test_run.tell"), patch.add("test_run.scale", node_id="scale", factor=1.0)
    patch.connect(tell["out"], scale["x"])
    patch.set_sentinel(tell["out"], maximum=2.5, action="freeze")
    with Engine(patch, "host", time_step_s=0.5) as engine:
        engine.start(rate=None, deterministic=True)
        next_report(engine, lambda r: not r.running)
        patch.set(scale, factor=10.0)
        until(lambda: engine.read(scale["out"])[0] == 30)
        assert engine.read(tell["out"]).tolist() == [3, 1.5, 0]
        engine.stop()
        report = engine.step()
        assert report.frame == 4 and engine.read(tell["out"]).tolist() == [4, 2, 0.5]


def test_frames_that_may_freeze_do_not_overlap(kernels: Kernels) -> None:
    """On a device that works while Python continues, no frame is launched after the frozen one."""
    patch, scale = growing(kernels)
    patch.set_sentinel(scale["out"], maximum=85, action="freeze")
    device = LaggingDevice()
    try:
        with Engine(patch, device) as engine:
            engine.start(pacing=Pacing(PacingMode.FREE, None, overlap=True))
            report = next_report(engine, lambda r: not r.running)
            assert (report.frame, report.launches) == (8, 9)
            assert engine.read(PortRef("count", "out")).tolist() == [9.0] * 3
    finally:
        device.close()


def test_a_mark_fades_when_frames_are_sound_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sightings are counted while frames are wrong, and the problem fades for a moment afterwards."""
    monkeypatch.setattr(diagnostics_store, "REPORT_INTERVAL_NS", 0)
    data = np.array([1, np.nan, 3], np.float32)
    patch = Patch()
    patch.add("test_small.grow")  # a block with state, so that each frame is launched
    _, source = watched(patch.add("io.external", array=data), patch)
    patch.set_sentinel(source["out"])
    with Engine(patch, "host") as engine:
        for count in range(1, 4):
            report = engine.core.frame(free_running=True) if count > 1 else engine.step()
            assert [s.count for s in report.sightings] == [count] and not report.sightings[0].is_fading
        data[1] = 2
        report = engine.core.frame(free_running=True)
        assert report.sightings[0].is_fading and found(report, source["out"])
        data[2] = np.inf
        report = engine.core.frame(free_running=True)
        told = [
            (item.message.partition(", got ")[2], s.is_fading)
            for item, s in zip(report.diagnostics, report.sightings, strict=True)
        ]
        assert told == [("1 infinite among 3, the first at [2]", False), ("1 NaN among 3, the first at [1]", True)]


def test_the_cost_of_a_check_is_known_before_it_is_made() -> None:
    """Adding, removing or freezing a sentinel is a build, and changing its bounds a parameter write."""
    patch, source = watched(np.ones(3, np.float32))
    port = PortRef(source.id, "out")
    plain, other, freezing = Sentinel(), Sentinel(maximum=2.0), Sentinel(action=SentinelAction.FREEZE)
    with Engine(patch, "host") as engine:
        engine.step()
        added = engine.cost_of(SentinelChanged(port, plain, None))
        assert (added.level, added.cause) == (UpdateLevel.COLD, f"check of {port}")
        patch.set_sentinel(port)
        engine.step()
        for value, level in ((other, UpdateLevel.HOT), (freezing, UpdateLevel.COLD), (None, UpdateLevel.COLD)):
            assert engine.cost_of(SentinelChanged(port, value, plain)).level is level


def test_an_engine_in_another_process_tells_that_it_has_frozen_a_frame() -> None:
    """A sentinel in another process freezes the frame there, and its findings are reported here."""
    patch, source = watched(np.array([1, np.inf], np.float32))
    patch.set_sentinel(source["out"], action="freeze")
    with connect(patch, [sys.executable, "-m", "app", "engine"], "host") as engine:
        report = engine.step()
        assert found(report, source["out"]) == "1 infinite among 2, the first at [1]" and not report.running
        (frozen,) = (event for event in engine.take_events() if isinstance(event, Frozen))
        assert frozen.frame == 0 and frozen.reasons == report.diagnostics


def test_checks_change_no_result(device: Device) -> None:
    """With every connection checked, an If inside a For has the same results."""
    results: list[dict[PortRef, bytes]] = []
    for is_checked in (False, True):
        patch = small("nested")
        for number, connection in enumerate(patch.connections if is_checked else ()):
            if not patch.is_value_connection(connection):
                patch.set_sentinel(connection, action="freeze" if number % 2 else "mark")
        with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
            for _ in range(3):
                assert not [item for item in engine.step().diagnostics if item.severity is Severity.ERROR]
            ports = [c.source for c in patch.connections if not patch.is_value_connection(c)]
            results.append({port: engine.read(port).tobytes() for port in ports})
        assert bool(patch.sentinels) is is_checked
    assert results[0] == results[1]
