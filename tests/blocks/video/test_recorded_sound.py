"""Save Video records sound beside the pictures: each sample once, and where it belongs."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import soundfile

from tests.blocks.video.films import decoded
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.protocol.messages import Reset, Seek, SetRunning
from warploom.engine.types import Array

RATE = 48000


def sound_of(path: Path) -> tuple[float, Array, int]:
    """Return when a film's sound begins, its samples, f32[channels, count], and their rate."""
    resampler = av.AudioResampler("fltp")
    with av.open(str(path)) as film:
        parts = list(film.decode(audio=0))
        rate = film.streams.audio[0].rate
    samples = np.concatenate([each.to_ndarray() for part in parts for each in resampler.resample(part)], axis=1)
    return parts[0].time or 0.0, samples, rate


def recording(folder: Path, file: str, channels: int = 1, **parameters: Any) -> tuple[Patch, Array, str]:
    """Return a patch that records noise from a file while `recording` is true, the noise, and the block's id."""
    noise = np.random.default_rng(channels).uniform(-0.5, 0.5, (2 * RATE, channels)).astype(np.float32)
    soundfile.write(folder / "noise.wav", noise, RATE, "FLOAT")
    patch = Patch()
    patch.path = folder / "patch.loom"
    image = patch.add("io.image_array", data=np.zeros((16, 16, 4), np.float32))
    player = patch.add("io.play_audio", file=folder / "noise.wav", channels=channels, size=1601)
    save = patch.add("io.save_video", file=folder / file, **parameters)
    patch.connect(image["out"], save["image"])
    patch.connect(player["out"], save["sound"])
    return patch, noise.T, save.id


@pytest.mark.parametrize(
    ("file", "channels", "near"),
    [("a.mkv", 3, 2e-5), ("a.avi", 1, 1e-4), ("a.mov", 2, 1e-6), ("a.mp4", 2, 0.5), ("a.webm", 5, 0.5)],
)
def test_each_sample_is_recorded_once(file: str, channels: int, near: float, tmp_path: Path) -> None:
    """From the frame that begins a recording to its last one, a film of each format has the sound of these frames."""
    patch, noise, save = recording(tmp_path, file, channels, quality="lossless" if file == "a.mkv" else "good")
    with Engine(patch, device="host") as engine:
        for frame in range(25):
            patch.set(save, recording=3 <= frame < 20)
            assert not engine.step().diagnostics
    begin_s, found, rate = sound_of(tmp_path / file)
    expected = noise[:, 3 * 800 : 20 * 800]
    assert rate == RATE and len(decoded(tmp_path / file)) == 17
    skipped = round(begin_s * RATE)
    found = found[:channels, max(0, -skipped) :][:, : expected.shape[1]]
    assert abs(skipped) <= 1100 and found.shape[1] >= expected.shape[1] - 1100
    if near < 0.1:
        np.testing.assert_allclose(found, expected, atol=near)
    else:  # at each place, the sound is like the recorded one, and unlike that a frame later
        same = np.corrcoef(found[0, 2000:10000], expected[0, 2000:10000])[0, 1]
        assert same > 0.4 and abs(np.corrcoef(found[0, 2000:10000], expected[0, 2800:10800])[0, 1]) < 0.2


@pytest.mark.parametrize(("timing", "step_s"), [("every frame", 0.025), ("real time", 0.025), ("every frame", 0.0125)])
def test_sound_is_as_long_as_the_pictures(timing: str, step_s: float, tmp_path: Path) -> None:
    """A film at another pace than the patch has its sound at this pace; in real time, the sound is as it is."""
    patch, _, _ = recording(tmp_path, "a.mov", rate=50, timing=timing, recording=True)
    clicks = np.zeros(2 * RATE, np.float32)
    places = np.arange(1, 9) * 0.1  # in the patch's time
    for place in places:
        clicks[round(place * RATE) : round(place * RATE) + 40] = 0.8
    soundfile.write(tmp_path / "noise.wav", clicks, RATE, "FLOAT")
    with Engine(patch, device="host", time_step_s=step_s) as engine:
        for _ in range(round(0.9 / step_s)):
            assert not engine.step().diagnostics
    _, found, _ = sound_of(tmp_path / "a.mov")
    speed = 1.0 if timing == "real time" else step_s / 0.02
    assert found.shape[1] / RATE == pytest.approx(0.9 / speed, abs=1 / RATE)
    for place in places:
        heard = np.flatnonzero(np.abs(found[0]) > 0.3) / RATE * speed
        assert np.abs(heard - place).min() < 0.001
    if speed == 1:
        np.testing.assert_allclose(found[0], clicks[: found.shape[1]], atol=1e-6)


def test_a_film_goes_on_while_its_timeline_turns(tmp_path: Path) -> None:
    """A looping timeline and a reset leave one film, until `recording` is false; so does Save Audio."""
    patch, noise, save = recording(tmp_path, "a.mov", recording=True)
    audio = patch.add("io.save_audio", file=tmp_path / "a.wav", depth="float", recording=True)
    patch.connect(patch["play_audio"]["out"], audio["x"])
    patch.set_timeline(rate=60, length=5, loop=True, every_frame=True)
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(Seek(0, exact=True))
        engine.start()
        until(lambda: engine.read(patch[save]["frames"]) > 12)
        engine.stop()
        engine.post(Reset())
        for _ in range(3):
            assert not engine.step().diagnostics
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mov", "a.wav", "noise.wav"]
    _, found, _ = sound_of(tmp_path / "a.mov")
    count = len(decoded(tmp_path / "a.mov"))
    assert count >= 15 and found.shape[1] == count * 800
    np.testing.assert_allclose(found[0, 800:4000], noise[0, :3200], atol=1e-6)  # after the frame by hand
    np.testing.assert_allclose(found[0, 4800:7200], noise[0, :2400], atol=1e-6)
    np.testing.assert_allclose(found[0, -2400:], noise[0, :2400], atol=1e-6)
    np.testing.assert_allclose(soundfile.read(tmp_path / "a.wav", dtype="float32")[0], found[0], atol=1e-6)


def test_frames_on_the_way_to_another_one_are_not_recorded(tmp_path: Path) -> None:
    """Going to a frame exactly runs those before it, which are not in the film, and neither are frames while paused."""
    patch, _, _ = recording(tmp_path, "a.mov", recording=True)
    delay = patch.add("buffer.frame_delay")  # with state, no frame can be gone to at once
    patch.connect(patch["image_array"]["out"], delay["x"])
    patch.set_timeline(rate=60, length=50)
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(SetRunning(False))
        engine.post(Seek(20, exact=True))
        ran = engine.core.launcher.launches
        while engine.core.frame(free_running=True).frame < 20:
            pass
        for light in range(3):
            patch.set("image_array", data=np.full((16, 16, 4), light, np.float32))
            engine.core.frame(free_running=True)
        assert engine.core.launcher.launches > ran + 20
        engine.step()
    assert len(decoded(tmp_path / "a.mov")) == 2
