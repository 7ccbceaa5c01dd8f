"""A sample of a port shows what a read of the port returns, whatever the element type, and in another process too."""

import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.protocol.engine_process import COMMAND
from tests.runtime.preview.preview_support import LateDevice
from tests.waiting import until
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, Out, port
from warploom.engine.device.device import Device
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import FrameReport, Reset
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.sampling import ObservePorts, Reduction, Sample, Sampling, Statistics, picture_of
from warploom.engine.runtime.preview.reducing import make_sample
from warploom.engine.types import NAMED, Array, DType, Struct, bf16, f32, float3, float4, from_bf16, u8, u32, uchar4

PICK, MEAN, EXTREMES, _ = Reduction
NUMBERS = np.arange(1001, dtype=np.float32).reshape(11, 91)


class Body(Struct):
    """A struct with a vector."""

    mass: f32
    at: float3


def random_elements(dtype: DType, shape: tuple[int, ...], seed: int = 1) -> Array:
    """Return elements of any type with a few that are NaN or infinite."""
    size = math.prod(shape) * dtype.size_bytes
    data = np.random.default_rng(seed).integers(0, 256, size).astype(np.uint8)
    if dtype.numpy.base.kind == "b":
        data &= 1
    return np.ndarray(shape + dtype.numpy.shape, dtype.numpy.base, data)


def as_seen(dtype: DType, array: Array) -> Array:
    return from_bf16(array) if (dtype.of or dtype) is bf16 else array


def parts_of(array: Array) -> Array:
    """Return complex numbers as pairs."""
    return np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array


def sampled(dtype: DType, array: Array, shape: tuple[int, ...], **wanted: Any) -> Sample:
    return make_sample("it", Sampling(PortRef("a", "out"), **wanted), 3, dtype, shape, array)


@pytest.mark.parametrize("dtype", NAMED.values(), ids=str)
def test_every_element_type_is_reduced_as_numpy_does(dtype: DType) -> None:
    """Cells, their means and extremes, a part and an element equal those of numpy, for odd sizes."""
    shape = (7, 5)
    array = random_elements(dtype, shape)
    seen = as_seen(dtype, array)
    part, size = ((1, 7), (0, 5)), (4, 3)
    rows, columns = [1, 2, 4, 5, 7], [0, 1, 3, 5]  # where cells begin, and the end
    picked = sampled(dtype, array, shape, part=part, size=size, probe=(6, 4))
    np.testing.assert_array_equal(picked.data, seen[np.ix_(rows[:-1], columns[:-1])])
    np.testing.assert_array_equal(picked.probed, seen[6, 4])
    whole = sampled(dtype, array, shape, size=(9, 9), reduction=MEAN)
    np.testing.assert_array_equal(whole.data, parts_of(seen))
    cells = [[parts_of(seen)[r:s, c:d] for c, d in pairwise(columns)] for r, s in pairwise(rows)]
    with np.errstate(all="ignore"):
        means = np.array([[cell.astype(np.float64).mean((0, 1)) for cell in row] for row in cells])
        lows, highs = (
            np.array([[take(cell, (0, 1)) for cell in row] for row in cells]) for take in (_least, _greatest)
        )
        found = sampled(dtype, array, shape, part=part, size=size, reduction=MEAN).data
        ends = sampled(dtype, array, shape, part=part, size=size, reduction=EXTREMES).data
    assert found is not None
    if dtype.numpy.base == np.uint8:
        np.testing.assert_array_equal(found, np.floor(means + 0.5))
    else:
        np.testing.assert_allclose(found, means.astype(found.dtype), rtol=1e-6 if found.itemsize < 8 else 1e-12)
    np.testing.assert_array_equal(ends, [lows, highs])


def _least(cell: Array, axes: tuple[int, int]) -> Array:
    return np.fmin.reduce(cell, axes)


def _greatest(cell: Array, axes: tuple[int, int]) -> Array:
    return np.fmax.reduce(cell, axes)


