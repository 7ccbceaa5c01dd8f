"""Statistics of buffers in a measured frame, compared with numpy."""

from pathlib import Path

import numpy as np
import pytest

from tests.runtime import small_blocks
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Severity, Source
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.profiling.profile import BufferStatistics, Profile
from warploom.engine.protocol.messages import SetProfiling
from warploom.engine.types import NAMED, Array, to_bf16

DEEP = (ProfilingLevel.DEEP_ASYNC, ProfilingLevel.DEEP_SYNC)


def profile_of(patch: Patch, device: Device, level: ProfilingLevel = ProfilingLevel.DEEP_SYNC) -> Profile:
    """Return the profile of the first frame."""
    with Engine(patch, device, profiling=level) as engine:
        engine.step()
        return engine.core.profiler.profile()


def expected(numbers: Array) -> BufferStatistics:
    """Return numpy's statistics of the numbers; integers stay integers."""
    finite = numbers[np.isfinite(numbers)]
    least, most = (finite.min().item(), finite.max().item()) if finite.size else (None, None)
    return BufferStatistics(numbers.size, least, most, int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum()))


@pytest.mark.parametrize("count", [1, 255, 1025, 70_001])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", "c8", "c16"])
def test_every_element_type(device: Device, dtype: str, count: int) -> None:
    """Least and greatest numbers are exact, 64-bit integers included, for any number of elements."""
    chance = np.random.default_rng(count)
    bits = chance.integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
    data = (bits & 1).view(bool) if dtype == "?" else bits.view(dtype)
    if count > 1 and dtype[0] in "iu":
        data[[0, -1]] = np.iinfo(dtype).min, np.iinfo(dtype).max
    if dtype[0] in "fc":
        data[0] = chance.choice([np.nan, np.inf, -np.inf, -0.0, 1e-7])
    patch = Patch()
    array, seen = patch.add("io.array", data=data), patch.add("buffer.copy")
    patch.connect(array["out"], seen["x"])
    numbers = data.view({"c8": "f4", "c16": "f8"}.get(dtype, dtype))
    told = profile_of(patch, device).buffers
    assert told == {f"{array.id}.out": expected(numbers), f"{seen.id}.out": expected(numbers)}


def test_halves_of_brains_and_vectors_count_their_components(device: Device) -> None:
    """A bf16 counts as one number, and a float4 as four."""
    numbers = np.array([[1.5, -2.0, np.nan, 0.25], [np.inf, 3.0, 0.0, -8.0]], np.float32)
    patch = Patch()
    array = patch.add("io.array", data=numbers.reshape(-1))
    brains = patch.add("buffer.convert", dtype="bf16")
    vectors = patch.add("buffer.reinterpret", dtype="float4")
    copied = patch.add("buffer.copy")
    patch.connect(array["out"], brains["x"])
    patch.connect(array["out"], vectors["x"])
    patch.connect(vectors["out"], copied["x"])
    assert np.array_equal(to_bf16(numbers).astype(np.uint32) << 16, numbers.view(np.uint32)), "all are exact"
    told = profile_of(patch, device).buffers
    assert NAMED["float4"].components == 4
    assert {told[f"{node.id}.out"] for node in (array, brains, vectors, copied)} == {expected(numbers)}


@pytest.mark.parametrize("level", ProfilingLevel)
def test_only_deep_levels_tell_what_buffers_hold(device: Device, level: ProfilingLevel) -> None:
    """Statistics of buffers are made only at the deep levels."""
    patch = Patch()
    copied = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=np.arange(5.0))["out"], copied["x"])
    assert bool(profile_of(patch, device, level).buffers) is (level in DEEP)


def test_each_port_is_looked_at_before_its_memory_is_changed(device: Device) -> None:
    """Of several blocks that change one buffer in place, each has the statistics from right after it."""
    patch = Patch()
    first = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=np.arange(1000, dtype=np.float32))["out"], first["x"])
    ports = [first["out"]]
    for _ in range(4):
        bump = patch.add(small_blocks.Bump.id, amount=10.0)
        patch.connect(ports[-1], bump["x"])
        ports.append(bump["out"])
    told = profile_of(patch, device).buffers
    found = [(told[f"{port.node}.{port.port}"].minimum, told[f"{port.node}.{port.port}"].maximum) for port in ports]
    assert found == [(10.0 * k, 999.0 + 10 * k) for k in range(5)]


