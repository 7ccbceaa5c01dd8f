"""Sound files: their samples, and the errors of unreadable files."""

import io
import os
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from scipy.io import wavfile

from tests.fuzzing import many, seeds
from warploom import Engine, Patch
from warploom.blocks.io.decode_sound import load_sound, read_sound
from warploom.engine.diagnostics import PatchError
from warploom.engine.types import Array

RATE = 8000


def tone(frequency: float, count: int = 4000, rate: int = RATE) -> Array:
    return 0.5 * np.sin(2 * np.pi * frequency * np.arange(count) / rate)


@pytest.mark.parametrize(
    ("dtype", "scale", "middle"),
    [("u1", 128, 128), ("i2", 2**15, 0), ("i4", 2**31, 0), ("f4", 1, 0), ("f8", 1, 0)],
)
def test_sounds_of_every_type_are_the_same(tmp_path: Path, dtype: str, scale: int, middle: int) -> None:
    """Integers of each size are scaled to between -1 and 1, and agree with the floats."""
    path, x = tmp_path / "a.wav", tone(440)
    stored = x * scale + middle if dtype[0] == "f" else np.round(x * scale) + middle
    wavfile.write(path, RATE, stored.astype(dtype))
    found = load_sound(path, RATE, "mix")
    assert (found.dtype, found.shape) == (np.float32, x.shape) and not found.flags.writeable
    np.testing.assert_allclose(found, x, atol=0.51 / max(scale, 2**20) + (0.004 if dtype == "u1" else 2e-5))


def test_24_bits_and_several_channels(tmp_path: Path) -> None:
    """The left channel, the right one or their mean can be chosen; a single channel stands for all three."""
    path = tmp_path / "a.wav"
    left, right = tone(300), tone(700)
    whole = np.round(np.stack([left, right], axis=1) * 2**23).astype("<i4")
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 3, RATE, len(left), "NONE", ""))
        file.writeframes(whole.view(np.uint8).reshape(-1, 4)[:, :3].tobytes())
    for channel, expected in (("left", left), ("right", right), ("mix", (left + right) / 2)):
        np.testing.assert_allclose(load_sound(path, RATE, channel), expected, atol=2e-7)
    wavfile.write(tmp_path / "mono.wav", RATE, left.astype(np.float32)[:, None])
    np.testing.assert_allclose(load_sound(tmp_path / "mono.wav", RATE, "right"), left, atol=1e-7)


@pytest.mark.parametrize("rate", [4000, 11025, 16000, 44100])
def test_another_rate_keeps_pitch_and_length(tmp_path: Path, rate: int) -> None:
    """A sound at another rate keeps its duration, and a tone in it keeps its frequency."""
    path = tmp_path / "a.wav"
    wavfile.write(path, RATE, tone(440).astype(np.float32))
    found = load_sound(path, rate, "mix")
    assert len(found) == -(-4000 * rate // RATE)
    inside = slice(rate // 50, -rate // 50)
    np.testing.assert_allclose(found[inside], tone(440, len(found), rate)[inside], atol=2e-3)


def test_a_saved_file_is_read_again(tmp_path: Path) -> None:
    """A changed file is read again, and an unchanged one comes from the cache."""
    path = tmp_path / "a.wav"
    for second, value in ((1, 0.25), (2, 0.5)):
        wavfile.write(path, RATE, np.full(8, value, np.float32))
        os.utime(path, (second, second))
        assert load_sound(path, RATE, "mix")[0] == value
    assert load_sound(path, RATE, "mix") is load_sound(path, RATE, "mix")


@pytest.mark.parametrize("content", [b"", b"not a sound", b"RIFF\x04\0\0\0WAVE", b"RIFF\xff\0\0\0WAVEfmt \x10\0\0\0"])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    """The error for a file that is empty, is no sound or ends before its samples names the file."""
    path = tmp_path / "broken.wav"
    path.write_bytes(content)
    with pytest.raises(PatchError, match=r"sound file .*broken\.wav must be a readable sound"):
        load_sound(path, RATE, "mix")


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    """Random damage to a file leads to a sound or a PatchError."""
    path, rng = tmp_path / "a.wav", np.random.default_rng(7)
    wavfile.write(path, RATE, tone(440, 50).astype(np.int16))
    sound = path.read_bytes()
    for _ in range(many(300)):
        broken = bytearray(sound[: rng.integers(1, len(sound) + 1)])
        for place in rng.integers(0, min(48, len(broken)), rng.integers(0, 3)):
            broken[place] = rng.integers(256)
        path.write_bytes(broken)
        try:
            assert load_sound(path, RATE, "mix").ndim == 1
        except PatchError as problem:
            assert "must be a readable sound" in str(problem)


def test_a_missing_file_is_named_and_no_file_is_asked_for(tmp_path: Path) -> None:
    """A missing file is named with a remedy, and a block without a file says so."""
    patch = Patch()
    load, empty = patch.add("io.load_audio", file=tmp_path / "gone.wav"), patch.add("io.load_audio")
    with Engine(patch, device="host") as engine:
        texts = {problem.node: problem.message for problem in engine.step().diagnostics}
    assert str(tmp_path / "gone.wav") in texts[load.id] and "choose another file" in texts[load.id]
    assert texts[empty.id] == "file must name a sound, got nothing"


def wav(
    samples: Array, rate: int = RATE, *, kind: int = 1, after: bytes = b"", before: bytes = b"", **fields: int
) -> bytes:
    """Return a WAV of (samples, channels), written from its specification; header `fields` may be wrong."""
    channels, size = samples.shape[1], samples.dtype.itemsize
    right = {"bytes_a_second": rate * channels * size, "frame": channels * size, "bits": 8 * size}
    right |= {"data": samples.nbytes}
    field = right | fields
    form = struct.pack("<HHIIHH", kind, channels, rate, field["bytes_a_second"], field["frame"], field["bits"])
    data = b"data" + struct.pack("<I", field["data"]) + samples.tobytes()
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(form)) + form + before + data + after
    return b"RIFF" + struct.pack("<I", field.get("riff", len(body))) + body


@pytest.mark.parametrize("seed", seeds(15))
def test_wav_of_every_type_and_size(seed: int) -> None:
    """Integers are scaled by half their range, and floats keep their bits, for any number of channels."""
    rng = np.random.default_rng(seed)
    dtype, shape = (
        str(rng.choice(["u1", "<i2", "<i4", "<f4", "<f8"])),
        (int(rng.integers(1, 70)), int(rng.integers(1, 8))),
    )
    if dtype[1] == "f":
        samples = (rng.normal(size=shape) * 10.0 ** rng.integers(-5, 5, shape)).astype(dtype)
        samples[rng.random(shape) < 0.1] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
        expected = samples.astype(np.float32)
    else:
        info = np.iinfo(dtype)
        samples = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        half = 2.0 ** (info.bits - 1)
        expected = ((samples - half if dtype == "u1" else samples) / half).astype(np.float32)
    _, found = read_sound(wav(samples, int(rng.integers(1, 200_000)), kind=3 if dtype[1] == "f" else 1))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"bytes_a_second": value} for value in (0, 1, 7, 2**32 - 1)),
        *({"data": size, "riff": riff} for size in (0, 2**32 - 1, 100_000) for riff in (0, 4, 36, 2**32 - 1)),
        *({"data": 0}, {"riff": 0}, {"data": 2**32 - 1}, {"frame": 0}, {"frame": 7}),
    ],
)
@pytest.mark.parametrize("count", [1, 50, 5001])
def test_a_header_that_was_never_finished_is_read_as_players_do(wrong: dict[str, int], count: int) -> None:
    """Samples are read although the header's sizes are 0 or the largest number, as a killed recorder leaves them."""
    samples = np.random.default_rng(count).integers(-(2**15), 2**15, (count, 2)).astype("<i2")
    rate, found = read_sound(wav(samples, before=b"LIST" + struct.pack("<I", 3) + b"abc\0", **wrong))
    assert rate == RATE
    np.testing.assert_array_equal(found, (samples / 2**15).astype(np.float32))