def test_statistics_are_of_finite_numbers_and_count_the_others() -> None:
    """The least, greatest and mean leave out NaN and infinity, which are counted; bins are numpy's."""
    array = np.random.default_rng(2).normal(size=(300, 2)).astype(np.float32)
    array[5, 0] = array[6, 0] = np.nan
    array[7, 1] = -np.inf
    found = sampled(NAMED["float2"], array, (300,), bins=16).statistics
    assert isinstance(found, Statistics)
    finite = [array[np.isfinite(array[:, c]), c].astype(np.float64) for c in (0, 1)]
    assert (found.nan, found.infinite, found.count) == ((2, 0), (0, 1), 300)
    np.testing.assert_allclose(found.mean, [c.mean() for c in finite])
    assert found.least == tuple(c.min() for c in finite) and found.greatest == tuple(c.max() for c in finite)
    for counts, column in zip(found.bins, finite, strict=True):
        assert sum(counts) == column.size
        np.testing.assert_allclose(counts, np.histogram(column, 16, found.range)[0], atol=1)
    nothing = sampled(NAMED["f32"], np.full(3, np.nan, np.float32), (3,), bins=4).statistics
    assert nothing is not None
    assert nothing.range == (0, 0) and nothing.bins == ((0, 0, 0, 0),) and math.isnan(nothing.mean[0])


def test_a_struct_is_shown_by_fields() -> None:
    """A field can be chosen, whole structs can be picked but have no mean, and an unknown field is refused."""
    array = random_elements(Body, (9,))
    np.testing.assert_array_equal(sampled(Body, array, (9,), part=((2, 5),)).data, array[2:5])
    found = sampled(Body, array, (9,), field="at", size=(3,))
    np.testing.assert_array_equal(found.data, array["at"][::3])
    assert found.dtype == "float3"
    with pytest.raises(WarploomError, match="mass, at"):
        sampled(Body, array, (9,), reduction=MEAN, size=(2,))
    with pytest.raises(WarploomError, match="mass, at"):
        sampled(Body, array, (9,), field="speed")


def chain() -> Patch:
    """A chain of blocks that are fused, one that shares memory, a region that is skipped, and a value."""
    patch = Patch()
    numbers = patch.add("io.array", node_id="numbers", data=NUMBERS)
    last = numbers
    for number in range(4):
        add = patch.add("math.add", node_id=f"add{number}")
        patch.connect(last["out"], add["x"])
        patch.connect(numbers["out"], add["y"])
        last = add
    scan = patch.add("buffer.transpose", node_id="scan")
    patch.connect(last["out"], scan["x"])
    total = patch.add("reduce.sum", node_id="total")
    patch.connect(last["out"], total["x"])
    zero = patch.add("io.array", node_id="zero", data=np.zeros(1, np.float32))
    region = patch.add("control.if", node_id="if")
    patch.connect(zero["out"], region["condition"])
    inside = patch.add("math.add", node_id="inside", region=region)
    patch.connect(last["out"], inside["x"])
    patch.connect(numbers["out"], inside["y"])
    patch.add("value.slider", node_id="number", setting=0.5)
    return patch


def all_outputs(report: FrameReport) -> list[PortRef]:
    return [PortRef(*name.rsplit(".", 1)) for name in report.buffers]


def watch(client: Client, ports: list[PortRef], **wanted: Any) -> None:
    client.post(ObservePorts({str(port): Sampling(port, **wanted) for port in ports}))


def check_samples(client: Client, ports: list[PortRef]) -> None:
    for each in ports:
        sample = client.take_sample(str(each))
        assert sample is not None and not sample.missing, each
        np.testing.assert_array_equal(sample.data, client.read(each), str(each))


@pytest.mark.parametrize("where", ["here", "second stream", "other process"])
def test_a_sample_is_what_a_read_returns(device: Device, where: str) -> None:
    """Fused, shared, skipped and value ports are sampled, after frames by hand; nothing is rebuilt for them."""
    patch = chain()
    makers: dict[str, Callable[[], Client]] = {
        "here": lambda: Engine(patch, device=device),
        "second stream": lambda: Engine(patch, device=LateDevice()),
        "other process": lambda: connect(patch, COMMAND, "host"),
    }
    with makers[where]() as client:
        ports = [*all_outputs(client.step()), PortRef("number", "value")]
        assert len(ports) > 8
        watch(client, ports)
        for frame in range(1 if where == "other process" else 3):
            report = client.step()
            assert not report.updates and not report.diagnostics
            check_samples(client, ports)
            patch.set("number", setting=frame / 4)
        watch(client, [])
        client.step()
        assert client.take_sample(str(ports[0])) is None


