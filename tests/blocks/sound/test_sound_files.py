"""Sound files, read piece by piece and written while they are recorded, against soundfile."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.fuzzing import many, seeds
from warploom.blocks.sound import sound_reader
from warploom.blocks.sound.resampling import Stretch, interpolate, reach
from warploom.blocks.sound.sound_reader import SoundReader, in_channels
from warploom.blocks.sound.sound_writer import SoundWriter
from warploom.engine.diagnostics import PatchError
from warploom.engine.types import Array

RATE = 8000


def noise(count: int, channels: int, seed: int = 0) -> Array:
    """Return a sound of many frequencies that no encoder clips."""
    x = np.random.default_rng(seed).normal(size=(count, channels))
    return (0.1 * x).clip(-0.9, 0.9).astype(np.float32)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short files have many pieces."""
    monkeypatch.setattr(sound_reader, "_PIECE", 1000)


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".mp3", ".aiff"])
@pytest.mark.parametrize("channels", [1, 2])
def test_any_part_of_any_format_is_that_of_the_whole_file(tmp_path: Path, suffix: str, channels: int) -> None:
    """Parts that are read in any order equal the file as soundfile reads it at once, with and without a loop."""
    path, rng = tmp_path / f"a{suffix}", np.random.default_rng(1)
    soundfile.write(path, noise(40_123, channels), RATE)
    whole = soundfile.read(path, dtype="float32", always_2d=True)[0]
    reader = SoundReader(path)
    try:
        assert (reader.rate, reader.channels, reader.length) == (RATE, channels, len(whole))
        within = 1e-6
        for loop in (False, True):
            for begin in rng.integers(-50_000, 90_000, 20):
                count = int(rng.integers(1, 3000))
                places = begin + np.arange(count)
                inside = loop | ((places >= 0) & (places < len(whole)))
                expected = np.where(inside[:, None], whole[places % len(whole)], 0)
                found = reader.read(int(begin), count, loop=loop)
                assert found is not None
                np.testing.assert_allclose(found, expected, atol=within)
    finally:
        reader.close()


@pytest.mark.parametrize(("suffix", "depth", "within"), [
    (".wav", "usual", 2**-15), (".wav", "24 bits", 2**-23), (".wav", "32 bits", 1e-7), (".wav", "float", 0),
    (".flac", "usual", 2**-15), (".flac", "24 bits", 2**-23), (".aiff", "float", 0),
    (".ogg", "usual", 0.1), (".mp3", "usual", 0.1),
])  # fmt: skip
@pytest.mark.parametrize("channels", [1, 2, 8])
def test_a_recording_has_every_sample_once(
    tmp_path: Path, suffix: str, depth: str, within: float, channels: int
) -> None:
    """A file that was written in parts of any size holds all samples, in the precision of its format."""
    path, x = tmp_path / f"a{suffix}", noise(5000, channels)
    if depth == "usual" and suffix in (".ogg", ".mp3"):
        x = 0.5 * np.sin(np.arange(5000)[:, None] / (20 + np.arange(channels))).astype(np.float32)
    if suffix == ".mp3" and channels == 8:
        with pytest.raises(PatchError, match=r"file a\.mp3 must be of a format that holds 8 channels at 8000 Hz"):
            SoundWriter(path, depth, RATE, channels)
        return
    writer = SoundWriter(path, depth, RATE, channels)
    for part in np.split(x, [1, 1, 800, 801, 4000]):
        writer.write(part, waits=True)
    assert not path.exists()
    writer.close()
    found, rate = soundfile.read(path, dtype="float32", always_2d=True)
    assert rate == RATE and writer.length == 5000 and writer.lost == 0
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    if suffix == ".mp3":
        assert abs(len(found) - 5000) < 3000  # the format rounds up to whole frames
        return
    assert found.shape == x.shape
    assert np.abs(found - x).max() <= within


def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    """An unknown suffix, a depth that the format lacks, and a file as its folder have one message each."""
    for name, depth, text in (
        ("a.txt", "usual", r"must end in \.wav"),
        ("a.flac", "float", "must be usual or 16 bits, 24 bits, got float"),
    ):
        with pytest.raises(PatchError, match=text):
            SoundWriter(tmp_path / name, depth, RATE, 1)
    (tmp_path / "file").touch()
    writer = SoundWriter(tmp_path / "file" / "a.wav", "usual", RATE, 1)
    writer.write(noise(10, 1), waits=True)
    with pytest.raises(PatchError, match=r"file .*file/a\.wav must be writable, got: "):
        writer.close()