def test_views_of_views_have_the_statistics_of_what_they_show(device: Device) -> None:
    """In a chain of any length, each view has the statistics of its part of the original buffer."""
    patch = Patch()
    source = patch.add("buffer.constant", shape="6", value=3.0)
    port = source["out"]
    for number in range(1200):
        view = patch.add("buffer.reshape", shape="2, 3" if number % 2 else "6")
        patch.connect(port, view["x"])
        port = view["out"]
    told = profile_of(patch, device).buffers
    assert told[str(port)] == BufferStatistics(6, 3.0, 3.0, 0, 0)


def test_append_buffers_count_what_is_in_use(device: Device) -> None:
    """Statistics of an append buffer leave out the elements behind its count."""
    patch = Patch()
    emitter = patch.add("particles.emitter")
    chosen = patch.add("particles.select", low=0.0, capacity=100)
    patch.connect(emitter["particles"], chosen["particles"])
    with Engine(patch, device, profiling=ProfilingLevel.DEEP_SYNC) as engine:
        for _ in range(3):
            report = engine.step()
        told = engine.core.profiler.profile().buffers[f"{chosen.id}.selected"]
    assert told.numbers == 8 * report.counts[f"{chosen.id}.selected"]  # a particle is eight numbers


@pytest.mark.parametrize(
    ("broken", "source", "line"),
    [
        ('#include "nowhere.cuh"\n', Source.COMPILE, 1),
        ("\nint 3;\n", Source.COMPILE, 2),
        ('extern "C" __global__ void other() {}', Source.KERNEL_LOAD, None),
    ],
)
def test_times_are_measured_although_the_kernel_that_looks_into_buffers_is_broken(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: str, source: Source, line: int | None
) -> None:
    """If the kernel for statistics doesn't load, times are still measured, and a warning lasts until it is fixed."""
    path = tmp_path / "statistics.cu"
    path.write_text(broken)
    monkeypatch.setattr("warploom.engine.compiler.executable.survey.find_kernel", lambda name: tmp_path / name)
    patch = Patch()
    copied = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=np.arange(5.0))["out"], copied["x"])
    deep, plain = ProfilingLevel.DEEP_SYNC, ProfilingLevel.PER_KERNEL
    with Engine(patch, device, profiling=deep) as engine:
        (told,) = engine.step().diagnostics
        assert (told.severity, told.source, told.file, told.line) == (Severity.WARNING, source, str(path), line)
        assert told.message.startswith("the kernel that counts the elements of buffers must load, got: ")
        profile = engine.core.profiler.profile()
        assert {span.node for span in profile.spans if span.turns} >= {copied.id} and not profile.buffers
        assert engine.step().nodes[copied.id].time_ns
        engine.post(SetProfiling(plain))
        assert engine.step().diagnostics == ()
        engine.post(SetProfiling(deep))
        assert engine.step().diagnostics == (told,)
        path.write_text((KERNELS_FOLDER / "statistics.cu").read_text())
        engine.post(SetProfiling(plain))
        engine.post(SetProfiling(deep))
        assert engine.step().diagnostics == ()
        assert f"{copied.id}.out" in engine.core.profiler.profile().buffers


@pytest.mark.parametrize("last", [1, 2, 3, 4])
def test_the_last_turn_counts_also_where_it_enters_no_region(device: Device, last: int) -> None:
    """A port in an If has the statistics of the loop's last iteration, and none if that iteration skips the If."""
    patch = Patch()
    loop = patch.add("control.for", count=last)
    number = patch.add("buffer.convert", region=loop, dtype="f32")
    patch.connect(loop["index"], number["x"])
    less = patch.add("math.scale_offset", region=loop, offset=-1.0)
    patch.connect(number["out"], less["x"])
    choice = patch.add("control.if", region=loop)
    patch.connect(less["out"], choice["condition"])
    seen = patch.add("buffer.copy", region=choice)
    patch.connect(less["out"], seen["x"])
    told = profile_of(patch, device).buffers.get(f"{seen.id}.out")
    assert told == (None if last == 2 else expected(np.array([last - 2], np.float32)))


def test_a_graph_of_arrays_alone_is_measured(device: Device) -> None:
    """A graph of arrays alone, without operations, is measured without a diagnostic."""
    patch = Patch()
    array = patch.add("io.array", data=np.arange(3, dtype=np.float32))
    with Engine(patch, device=device, profiling=ProfilingLevel.DEEP_SYNC) as engine:
        for _ in range(3):
            assert not engine.step().diagnostics
        assert engine.read(array["out"]).tolist() == [0, 1, 2]
