"""Checks of the examples with sounds and transforms against numpy and scipy, on any device."""

import numpy as np
import scipy
from scipy.io import wavfile

from tests.blocks.control_checks import EXAMPLES, example
from warploom import Engine
from warploom.engine.device.device import Device

SOUND = EXAMPLES.parent / "media" / "dawn.wav"


def check_spectrogram(device: Device | str) -> None:
    """Check that levels belong to the sound at its current position, with low frequencies at the bottom.

    The memory of the levels has been reused by the time they are read, so the engine computes them again.
    """
    patch = example("spectrogram", frames={"count": 40})
    rate, samples = wavfile.read(SOUND)
    sound = samples / 32768
    with Engine(patch, device) as engine:
        for frame in range(3):
            report = engine.step()
            assert not report.diagnostics
            start = round(frame / 60 * rate)
            assert abs(report.values["frames.start"] - start) <= 1
            places = (int(report.values["frames.start"]) + 90 * np.arange(40)[:, None] + np.arange(1536)) % len(sound)
            window = scipy.signal.get_window("hann", 1536)
            spectra = np.fft.rfft(sound[places] * window / window.mean(), norm="forward")
            expected = np.maximum(20 * np.log10(np.abs(spectra) + 1e-30), -120)
            levels = engine.read(patch["level"]["out"])
            loud = expected > -80  # f32 rounds quieter levels away
            assert loud.mean() > 0.2
            np.testing.assert_allclose(levels[loud], expected[loud], atol=0.05)
        picture = engine.read(patch["spectrogram"]["out"])
        assert picture.shape == (540, 40)
        top = np.abs(np.fft.rfftfreq(1536, 1 / rate)[levels.mean(axis=0).argmax()] / (rate / 2))
        row = picture.mean(axis=1).argmax()
        assert abs(row - 540 * -np.log2(top) / 6.3) < 5


def check_bokeh(device: Device | str) -> None:
    """Check that each light becomes a picture of the aperture, in the size that the LFO sets."""
    patch = example("bokeh", lights={"width": 203, "height": 131})
    with Engine(patch, device) as engine:
        for _ in range(3):
            assert not engine.step().diagnostics
        lights, aperture, found = (engine.read(patch[node]["out"]) for node in ("lights", "aperture", "convolve"))
    assert lights.shape == (131, 203, 4) and aperture.shape == (81, 81, 4)
    for channel in range(3):
        weights = aperture[..., channel].astype(float)
        around = np.pad(lights[..., channel].astype(float), 40, mode="edge")
        expected = scipy.signal.fftconvolve(around, weights / weights.sum(), mode="valid")
        np.testing.assert_allclose(found[..., channel], expected, atol=2e-6 * lights[..., channel].max())
    np.testing.assert_array_equal(found[..., 3], 1)


CHECKS = [check_spectrogram, check_bokeh]
