"""Filters, oscillators, envelopes, echoes and pitch, of whole sounds and of live ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from scipy import signal

from tests.blocks.running import apply, apply_each, problems
from warploom import Engine, Patch
from warploom.blocks.synthesis.filter import KINDS
from warploom.blocks.synthesis.oscillator import WAVES
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Node
from warploom.engine.types import Array

RATE, WINDOW = 8000, 300  # 133 or 134 samples a frame


def cookbook(kind: str, frequency: float, q: float, gain: float, rate: float) -> tuple[Array, Array]:
    """Return the coefficients of the audio cookbook, of the samples and of the output."""
    cosine, alpha = np.cos(2 * np.pi * frequency / rate), np.sin(2 * np.pi * frequency / rate) / (2 * q)
    size = 10 ** (gain / 40)
    root, more, less = 2 * np.sqrt(size) * alpha, size + 1, size - 1
    under = [1 + alpha, -2 * cosine, 1 - alpha]
    b, a = {
        "low pass": ([(1 - cosine) / 2, 1 - cosine, (1 - cosine) / 2], under),
        "high pass": ([(1 + cosine) / 2, -1 - cosine, (1 + cosine) / 2], under),
        "band pass": ([alpha, 0, -alpha], under),
        "notch": ([1, -2 * cosine, 1], under),
        "all pass": ([1 - alpha, -2 * cosine, 1 + alpha], under),
        "peak": ([1 + alpha * size, -2 * cosine, 1 - alpha * size], [1 + alpha / size, -2 * cosine, 1 - alpha / size]),
        "low shelf": (
            [
                size * (more - less * cosine + root),
                2 * size * (less - more * cosine),
                size * (more - less * cosine - root),
            ],
            [more + less * cosine + root, -2 * (less + more * cosine), more + less * cosine - root],
        ),
        "high shelf": (
            [
                size * (more + less * cosine + root),
                -2 * size * (less + more * cosine),
                size * (more + less * cosine - root),
            ],
            [more - less * cosine + root, 2 * (less - more * cosine), more - less * cosine - root],
        ),
    }[kind]
    return np.array(b), np.array(a)


def noise(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def played(patch: Patch, node: Node, frames: int, device: Device | str = "host", edits: Any = None) -> list[Array]:
    """Return the samples that each frame adds to the window `out` of a node."""
    found = []
    with Engine(patch, device=device) as engine:
        for frame in range(frames):
            if edits is not None:
                edits(patch, frame)
            report = engine.step()
            assert not report.diagnostics, report.diagnostics
            window = engine.read(PortRef(node.id, "out"))
            added = round(frame * RATE / 60) - round((frame - 1) * RATE / 60)
            found.append(window[..., window.shape[-1] - added :].copy())
    return found


@pytest.fixture
def sound(tmp_path: Path) -> tuple[Patch, Node, Array]:
    """A patch in which a sound of two channels plays, the block that plays it, and the sound."""
    x = noise(2, RATE) * 0.1
    soundfile.write(tmp_path / "noise.wav", x.T, RATE, subtype="FLOAT")
    patch = Patch()
    play = patch.add("io.play_audio", file=str(tmp_path / "noise.wav"), channels=2, rate=RATE, size=WINDOW)
    return patch, play, x


def live(patch: Patch, play: Node, block: str, **parameters: Any) -> Node:
    node = patch.add(block, rate=RATE, **parameters)
    patch.connect(play["out"], node["x"])
    return node


@pytest.mark.parametrize("shape", [(1,), (31,), (1023,), (8, 33), (2, 3, 4097), (9000,)])
def test_filters_are_the_cookbooks(device: Device, shape: tuple[int, ...]) -> None:
    """Each kind of filter equals scipy's lfilter with the cookbook's coefficients, in every channel."""
    x = noise(*shape)
    settings = [(kind, f, q, g) for kind in KINDS for f, q, g in ((90.0, 0.7071, 6.0), (15000.0, 8.0, -20.0))]
    patch = Patch()
    source = patch.add("io.array", data=x)
    nodes = [patch.add("signal.filter", kind=k, frequency=f, resonance=q, gain=g) for k, f, q, g in settings]
    for node in nodes:
        patch.connect(source["out"], node["x"])
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        for node, (kind, *how) in zip(nodes, settings, strict=True):
            expected = signal.lfilter(*cookbook(kind, *how, 48000), x.astype(float))
            np.testing.assert_allclose(engine.read(node["out"]), expected, atol=2e-6 * np.abs(expected).max())


def test_a_filter_can_be_very_low(device: Device) -> None:
    """At 1 Hz a step rises as a filter in f64 lets it rise."""
    x = np.ones(100_000, np.float32)
    found = apply("signal.filter", {"x": x}, device=device, frequency=1.0, resonance=2.0)
    expected = signal.lfilter(*cookbook("low pass", 1.0, 2.0, 0, 48000), x.astype(float))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["low pass", "high shelf"])
def test_live_sound_is_filtered_without_a_seam(device: Device, sound: Any, kind: str) -> None:
    """The samples that frames add, one after another, are those of the whole sound filtered at once."""
    patch, play, x = sound
    node = live(patch, play, "signal.filter", live=True, kind=kind, frequency=200.0, resonance=5.0)
    found = np.concatenate(played(patch, node, 20, device), axis=-1)
    expected = signal.lfilter(*cookbook(kind, 200.0, 5.0, 6.0, RATE), x.astype(float))
    np.testing.assert_allclose(found, expected[:, : found.shape[-1]], atol=1e-6)


def test_the_older_samples_of_a_window_stay(sound: Any) -> None:
    """A window ends with the new samples, and begins with those of the windows before."""
    patch, play, _ = sound
    node = live(patch, play, "signal.filter", live=True)
    found = np.concatenate(played(patch, node, 6), axis=-1)
    with Engine(patch, device="host") as engine:
        for _ in range(6):
            engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), found[:, -WINDOW:])


def test_a_swept_filter_has_no_steps() -> None:
    """A frequency that jumps from frame to frame glides over the samples between, and a constant stays constant."""
    patch = Patch()
    tone = patch.add("signal.oscillator", rate=RATE, size=WINDOW, wave="sine", frequency=50.0)
    node = patch.add("signal.filter", rate=RATE, live=True, kind="band pass", frequency=50.0, resonance=2.0)
    patch.connect(tone["out"], node["x"])
    found = np.concatenate(played(patch, node, 30, edits=lambda p, f: p.set(node, frequency=50.0 * 1.2**f)))
    assert np.abs(np.diff(found, 2)).max() < 0.5 * (2 * np.pi * 50 / RATE) ** 2 * 3


def test_nan_does_not_stay_in_a_filter(tmp_path: Path) -> None:
    """A NaN in live sound spoils the samples after it in its frame, and no later frame."""
    x = noise(RATE) * 0.1
    x[400] = np.nan
    soundfile.write(tmp_path / "nan.wav", x, RATE, subtype="FLOAT")
    patch = Patch()
    play = patch.add("io.play_audio", file=str(tmp_path / "nan.wav"), rate=RATE, size=WINDOW)
    for block in ("signal.filter", "signal.echo"):
        node = live(patch, play, block, live=True)
        frames = played(patch, node, 8)
        assert np.isnan(frames[4]).any() or np.isnan(frames[3]).any()
        assert np.isfinite(frames[7]).all()
        patch.remove(node)


@pytest.mark.parametrize("wave", WAVES)
def test_a_tone_goes_on_without_a_jump(device: Device, wave: str) -> None:
    """Frames give one continuous wave: away from its corners it equals scipy's."""
    patch = Patch()
    node = patch.add("signal.oscillator", rate=RATE, size=WINDOW, wave=wave, frequency=123.4, level=0.8)
    found = np.concatenate(played(patch, node, 20, device))
    turns = 123.4 * np.arange(len(found)) / RATE
    angle = 2 * np.pi * turns
    expected, corners = {
        "sine": (np.sin(angle), ()),
        "saw": (signal.sawtooth(angle), (0,)),
        "square": (signal.square(angle), (0, 0.5)),
        "triangle": (signal.sawtooth(angle, 0.5), (0, 0.5)),
    }[wave]
    away = np.ones(len(found), bool)
    for corner in corners:
        away &= np.abs((turns - corner + 0.5) % 1 - 0.5) > 123.4 / RATE
    assert away.mean() > 0.9
    np.testing.assert_allclose(found[away], 0.8 * expected[away], atol=2e-5)