def test_a_frame_by_hand_has_samples_of_its_own() -> None:
    """A sample that is under way when a frame by hand begins is not taken for that frame's."""
    device = LateDevice()
    with Engine(chain(), device=device) as engine:
        ports = all_outputs(engine.step())
        watch(engine, ports)
        engine.step()
        for port in ports:
            engine.take_sample(str(port))
        engine.core.samples.clock_ns = lambda: 1 << 62  # all samples are due
        device.is_late = True
        engine.post(Reset())  # or else the next launch would repeat the last one
        engine.core.frame(free_running=True)
        assert engine.core.samples.is_flying
        device.is_late = False
        report = engine.step()
        samples = [engine.take_sample(str(port)) for port in ports]
        assert [sample.frame for sample in samples if sample is not None] == [report.frame] * len(ports)
    device.close()


def test_a_port_without_contents_says_so(device: Device) -> None:
    """A port that is not in the graph gives a sample that says so; once it is in the graph, its contents."""
    patch = chain()
    with Engine(patch, device=device) as engine:
        lone = patch.add("math.add", node_id="lone")
        watch(engine, [PortRef("lone", "out")], rate=200.0)
        engine.start(rate=200)
        found: list[Sample] = []

        def take() -> bool:
            found.extend(filter(None, [engine.take_sample("lone.out")]))
            return bool(found)

        until(take)
        assert found[0].data is None and "not part of the running graph" in found[0].missing
        for name in "xy":
            patch.connect(PortRef("numbers", "out"), lone[name])
        until(lambda: take() and found[-1].data is not None)
        np.testing.assert_array_equal(found[-1].data, 2 * NUMBERS)


def test_a_paused_engine_answers_once_a_port_is_looked_at(device: Device) -> None:
    """No launch is needed for a sample, and nothing is sent while nothing changes."""
    patch = chain()
    with Engine(patch, device=device) as engine:
        engine.step()
        launches = engine.step().launches
        engine.core.player.running = False
        engine.start(rate=500)
        for name in ("scan", "add1"):
            watch(engine, [PortRef(name, "out")], part=((3, 10),))
            until(lambda name=name: engine.take_sample(f"{name}.out") is not None)  # type: ignore[misc]
        time.sleep(0.03)
        assert engine.take_sample("add1.out") is None
        assert engine.core.launcher.launches == launches


def test_no_frame_takes_longer_for_a_sample_in_place(device: Device) -> None:
    """While frames differ, contents that a frame doesn't keep are missing; a paused patch shows them."""
    patch = Patch()
    numbers = patch.add("io.array", node_id="numbers", data=np.ones(1000, np.float32))
    add = patch.add("math.add", node_id="add")
    patch.connect(numbers["out"], add["x"])
    patch.connect(numbers["out"], add["y"])
    total = patch.add("reduce.sum", node_id="total")
    patch.connect(add["out"], total["x"])
    port = PortRef("add", "out")
    with Engine(patch, device=device) as engine:
        engine.step()
        compiled = engine.core.updates.compiled
        assert compiled is not None and compiled.plan.overwritten(port)
        compiled.is_still = False  # as with state, or the time of the frame
        watch(engine, [port], in_place=True)
        engine.step()
        sample = engine.take_sample("add.out")
        assert sample is not None and sample.data is None and "not kept" in sample.missing
        watch(engine, [port])
        engine.step()
        sample = engine.take_sample("add.out")
        assert sample is not None and sample.data is not None and (sample.data == 2).all()


class LargeOutput(Block, id="test_samples.large"):
    """Outputs rows that count up."""

    out: Out[u32] = port(shape="[20001, 3]", doc="Rows.")

    def describe(self, build: BlockBuilder) -> None:
        build.provide(self.out, np.arange(60003, dtype=np.uint32).reshape(-1, 3))


