"""Transforms, windows, spectrograms and convolution compared with numpy and scipy, on every device."""

from typing import Any

import numpy as np
import pytest
import scipy
from scipy import ndimage

from tests.blocks.running import apply, apply_each, problems
from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.spectrum.windowed import WINDOWS
from warploom.engine.device.device import Device
from warploom.engine.types import Array


@pytest.fixture(autouse=True)
def libraries(device: Device) -> None:
    """Skip tests on a GPU without its libraries."""
    if device.info.name != "host":
        pytest.importorskip("nvmath", reason="NVIDIA's libraries are not installed")


def complex_numbers(*shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


@pytest.mark.parametrize(("block", "oracle"), [("fft", np.fft.fftn), ("inverse_fft", np.fft.ifftn)])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_complex_transforms(device: Device, block: str, oracle: Any, norm: str) -> None:
    """Complex transforms over one or two of three axes equal numpy's."""
    x = complex_numbers(3, 7, 33)
    for axes in (1, 2):
        found = apply(f"signal.{block}", {"x": x}, device=device, axes=axes, norm=norm)
        expected = oracle(x.astype(complex), axes=(-2, -1)[-axes:], norm=norm)
        assert found.dtype == np.complex64
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("n", [32, 33])
def test_real_transforms_undo_each_other(device: Device, n: int) -> None:
    """The inverse transform of half a spectrum returns the signal, and f64 keeps its precision."""
    x = np.random.default_rng(n).standard_normal((5, n))
    half = apply("signal.real_fft", {"x": x}, device=device, axes=2)
    assert half.shape == (5, n // 2 + 1) and half.dtype == np.complex128
    np.testing.assert_allclose(half, np.fft.rfft2(x), atol=1e-12)
    back = apply("signal.inverse_real_fft", {"x": half}, device=device, axes=2, odd=n % 2 == 1)
    np.testing.assert_allclose(back, x, atol=1e-13)


def test_a_view_is_transformed_without_a_copy_and_options_recapture(device: Device) -> None:
    """A transposed matrix is transformed along its columns; another norm is a RECAPTURE, or COLD."""
    x = complex_numbers(6, 9)
    patch = Patch()
    turned, fft = patch.add("buffer.transpose"), patch.add("signal.fft")
    patch.connect(patch.add("io.array", data=x)["out"], turned["x"])
    patch.connect(turned["out"], fft["x"])
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        np.testing.assert_allclose(engine.read(fft["out"]), np.fft.fft(x.T), atol=1e-5)
        patch.set(fft, norm="ortho")
        # COLD if the library then runs other kernels.
        assert engine.step().update_level in (UpdateLevel.RECAPTURE, UpdateLevel.COLD)
        np.testing.assert_allclose(engine.read(fft["out"]), np.fft.fft(x.T, norm="ortho"), atol=1e-5)


def test_what_cant_be_transformed_is_refused_at_the_port() -> None:
    """Real numbers, too few axes, and strides that cuFFT lacks are refused at the input."""
    for data, parameters, words in (
        (np.ones(8, np.float32), {}, "elements must be c64 or c128, got f32"),
        (complex_numbers(8), {"axes": 2}, "must have 2 dimensions or more"),
    ):
        patch = Patch()
        fft = patch.add("signal.fft", **parameters)
        patch.connect(patch.add("io.array", data=data)["out"], fft["x"])
        ((node, port, text),) = problems(patch)
        assert (node, port) == (fft.id, "x") and words in text


@pytest.mark.parametrize("shape", [(7,), (8,), (3, 4, 5), (2, 3, 6, 5)])
def test_shifts_are_numpys(device: Device, shape: tuple[int, ...]) -> None:
    """A shift and its inverse equal numpy's for odd and even sizes, along one to three axes."""
    x = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)
    for axes in (1, 2, 3):
        last = tuple(range(-min(axes, len(shape)), 0))
        found = apply("signal.fft_shift", {"x": x}, device=device, axes=axes)
        np.testing.assert_array_equal(found, np.fft.fftshift(x, last))
        np.testing.assert_array_equal(apply("signal.fft_shift", {"x": found}, device=device, axes=axes, back=True), x)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_magnitudes(device: Device, dtype: Any) -> None:
    """Magnitude, power and decibels equal numpy's, for 0, NaN and infinity too."""
    x = (complex_numbers(257) * 10.0 ** np.linspace(-9, 9, 257)).astype(dtype)
    x[:3] = 0, np.nan, np.inf
    size = np.abs(x.astype(complex))
    np.testing.assert_allclose(apply("signal.magnitude", {"x": x}, device=device), size, rtol=1e-6)
    np.testing.assert_allclose(apply("signal.magnitude", {"x": x}, device=device, scale="power"), size**2, rtol=1e-6)
    found = apply("signal.magnitude", {"x": x}, device=device, scale="decibels", lowest=-100.0)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, np.maximum(20 * np.log10(size), -100), rtol=1e-6, atol=2e-5)


