"""Bands, onsets and beats of sounds, against numpy and click tracks."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.blocks.running import apply
from tests.fuzzing import seeds
from warploom import Engine, Patch
from warploom.api import Moment
from warploom.blocks.music.beat import Beat
from warploom.blocks.music.heard import Heard
from warploom.blocks.music.onset import Onset
from warploom.engine.types import Array

RATE = 16000


def weights(size: int) -> Array:
    """Return the weights of the documented window."""
    top = size - size // 8
    ends = (np.arange(top) + 0.5) / top, (np.arange(size - top)[::-1] + 0.5) / (size - top)
    return 2 * np.sin(np.pi / 2 * np.concatenate(ends)) ** 2


def levels(x: Array, rate: int, count: int, low: float, high: float) -> Array:
    """Return the amplitudes of the bands of a window, computed in f64."""
    x = np.atleast_2d(x).mean(axis=0, dtype=np.float64)
    power = np.abs(np.fft.rfft(x * weights(len(x)), norm="forward")) ** 2
    edges = np.minimum(np.geomspace(low, high, count + 1) * len(x) / rate + 0.5, len(power))
    below = np.interp(edges, np.arange(len(power) + 1), np.concatenate(([0], np.cumsum(power))))
    return np.sqrt(np.diff(below) * 4 / 1.5)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("shape", [(1024,), (2, 777), (8, 100), (1, 33)])
def test_bands_are_those_of_numpy(shape: tuple[int, ...], seed: int) -> None:
    """Levels equal the power of numpy's spectrum between the edges, for any size and number of channels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(np.float32)
    count, low, high = int(rng.integers(1, 40)), float(rng.uniform(20, 400)), float(rng.uniform(500, 20_000))
    found = apply("sound.bands", {"x": x}, count=count, low=low, high=high, rate=RATE, decibels=0.0, fall=0.0)
    np.testing.assert_allclose(found, levels(x, RATE, count, low, high), atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("frequency", [60.0, 440.0, 5000.0])
def test_a_sine_is_in_its_band(frequency: float) -> None:
    """A sine of amplitude 0.1 has the level -20 dB in its band, and hardly any in far ones; silence has none."""
    x = (0.1 * np.sin(2 * np.pi * frequency * np.arange(4800) / 48000)).astype(np.float32)
    edges = np.geomspace(20, 20_000, 9)
    band = int(np.searchsorted(edges, frequency)) - 1
    found = apply("sound.bands", {"x": x}, count=8, low=20.0, high=20_000.0, decibels=0.0)
    assert found[band] == pytest.approx(0.1, rel=0.05)
    assert found[np.abs(np.arange(8) - band) > 1].max() < 0.003
    found = apply("sound.bands", {"x": x}, count=8, low=20.0, high=20_000.0, decibels=60.0)
    assert found[band] == pytest.approx(2 / 3, abs=0.01)
    assert not apply("sound.bands", {"x": np.zeros(480, np.float32)}).any()


def test_levels_fall_with_their_time_and_drive_values() -> None:
    """A level rises at once and falls as exp(-t / fall); the values are the means over low and high bands."""
    patch = Patch()
    x = patch.add("io.array", data=np.sin(np.arange(480) * 0.02, dtype=np.float32))
    bands = patch.add("sound.bands", count=6, decibels=0.0, fall=0.1)
    patch.connect(x["out"], bands["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        loud = engine.read(bands["out"])
        values = engine.step().values
        assert values[f"{bands.id}.level"] == pytest.approx(loud.mean())
        assert values[f"{bands.id}.bass"] > 10 * values[f"{bands.id}.treble"]
        patch.set(x, data=np.zeros(480, np.float32))
        for _ in range(6):
            engine.step()
        np.testing.assert_allclose(engine.read(bands["out"]), loud * np.exp(-0.1 / 0.1), rtol=1e-3)


def test_a_level_that_rises_for_a_minute_keeps_its_digits() -> None:
    """The first step towards a level is 1 - exp(-step / rise) of it, also if that is small."""
    x, step = np.sin(np.arange(480) * 0.02, dtype=np.float32), 1 / 60
    (at_once, slow) = (apply("sound.bands", {"x": x}, count=3, decibels=0.0, rise=rise) for rise in (0.0, 60.0))
    np.testing.assert_allclose(slow, at_once * -np.expm1(-step / 60.0), rtol=2e-6)


def test_numbers_that_are_none_pass_by() -> None:
    """NaN and infinity in a sound or in levels are silent, and leave nothing behind."""
    patch = Patch()
    x = patch.add("io.array", data=np.full(480, np.nan, np.float32))
    bands = patch.add("sound.bands", count=6, decibels=0.0)
    patch.connect(x["out"], bands["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(x, data=np.sin(np.arange(480) * 0.02, dtype=np.float32))
        assert not engine.step().diagnostics
        assert np.isfinite(engine.read(bands["out"])).all() and engine.read(bands["out"]).max() > 0.1
    wild = np.array([[0.0, 0.0], [np.inf, 1.0], [np.inf, np.nan], [np.nan, 0.0]])
    assert not heard(Onset("node", {}), wild, ("strength",)).any()


def heard(block: Heard, frames: Iterable[Array], outputs: tuple[str, ...], fps: float = 60) -> Array:
    """Return outputs over the frames. The levels of a frame arrive in the next one, as in an engine."""
    block.begin()
    now, found = Moment(), []
    for frame, x in enumerate(frames):
        now.frame, now.time_s, now.time_step_s = frame, frame / fps, 1 / fps
        block.receive()
        block.update(now)
        block.arrive("x", frame, x.astype(np.float32))
        found.append([float(getattr(block, name)) for name in outputs])
    return np.array(found)


def clicks(beats_a_minute: float, seconds: float, fps: float, seed: int = 0) -> tuple[Array, Array]:
    """Return the levels of two bands over frames that have clicks, and the times of these. Between clicks, levels die
    away in noise.
    """
    rng = np.random.default_rng(seed)
    times = np.arange(0.3, seconds, 60 / beats_a_minute)
    frames = np.arange(int(seconds * fps)) / fps
    since = np.min(np.where(frames[:, None] >= times, frames[:, None] - times, 9.0), axis=1)
    strength = np.exp(-since / 0.1)
    return np.stack([strength, 0.7 * strength], axis=1) + 0.02 * rng.random((len(frames), 2)), times


@pytest.mark.parametrize(
    ("tempo", "fps"), [(66.0, 60.0), (90.0, 60.0), (120.0, 60.0), (127.3, 60.0), (140.0, 30.0), (100.0, 144.0)]
)
def test_beats_of_a_click_track_are_found_within_a_frame(tempo: float, fps: float) -> None:
    """After five seconds, each click has one beat, at most a frame away, and the tempo is right to half a percent."""
    x, times = clicks(tempo, 14, fps)
    found = heard(Beat("node", {}), x, ("beat", "tempo", "phase", "beats"), fps)
    beats = np.flatnonzero(found[:, 0]) / fps
    late = times[(times > 5) & (times < 13.5)]
    nearest = np.abs(beats[:, None] - late).min(axis=0)
    assert nearest.max() <= max(1 / fps, 0.01) + 1e-9
    assert np.count_nonzero((beats > late[0] - 0.1) & (beats < late[-1] + 0.1)) == len(late)
    assert found[-1, 1] == pytest.approx(tempo, rel=0.005)
    assert found[:, 2].min() >= 0 and found[:, 2].max() < 1
    assert found[-1, 3] == len(beats)


def test_another_tempo_is_followed_and_silence_has_none() -> None:
    """When the music changes its tempo, the beats do; without any sound there is no beat."""
    x = np.concatenate([clicks(90, 12, 60)[0], clicks(130, 16, 60)[0]])
    found = heard(Beat("node", {}), x, ("tempo",))
    assert found[11 * 60, 0] == pytest.approx(90, rel=0.01) and found[-1, 0] == pytest.approx(130, rel=0.01)
    found = heard(Beat("node", {}), np.zeros((300, 4)), ("beat", "tempo", "clarity", "phase"))
    assert not found.any()


@pytest.mark.parametrize("seed", seeds(3))
def test_onsets_are_the_frames_that_rise(seed: int) -> None:
    """Each stroke at random times has one onset, in the frame after it, as levels come a frame late; noise has none."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum(rng.integers(12, 60, 20)) + 5
    since = np.arange(starts[-1] + 30)[:, None] - starts
    x = np.where(since >= 0, np.exp(-np.maximum(since, 0) / 5.0), 0).max(axis=1) + 0.01 * rng.random(len(since))
    found = heard(Onset("node", {}), x, ("onset", "onsets", "strength"))
    np.testing.assert_array_equal(np.flatnonzero(found[:, 0]), starts + 1)
    assert found[-1, 1] == 20
    assert not heard(Onset("node", {}), 0.01 * rng.random((300, 3)), ("onset",)).any()


def test_the_same_frames_give_the_same_beats() -> None:
    """After a reset, the same frames give the same beats again."""
    x, _ = clicks(120, 8, 60)
    once = heard(Beat("node", {}), x, ("beat", "phase"))
    block = Beat("node", {})
    np.testing.assert_array_equal(heard(block, x, ("beat", "phase")), once)
    np.testing.assert_array_equal(heard(block, x, ("beat", "phase")), once)


def test_a_saved_state_goes_on_with_the_same_beats(tmp_path: Path) -> None:
    """Frames after a saved state equal those of a run from 0: the sound, its levels, onsets and beats."""
    x = np.zeros(4 * RATE, np.float32)
    for start in range(RATE // 10, len(x) - 400, RATE // 2):
        x[start : start + 160] = 0.5 * np.sin(np.arange(160) * 0.4)
    soundfile.write(tmp_path / "a.wav", x, RATE, "FLOAT")
    patch = Patch()
    play = patch.add("io.play_audio", node_id="play", file=tmp_path / "a.wav", rate=RATE, size=1600)
    bands = patch.add("sound.bands", node_id="bands", rate=RATE)
    patch.connect(play["out"], bands["x"])
    for block in ("sound.onset", "sound.beat"):
        patch.connect(bands["out"], patch.add(block, node_id=block.rpartition(".")[2])["x"])
    with Engine(patch, device="host") as engine, Engine(patch, device="host") as other:
        for _ in range(100):
            engine.step()
        other.step()
        other.put_state(engine.read_state())
        for _ in range(100):
            assert other.step().values == engine.step().values
        np.testing.assert_array_equal(other.read(play["out"]), engine.read(play["out"]))