@pytest.mark.parametrize("content", [b"", b"not a sound", b"RIFF\x04\0\0\0WAVE", None])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, content: bytes | None) -> None:
    """A missing, an empty and a broken file are named."""
    path = tmp_path / "a.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PatchError, match=r"sound file .*must .*"):
        SoundReader(path)


def test_a_recording_that_was_cut_off_is_read_to_its_end(tmp_path: Path) -> None:
    """A WAV whose header has no size yet is played."""
    path, x = tmp_path / "a.wav", noise(500, 1)
    soundfile.write(path, x, RATE, "FLOAT")
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = bytes(4)
    path.write_bytes(data)
    reader = SoundReader(path)
    found = reader.read(0, 500)
    reader.close()
    assert found is not None
    np.testing.assert_array_equal(found, x)


def test_what_is_not_decoded_is_not_waited_for(tmp_path: Path) -> None:
    """Without waiting, a part that is not decoded yet is None, and comes later."""
    path = tmp_path / "a.wav"
    soundfile.write(path, noise(50_000, 1), RATE)
    reader = SoundReader(path)
    try:
        for begin in (0, 40_000, 20_000):
            while reader.read(begin, 2500, waits=False) is None:
                pass
    finally:
        reader.close()


@pytest.mark.parametrize("seed", seeds(3))
def test_sound_between_samples(seed: int) -> None:
    """A sum of sines is the same at any position and at any speed; a frequency that the speed lifts too far is gone."""
    rng = np.random.default_rng(seed)
    frequencies, phases = rng.uniform(0.001, 0.4, 5), rng.uniform(0, 6, 5)

    def sound(at: Array) -> Array:
        return np.sin(2 * np.pi * frequencies * np.asarray(at)[:, None] + phases).sum(axis=1)

    samples = sound(np.arange(2000)).astype(np.float32)[:, None]
    for speed in (0.3, 0.9997, -0.9, 1.0):
        at = 1000 + rng.uniform() + np.arange(500) * speed
        np.testing.assert_allclose(interpolate(samples, at, speed)[:, 0], sound(at), atol=2e-3)
    at = 100 + np.arange(300) * 5.0
    fine = interpolate(samples, at, 5.0)[:, 0]
    low = frequencies < 0.085
    kept = np.sin(2 * np.pi * frequencies * at[:, None] + phases)[:, low].sum(axis=1)
    if not np.any((frequencies > 0.085) & (frequencies < 0.12)):
        np.testing.assert_allclose(fine, kept, atol=5e-3)
    whole = np.arange(100, 200.0)
    np.testing.assert_array_equal(interpolate(samples, whole, 1.0), samples[100:200])
    assert reach(5.0) == 5 * reach(1.0)


@pytest.mark.parametrize("seed", seeds(2))
def test_a_stream_in_pieces_is_the_stream(seed: int) -> None:
    """Resampling piece by piece, at a speed that changes, gives a sine that follows these speeds."""
    rng, stretch = np.random.default_rng(seed), Stretch(1)
    given, at, out = 0, 0.0, []
    wave = np.sin(0.3 * np.arange(300 * many(30))).astype(np.float32)[:, None]
    for _ in range(many(30)):
        count, speed = int(rng.integers(0, 200)), float(rng.uniform(0.995, 1.005))
        needed = stretch.needed(count, speed)
        stretch.add(wave[given : given + needed])
        given += needed
        found = stretch.take(count, speed)[:, 0]
        expected = np.sin(0.3 * (at + np.arange(count) * speed))
        inside = at + np.arange(count) * speed > 16
        np.testing.assert_allclose(found[inside], expected[inside], atol=1e-3)
        at += count * speed
        out.append(count)
    assert given - at < 40


def test_channels_are_mixed_repeated_and_padded() -> None:
    """Several channels become their mean, one becomes many, and missing ones are silent."""
    x = noise(10, 2)
    np.testing.assert_allclose(in_channels(x, 1)[:, 0], x.mean(axis=1), atol=1e-7)
    np.testing.assert_array_equal(in_channels(x[:, :1], 3), np.repeat(x[:, :1], 3, axis=1))
    np.testing.assert_array_equal(in_channels(x, 4), np.pad(x, ((0, 0), (0, 2))))
    assert in_channels(x, 2) is x