@pytest.mark.parametrize("late", [False, True])
def test_a_thumbnail_reads_a_row_of_each_cell(late: bool) -> None:
    """Of a picture in place, only as many rows are copied as the thumbnail has."""
    patch = Patch()
    picture = np.random.default_rng(5).random((101, 40), np.float32)
    patch.add("io.array", node_id="picture", data=picture)
    device = LateDevice() if late else HostDevice()
    with Engine(patch, device=device) as engine:
        engine.step()
        watch(engine, [PortRef("picture", "out")], size=(10, 8), reduction=MEAN, in_place=True)
        engine.step()
        sample = engine.take_sample("picture.out")
        assert sample is not None and (sample.shape, sample.part) == ((101, 40), ((0, 101), (0, 40)))
        rows = picture[np.arange(10) * 101 // 10]
        np.testing.assert_allclose(sample.data, rows.reshape(10, 8, 5).mean(2), rtol=1e-6)
        if isinstance(device, LateDevice):
            # If the kernel that takes means is loaded already, only these are transferred.
            has_rows = device.log.count("copy 160") == 10 and "copy 1600" in device.log
            assert has_rows or ("copy 320" in device.log and "copy 160" not in device.log)
    device.close()


class Pictures(Block, id="test_samples.pictures"):
    """Outputs pictures of several types of pixels, of odd sizes."""

    floats: Out[f32] = port(shape="[37, 53]", doc="Numbers.")
    colours: Out[float4] = port(shape="[37, 53]", doc="Colours.")
    bytes: Out[u8] = port(shape="[37, 53]", doc="Small numbers.")
    pixels: Out[uchar4] = port(shape="[37, 53]", doc="Pixels.")

    def describe(self, build: BlockBuilder) -> None:
        random = np.random.default_rng(6)
        for output, parts in ((self.floats, ()), (self.colours, (4,)), (self.bytes, ()), (self.pixels, (4,))):
            of_bytes = output in (self.bytes, self.pixels)
            numbers = random.integers(0, 256, (37, 53, *parts)) if of_bytes else random.normal(size=(37, 53, *parts))
            build.provide(output, numbers.astype(np.uint8 if of_bytes else np.float32))


def test_a_gpu_reduces_thumbnails_before_it_transfers_them() -> None:
    """A device with its own memory sends only the cells, which are those that the host takes."""
    patch = Patch()
    patch.add("test_samples.pictures", node_id="all")
    ports = [PortRef("all", name) for name in ("floats", "colours", "bytes", "pixels")]

    def cells(device: HostDevice) -> list[Array]:
        with Engine(patch, device=device) as engine:
            engine.step()
            watch(engine, ports, size=(7, 11), reduction=MEAN, in_place=True)
            if isinstance(device, LateDevice):
                engine.core.samples.downscaler.load(wait=True)
            engine.step()
            found = [engine.take_sample(str(port)) for port in ports]
        device.close()
        assert all(sample is not None and sample.shape == (37, 53) for sample in found)
        return [sample.data for sample in found if sample is not None and sample.data is not None]

    late = LateDevice()
    for mine, its in zip(cells(HostDevice()), cells(late), strict=True):
        assert (mine.dtype, mine.shape) == (its.dtype, its.shape)
        np.testing.assert_allclose(its, mine, rtol=1e-6)
    assert {f"copy {77 * size}" for size in (4, 16, 1)} <= set(late.log)
    assert not any(f"copy {53 * size}" in late.log for size in (4, 16, 1))


def test_rows_of_a_large_table_are_copied_alone(device: Device) -> None:
    """A page of a table needs only its rows, and a probed element elsewhere."""
    patch = Patch()
    patch.add("test_samples.large", node_id="rows")
    late = LateDevice()
    with Engine(patch, device=late) as engine:
        engine.step()
        late.log.clear()
        watch(engine, [PortRef("rows", "out")], part=((19990, 20010),), probe=(19980, 1))
        engine.step()
        sample = engine.take_sample("rows.out")
        assert sample is not None and sample.data is not None and sample.probed is not None
        assert (sample.part, sample.shape) == (((19990, 20001), (0, 3)), (20001, 3))
        assert sample.data[:, 0].tolist() == list(range(3 * 19990, 60003, 3))
        assert int(sample.probed) == 3 * 19980 + 1
        assert f"copy {4 * 3 * 21}" in late.log


def test_a_name_is_sampled_again_after_it_was_that_of_a_picture(device: Device) -> None:
    """A picture that nobody has taken does not keep the name's next samples, of a port or another picture, away."""
    patch = Patch()
    image = patch.add("io.image_array", node_id="image", data=np.ones((4, 6, 4), np.float32))
    patch.connect(image["out"], patch.add("io.viewer", node_id="show")["image"])
    with Engine(patch, device=device) as engine:
        for _ in range(3):
            engine.post(ObservePorts({"name": picture_of("show")}))
            engine.step()
            engine.post(ObservePorts({"name": Sampling(PortRef("image", "out"))}))
            engine.step()
            sample = engine.take_sample("name")
            assert sample is not None and sample.sampling.port == PortRef("image", "out") and sample.data is not None