def test_a_frequency_glides() -> None:
    """While the frequency moves, the phase is its integral: a sine has no corner between frames."""
    patch = Patch()
    node = patch.add("signal.oscillator", rate=RATE, size=WINDOW, wave="sine", frequency=100.0, level=1.0)
    frequencies = [100.0, 300.0, 300.0, 50.0, 80.0]
    frames = played(patch, node, 5, edits=lambda p, f: p.set(node, frequency=frequencies[f]))
    steps = [
        before + (after - before) * (np.arange(len(frame)) + 0.5) / len(frame)
        for frame, before, after in zip(frames, [100.0, *frequencies], frequencies, strict=False)
    ]
    phase = np.cumsum(np.concatenate([[0.0], *steps]))[:-1] / RATE
    np.testing.assert_allclose(np.concatenate(frames), np.sin(2 * np.pi * phase), atol=1e-4)


def test_few_frequencies_are_mirrored() -> None:
    """Between the harmonics of waves of 2 kHz, their spectra stay below what the block's help says."""
    patch, rate, size = Patch(), 48000, 1 << 15
    waves = {"saw": (-54, -31), "square": (-54, -31), "triangle": (-86, -54)}
    how = {"rate": rate, "size": size, "frequency": 1999.0}
    nodes = [patch.add("signal.oscillator", wave=wave, **how) for wave in waves]
    with Engine(patch, device="host") as engine:
        for _ in range(size // 800 + 2):
            engine.step()
        for node, limits in zip(nodes, waves.values(), strict=True):
            spectrum = np.abs(np.fft.rfft(engine.read(node["out"]) * signal.windows.blackmanharris(size)))
            hertz = np.arange(len(spectrum)) * rate / size
            between = np.abs((hertz / 1999 + 0.5) % 1 - 0.5) * 1999 > 5 * rate / size
            for limit, below in zip(limits, (10_000, 24_000), strict=True):
                mirrored = spectrum[between & (hertz < below)].max()
                assert 20 * np.log10(mirrored / spectrum.max()) < limit


def test_an_envelope_rises_falls_and_fades(device: Device) -> None:
    """The loudness is the closed form of attack, decay, sustain and release, over the edges of frames."""
    patch = Patch()
    tone = patch.add("signal.oscillator", rate=RATE, size=WINDOW, wave="square", frequency=0.0, level=1.0)
    times = {"attack": 0.05, "decay": 0.1, "sustain": 0.5, "release": 0.04}
    node = patch.add("signal.adsr", rate=RATE, gate=True, **times)
    patch.connect(tone["out"], node["x"])
    held = 15
    found = np.concatenate(played(patch, node, 24, device, lambda p, f: p.set(node, gate=f < held)))
    t = np.arange(1, len(found) + 1) / RATE
    end = held / 60
    fall = np.log(100)
    notes = np.where(t < 0.05, t / 0.05, 0.5 + 0.5 * np.exp(-fall * (t - 0.05) / 0.1))
    at_end = 0.5 + 0.5 * np.exp(-fall * (end - 0.05) / 0.1)
    expected = np.where(t < end, notes, at_end * np.exp(-fall * np.maximum(t - end, 0) / 0.04))
    sign = np.sign(found[10])
    np.testing.assert_allclose(found * sign, expected, atol=0.005)


@pytest.mark.parametrize(("delay", "feedback", "mix"), [(0.0, 0.5, 0.5), (0.003, -0.7, 0.25), (0.1, 0.9, 1.0)])
def test_echoes_are_a_comb(device: Device, sound: Any, delay: float, feedback: float, mix: float) -> None:
    """An echo is a recursive filter with one delay, of whole sounds and of live ones without a seam."""
    patch, play, x = sound
    how = {"delay": delay, "feedback": feedback, "mix": mix, "longest": 0.2}
    samples = max(round(delay * RATE), 1)
    late, under = np.zeros(samples + 1), np.zeros(samples + 1)
    late[-1], under[0], under[-1] = 1, 1, -feedback
    expected = x * (1 - mix) + mix * signal.lfilter(late, under, x.astype(float))
    found = apply("signal.echo", {"x": x}, device=device, rate=RATE, **how)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    node = live(patch, play, "signal.echo", live=True, **how)
    found = np.concatenate(played(patch, node, 20, device), axis=-1)
    np.testing.assert_allclose(found, expected[:, : found.shape[-1]], atol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (31,), (2, 33), (2, 3, 1023)])
