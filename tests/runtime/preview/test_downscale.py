"""The contents of viewers' pictures: all pixels, or means of areas, of one frame."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.conftest import Kernels
from tests.runtime.preview.preview_support import (
    HEIGHT,
    PICTURE,
    WIDTH,
    LateDevice,
    area_means,
    gapped_patch,
    next_preview,
    picture_patch,
)
from tests.waiting import until
from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.api import Block, BlockBuilder, In, Kernel, f32, port, uchar4
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.preview.copies import fitted_size

STAMP = """struct Frame { unsigned index; float time, time_step; unsigned seed; };
extern "C" __global__ void stamp(const Frame* frame, uchar4* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char v = frame->index;
    if (i < n) out[i] = make_uchar4(v, v, v, v);
}
"""
SIDES = st.integers(1, 10_000)


def long_means(picture: np.ndarray, count: int) -> np.ndarray:
    """Return `area_means` of a picture with a single row or column of many pixels, by differences of running sums."""
    length = picture.shape[0] * picture.shape[1]
    values = picture.reshape(length, 4).astype(np.float64)
    values[:, :3] **= 2
    sums = np.concatenate([np.zeros((1, 4)), np.cumsum(values, axis=0)])
    edges = np.arange(count + 1) * length / count
    whole = np.minimum(edges.astype(np.int64), length - 1)
    means = np.diff(sums[whole] + (edges - whole)[:, None] * values[whole], axis=0) * count / length
    means[:, :3] = np.sqrt(np.maximum(means[:, :3], 0))
    return means.reshape((1, count, 4) if picture.shape[0] == 1 else (count, 1, 4))


@pytest.fixture
def device() -> Iterator[LateDevice]:
    """A device that delays its work on request."""
    device = LateDevice()
    yield device
    device.close()


@pytest.fixture(params=["late", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def own_memory(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Each device with memory of its own; the GPU is skipped, with the reason, where there is none."""
    try:
        opened: Device = LateDevice() if request.param == "late" else open_device(request.param)
    except DeviceError as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """One viewer of a picture of random bytes."""
    return picture_patch()


@pytest.mark.parametrize("place", [(31, 17), (30, 17), (16, 16), (10, 40), (31, 1), (1, 1), (7, 5)])
def test_a_picture_is_reduced_to_the_means_of_its_areas(
    patch: Patch, own_memory: Device, place: tuple[int, int]
) -> None:
    """A reduced picture has the means of areas in f64, at sizes that divide the picture's and at others."""
    with Engine(patch, own_memory) as engine:
        engine.post(ObservePorts({"show": picture_of("show", place[::-1] if place else ())}))
        engine.step()
        preview = engine.take_sample("show")
    assert preview is not None
    width, height = fitted_size((WIDTH, HEIGHT), place)
    assert preview.data.shape == (height, width, 4)
    assert preview.shape == (HEIGHT, WIDTH)
    assert np.abs(preview.data - area_means(PICTURE, width, height)).max() <= 0.5 + 1e-3


def test_an_even_area_keeps_its_value(patch: Patch, own_memory: Device) -> None:
    """A reduced area of one value keeps that value, for each of 256 values and a ratio that is no integer."""
    columns = np.repeat(np.arange(256), 5)
    patch.set("image", data=np.broadcast_to(columns[None, :, None], (9, 1280, 4)).astype(np.float32))
    with Engine(patch, own_memory) as engine:
        engine.post(ObservePorts({"show": picture_of("show", (1000, 256))}))
        engine.step()
        preview = engine.take_sample("show")
    assert preview is not None
    assert (preview.data == np.arange(256)[None, :, None]).all()