def test_a_sound_of_no_samples_is_not_its_tags() -> None:
    """A sound whose header says that it has no samples is refused, even if tags follow."""
    tags = b"LIST" + struct.pack("<I", 4) + b"INFO" + b"id3 " + struct.pack("<I", 2) + b"xx"
    for after in (b"", tags):
        with pytest.raises(ValueError, match="no samples"):
            read_sound(wav(np.zeros((0, 1), "<i2"), after=after))


@pytest.mark.parametrize(
    ("rate", "message"),
    [(0, "a rate of 0 Hz"), (2**31 - 1, "a rate of 2147483647 Hz, which must be from 1 to 1000000")],
)
def test_a_rate_that_cannot_be_is_said(rate: int, message: str, tmp_path: Path) -> None:
    """A file with an impossible sample rate is refused, and the message names the rate."""
    (tmp_path / "a.wav").write_bytes(wav(np.ones((9, 1), "<i2"), rate, bytes_a_second=9))
    with pytest.raises(PatchError, match=f"must be a readable sound, got: {message}; save it again as WAV or FLAC"):
        load_sound(tmp_path / "a.wav", RATE, "mix")


def test_a_sound_that_would_grow_beyond_memory_is_refused(tmp_path: Path) -> None:
    """Converting a sound from 1 Hz to 384000 Hz is refused, with the number of samples."""
    (tmp_path / "a.wav").write_bytes(wav(np.ones((5000, 1), "<i2"), 1))
    with pytest.raises(PatchError, match="5000 samples at 1 Hz, more than 1073741824 at 384000 Hz"):
        load_sound(tmp_path / "a.wav", 384000, "mix")


@pytest.mark.parametrize(
    ("kind", "subtype", "error"),
    [
        ("FLAC", "PCM_24", 1e-6),
        ("AIFF", "PCM_16", 4e-5),
        ("OGG", "VORBIS", 0.05),
        ("MP3", None, 0.05),
        ("AIFF", "FLOAT", 0),
    ],
)
def test_other_formats(kind: str, subtype: str | None, error: float) -> None:
    """A tone is read from other formats, within their losses."""
    x = tone(440, 20000, 44100).astype(np.float32)
    file = io.BytesIO()
    soundfile.write(file, x, 44100, format=kind, subtype=subtype)
    rate, found = read_sound(file.getvalue())
    assert (rate, found.shape[1]) == (44100, 1)
    np.testing.assert_allclose(found[5000:15000, 0], x[5000:15000], atol=error)