def test_magnitude_takes_complex_numbers_alone() -> None:
    """Magnitude refuses real numbers, with their type in the message."""
    patch = Patch()
    magnitude = patch.add("signal.magnitude")
    patch.connect(patch.add("io.array", data=np.ones(3, np.float32))["out"], magnitude["x"])
    ((node, port, text),) = problems(patch)
    assert (node, port) == (magnitude.id, "x") and text.startswith("elements must be complex numbers, got f32")


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_are_scipys(device: Device, window: str) -> None:
    """Windows equal scipy's periodic ones for odd and even sizes; with unit_mean, their mean is 1."""
    name = {"none": "boxcar", "flat top": "flattop", "blackman-harris": "blackmanharris"}.get(window, window)
    expected = [scipy.signal.get_window(name, n) for n in (1, 2, 3, 4, 5, 7, 1024)]
    rows = [("signal.window", {"x": np.ones((2, len(e)), np.float32)}, {"window": window}) for e in expected]
    means = [
        ("signal.window", {"x": np.ones(len(e), np.float32)}, {"window": window, "unit_mean": True}) for e in expected
    ]
    for e, found in zip(expected, apply_each(*rows, device=device), strict=True):
        np.testing.assert_allclose(found, [e, e], atol=1e-6)
    for e, found in zip(expected, apply_each(*means, device=device), strict=True):
        np.testing.assert_allclose(found, e / e.mean(), atol=5e-6)


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("start", [-70, 0, 13, 10**9])
def test_frames_overlap(device: Device, start: int, loop: bool) -> None:
    """Overlapping frames equal numpy's, with zeros beyond the signal, or with the signal repeated in a loop."""
    x = np.random.default_rng(1).standard_normal(101).astype(np.float32)
    given = {"count": 5, "size": 16, "hop": 7, "start": start, "loop": loop, "window": "hann"}
    places = start + 7 * np.arange(5)[:, None] + np.arange(16)
    cut = x[places % 101] if loop else np.where((places >= 0) & (places < 101), x[np.clip(places, 0, 100)], 0)
    found = apply("signal.frames", {"x": x}, device=device, **given)
    np.testing.assert_allclose(found, cut * scipy.signal.get_window("hann", 16), atol=1e-6)


def test_a_sine_stands_at_its_frequency(device: Device) -> None:
    """A sine of amplitude 1 peaks at its frequency, with -6 dB in a flat-top spectrum."""
    rate, frequency = 8000, 1003.0
    x = np.sin(2 * np.pi * frequency * np.arange(rate) / rate).astype(np.float32)
    patch = Patch()
    frames = patch.add("signal.frames", count=4, size=512, window="flat top", unit_mean=True)
    fft = patch.add("signal.real_fft", norm="forward")
    level = patch.add("signal.magnitude", scale="decibels")
    patch.connect(patch.add("io.array", data=x)["out"], frames["x"])
    patch.connect(frames["out"], fft["x"])
    patch.connect(fft["out"], level["x"])
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        found = engine.read(level["out"])
    assert found.shape == (4, 257)
    assert (np.abs(found.argmax(1) - frequency * 512 / rate) < 1).all()
    np.testing.assert_allclose(found.max(1), 20 * np.log10(0.5), atol=0.02)


def test_a_spectrogram_shows_low_frequencies_below(device: Device) -> None:
    """Low frequencies are in the low rows, and a row of several levels shows their mean, or the highest on octaves."""
    x = np.random.default_rng(2).standard_normal((6, 65)).astype(np.float32)
    found = apply("signal.spectrogram", {"x": x}, device=device, height=64, octaves=0.0)
    np.testing.assert_allclose(found, ((x[:, :-1] + x[:, 1:]) / 2).T[::-1], atol=1e-6)
    peak = np.full((2, 1025), -90, np.float32)
    peak[0, 512], peak[1, 4] = 0, 0
    found = apply("signal.spectrogram", {"x": peak}, device=device, height=300, octaves=10.0)
    rows = found.argmax(0)
    np.testing.assert_allclose(rows, [300 / 10 * 1, 300 / 10 * 8], atol=20)
    assert found[rows[0], 0] == 0, "the highest of several values is shown"