@pytest.mark.parametrize(("width", "height"), [(1_000_003, 1), (1, 700_001)])
def test_a_very_long_picture_is_made_small(patch: Patch, own_memory: Device, width: int, height: int) -> None:
    """A picture is reduced even if products of sizes exceed 32 bits and it has more rows than a grid may have."""
    values = (np.arange(width * height) // 4096 % 256).astype(np.float32)
    picture = np.repeat(values.reshape(height, width, 1), 4, axis=2)
    patch.set("image", data=picture)
    with Engine(patch, own_memory) as engine:
        for place in ((5000, 5000), (1, 600_000)):
            engine.post(ObservePorts({"show": picture_of("show", place[::-1] if place else ())}))
            engine.step()
            preview = engine.take_sample("show")
            assert preview is not None
            shown = fitted_size((width, height), place)
            assert preview.data.shape == (shown[1], shown[0], 4)
            assert np.abs(preview.data - long_means(picture, max(shown))).max() <= 0.5 + 0.05


def test_a_picture_is_offered_before_the_next_frame(patch: Patch, device: LateDevice) -> None:
    """A picture that arrives after its frame is offered while the engine waits for the next one, a minute away."""
    with Engine(patch, device) as engine:
        engine.post(ObservePorts({"show": picture_of("show")}))
        engine.step()
        engine.take_sample("show")
        device.is_late = True
        engine.post(ObservePorts({"show": picture_of("show", (5, 7))}))
        engine.start(rate=1 / 60)
        until(lambda: engine.core.samples.is_flying)
        assert engine.take_sample("show") is None
        device.is_late = False
        until(lambda: engine.take_sample("show"))


@pytest.mark.parametrize("place", [None, (512, 256), (500, 999)])
def test_a_picture_is_of_one_frame(
    own_memory: Device, kernels: Kernels, tmp_path: Path, place: tuple[int, int] | None
) -> None:
    """However fast frames are, every pixel of frame n is n: no later frame overwrites the picture."""
    source = tmp_path / "stamp.cu"
    source.write_text(STAMP)

    class Stamp(Block, id="test_run.stamp"):
        """Shows the frame's number."""

        x: In[f32] = port(doc="Not used.", optional=True, advised=False)

        def describe(self, build: BlockBuilder) -> None:
            pixels = build.buffer("pixels", uchar4, "[1024, 2048]")
            count = 1024 * 2048
            build.launch(Kernel(str(source), "stamp"), num_threads=count, args=(build.frame, pixels, count))
            build.show(pixels)

    patch = Patch()
    patch.add("test_run.stamp", node_id="show")
    with Engine(patch, own_memory, profiling=ProfilingLevel.NONE) as engine:
        engine.start(rate=None)
        engine.post(ObservePorts({"show": picture_of("show", place[::-1] if place else ())}))
        frames = set()
        for _ in range(8 if isinstance(own_memory, LateDevice) else 100):
            preview = next_preview(engine)
            assert (preview.data == preview.frame % 256).all()
            frames.add(preview.frame)
        assert len(frames) > 4


def test_without_a_place_every_pixel_comes(patch: Patch, device: LateDevice) -> None:
    """Without a view's size, or with a larger one than the picture's, every pixel comes."""
    with Engine(patch, device) as engine:
        for place in (None, (4000, 4000)):
            engine.post(ObservePorts({"show": picture_of("show", place[::-1] if place else ())}))
            engine.step()
            preview = engine.take_sample("show")
            assert preview is not None
            np.testing.assert_array_equal(preview.data, PICTURE.astype(np.uint8))


def test_the_pixel_that_is_asked_for_comes_with_a_reduced_picture(patch: Patch, device: LateDevice) -> None:
    """The pixel has its value in the whole picture; a position outside the picture has none."""
    with Engine(patch, device) as engine:
        for x, y in ((0, 0), (30, 16), (13, 5)):
            engine.post(ObservePorts({"show": picture_of("show", (8, 8), probe=(y, x))}))
            engine.step()
            preview = engine.take_sample("show")
            assert preview is not None
            assert preview.sampling.probe == (y, x) and preview.probed.tolist() == PICTURE[y, x].tolist()
        engine.post(ObservePorts({"show": picture_of("show", (8, 8), probe=(0, 31))}))
        engine.step()
        preview = engine.take_sample("show")
        assert preview is not None
        assert preview.probed is None


@pytest.mark.parametrize("place", [None, (9, 9)])
@pytest.mark.parametrize("view", ["transpose", "slice"])
def test_a_view_with_gaps_is_shown(device: LateDevice, view: str, place: tuple[int, int] | None) -> None:
    """A transposed picture, and every second row of one, are shown even if the memory is the host's."""
    picture, patch = PICTURE.astype(np.uint8), gapped_patch(view)
    expected = picture[::2] if view == "slice" else picture.transpose(1, 0, 2)
    for opened in (device, "host"):
        with Engine(patch, opened) as engine:
            engine.post(ObservePorts({"show": picture_of("show", place[::-1] if place else (), probe=(3, 1))}))
            engine.step()
            preview = engine.take_sample("show")
        assert preview is not None
        height, width = expected.shape[:2]
        assert preview.shape == (height, width)
        if place is None or opened == "host":
            np.testing.assert_array_equal(preview.data, expected)
        else:
            width, height = fitted_size((width, height), place)
            assert np.abs(preview.data - area_means(expected, width, height)).max() <= 0.5 + 1e-3
            assert preview.probed.tolist() == expected[3, 1].tolist()


def test_the_host_copies_whole_pictures(patch: Patch) -> None:
    """The host copies whole pictures instead of reducing them, since it transfers nothing."""
    with Engine(patch, "host") as engine:
        engine.post(ObservePorts({"show": picture_of("show", (8, 8), probe=(1, 1))}))
        engine.step()
        preview = engine.take_sample("show")
    assert preview is not None
    assert preview.data.shape == (HEIGHT, WIDTH, 4)
    assert preview.probed is None


@given(st.tuples(SIDES, SIDES), st.tuples(SIDES, SIDES))
@settings(max_examples=many(200), deadline=None)
def test_a_fitted_size_fits_and_keeps_proportions(whole: tuple[int, int], place: tuple[int, int]) -> None:
    """A fitted size is the largest within a pixel that fits the view, and never exceeds the picture."""
    width, height = fitted_size(whole, place)
    assert 1 <= width <= min(whole[0], place[0])
    assert 1 <= height <= min(whole[1], place[1])
    scale = min(place[0] / whole[0], place[1] / whole[1], 1)
    assert abs(width - max(1, whole[0] * scale)) <= 0.5
    assert abs(height - max(1, whole[1] * scale)) <= 0.5