def test_weights_of_your_own(device: Device, shape: tuple[int, ...]) -> None:
    """A filter of given weights equals scipy's lfilter, for fewer and for more weights than samples."""
    x = noise(*shape)
    for taps in (1, 2, 5, 64):
        weights = noise(taps, seed=taps)
        found = apply("signal.fir", {"x": x, "weights": weights}, device=device)
        expected = signal.lfilter(weights.astype(float), 1, x.astype(float))
        np.testing.assert_allclose(found, expected, atol=2e-6 * max(taps, 8))


def test_pitches_are_found(device: Device) -> None:
    """The pitch of a sound with overtones is right within a cent and a half, also if the lowest tone is missing."""
    t = np.arange(4800) / 48000
    for frequency in (65.4, 110.0, 441.3, 1234.5, 1999.0):
        for overtones in ((1, 2, 3, 4), (1,), (2, 3, 4)):
            x = sum(np.sin(2 * np.pi * frequency * k * t + k) / k for k in overtones).astype(np.float32)
            found, sure = (
                apply("signal.pitch", {"x": x}, port=port, device=device, high=2100.0)
                for port in ("frequency", "confidence")
            )
            assert abs(1200 * np.log2(found[0] / frequency)) < 1.5
            assert sure[0] > 0.9


def test_what_has_no_pitch() -> None:
    """Silence has no pitch, noise an unclear one, and two channels that are opposite are silent together."""
    x = noise(2, 4800)
    x[1] = -x[0]
    case = [("signal.pitch", {"x": data}, {}) for data in (np.zeros(4800, np.float32), x[0], x)]
    silent, rough, opposite = apply_each(*case, port="confidence")
    assert silent[0] == opposite[0] == 0 and rough[0] < 0.3
    assert apply("signal.pitch", {"x": x}, port="frequency")[0] == 0


def test_a_window_that_is_too_short_for_a_pitch_is_refused() -> None:
    """A window without two waves of the lowest pitch is refused at the input, with the number that it needs."""
    patch = Patch()
    node = patch.add("signal.pitch", low=60.0)
    patch.connect(patch.add("io.array", data=noise(1000))["out"], node["x"])
    ((name, port, text),) = problems(patch)
    assert (name, port) == (node.id, "x") and "at least 1604 samples" in text