@pytest.mark.parametrize("size", [(1, 1), (5, 5), (4, 7), (31, 2)])
@pytest.mark.parametrize(("border", "mode"), [("nearest", "nearest"), ("black", "constant"), ("wrap", "wrap")])
def test_convolution_is_scipys(device: Device, size: tuple[int, int], border: str, mode: str) -> None:
    """Each colour is convolved with its own weights as by scipy, and alpha is unchanged."""
    rng = np.random.default_rng(3)
    image, weights = rng.random((29, 43, 4), np.float32), rng.random((*size, 4), np.float32)
    patch = Patch()
    convolve = patch.add("signal.convolve", border=border)
    patch.connect(patch.add("io.image_array", data=image)["out"], convolve["image"])
    patch.connect(patch.add("io.image_array", data=weights)["out"], convolve["weights"])
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        found = engine.read(convolve["out"])
        for channel in range(3):
            mine = weights[..., channel].astype(float)
            expected = ndimage.convolve(image[..., channel].astype(float), mine, mode=mode)
            np.testing.assert_allclose(found[..., channel], expected / mine.sum(), atol=2e-6)
        np.testing.assert_array_equal(found[..., 3], image[..., 3])
        patch.set(convolve, normalize=False)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_allclose(engine.read(convolve["out"])[..., 2], expected, atol=1e-4)


def test_weights_that_add_up_to_nothing_are_not_divided_by_their_sum(device: Device) -> None:
    """Weights whose sum is 0, as of an edge filter, are not divided by it."""
    image, weights = np.zeros((8, 9, 4), np.float32), np.zeros((1, 3, 4), np.float32)
    image[:, 4:], weights[0, 0], weights[0, 2] = 1, 1, -1
    patch = Patch()
    convolve = patch.add("signal.convolve")
    patch.connect(patch.add("io.image_array", data=image)["out"], convolve["image"])
    patch.connect(patch.add("io.image_array", data=weights)["out"], convolve["weights"])
    with Engine(patch, device=device) as engine:
        engine.step()
        found = engine.read(convolve["out"])[..., :3]
    np.testing.assert_allclose(found[:, 3:5], 1, atol=1e-6)
    np.testing.assert_allclose(np.delete(found, (3, 4), axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("shape", [(1,), (33,), (2, 3, 1023)])
def test_rates_change_as_in_scipy(device: Device, shape: tuple[int, ...]) -> None:
    """Resampled signals equal scipy's resample_poly along the last axis, for ratios that can be reduced too."""
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    for up, down in ((1, 1), (1, 2), (3, 2), (147, 160), (4, 6), (1000, 1)):
        found = apply("signal.resample", {"x": x}, device=device, up=up, down=down)
        expected = scipy.signal.resample_poly(x.astype(float), up, down, axis=-1)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("size", "hop", "window"), [(64, 16, "hann"), (65, 33, "hamming"), (32, 40, "none"), (2, 1, "none")]
)
def test_a_signal_comes_back_from_its_spectra(device: Device, size: int, hop: int, window: str) -> None:
    """The inverse STFT gives back the signal where windows reach, and equals scipy's on any spectra."""
    x = np.random.default_rng(3).standard_normal(19 * hop + size).astype(np.float32)
    spectra = complex_numbers(20, size // 2 + 1)
    patch = Patch()
    frames = patch.add("signal.frames", count=20, size=size, hop=hop, window=window, unit_mean=True)
    fft = patch.add("signal.real_fft", norm="ortho")
    how = {"hop": hop, "window": window, "odd": size % 2 == 1}
    back = patch.add("signal.inverse_stft", norm="ortho", unit_mean=True, **how)
    other = patch.add("signal.inverse_stft", **how)
    patch.connect(patch.add("io.array", data=x)["out"], frames["x"])
    patch.connect(frames["out"], fft["x"])
    patch.connect(fft["out"], back["x"])
    patch.connect(patch.add("io.array", data=spectra)["out"], other["x"])
    weights = scipy.signal.get_window({"none": "boxcar"}.get(window, window), size)
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        reached = np.zeros(len(x), bool)
        for start in range(0, 20 * hop, hop):
            reached[start : start + size] |= weights > 0.05
        found = engine.read(back["out"])
        assert found.shape == x.shape
        np.testing.assert_allclose(found[reached], x[reached], atol=1e-5)
        assert not found[~reached & (np.abs(found) < 1e-30)].any()
        if hop < size and weights[0] > 0:  # scipy warns of a 0
            spectra[:, 0] = spectra[:, 0].real  # scipy's inverse takes the rest as it is
            _, expected = scipy.signal.istft(
                spectra.T.astype(complex) / weights.sum(),
                window=weights,
                nperseg=size,
                noverlap=size - hop,
                nfft=size,
                boundary=False,
            )
            np.testing.assert_allclose(engine.read(other["out"])[reached], expected[reached], atol=1e-3)
