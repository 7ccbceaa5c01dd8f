"""Sound files: what is read of them, and what is said about those that can't be."""

import os
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import wavfile

from blocks.io.decode_sound import load_sound
from engine import Engine, Patch
from engine.diagnostics import PatchError
from tests.fuzzing import many

Array = np.ndarray[Any, Any]
RATE = 8000


def tone(frequency: float, count: int = 4000, rate: int = RATE) -> Array:
    return 0.5 * np.sin(2 * np.pi * frequency * np.arange(count) / rate)


@pytest.mark.parametrize(
    ("dtype", "scale", "middle"),
    [("u1", 128, 128), ("i2", 2**15, 0), ("i4", 2**31, 0), ("f4", 1, 0), ("f8", 1, 0)],
)
def test_sounds_of_every_type_are_the_same(tmp_path: Path, dtype: str, scale: int, middle: int) -> None:
    """Whole numbers come to lie between -1 and 1."""
    path, x = tmp_path / "a.wav", tone(440)
    stored = x * scale + middle if dtype[0] == "f" else np.round(x * scale) + middle
    wavfile.write(path, RATE, stored.astype(dtype))
    found = load_sound(path, RATE, "mix")
    assert (found.dtype, found.shape) == (np.float32, x.shape) and not found.flags.writeable
    np.testing.assert_allclose(found, x, atol=0.51 / max(scale, 2**20) + (0.004 if dtype == "u1" else 2e-5))


def test_24_bits_and_several_channels(tmp_path: Path) -> None:
    """Left, right and their mean; a file with one channel gives that one."""
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
    """A tone below both limits stays the same tone."""
    path = tmp_path / "a.wav"
    wavfile.write(path, RATE, tone(440).astype(np.float32))
    found = load_sound(path, rate, "mix")
    assert len(found) == -(-4000 * rate // RATE)
    inside = slice(rate // 50, -rate // 50)
    np.testing.assert_allclose(found[inside], tone(440, len(found), rate)[inside], atol=2e-3)


def test_a_saved_file_is_read_again(tmp_path: Path) -> None:
    """The same file is not, as long as it stays as it is."""
    path = tmp_path / "a.wav"
    for second, value in ((1, 0.25), (2, 0.5)):
        wavfile.write(path, RATE, np.full(8, value, np.float32))
        os.utime(path, (second, second))
        assert load_sound(path, RATE, "mix")[0] == value
    assert load_sound(path, RATE, "mix") is load_sound(path, RATE, "mix")


@pytest.mark.parametrize("content", [b"", b"not a sound", b"RIFF\x04\0\0\0WAVE", b"RIFF\xff\0\0\0WAVEfmt \x10\0\0\0"])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    """The file is empty, no sound, or a sound that ends early."""
    path = tmp_path / "broken.wav"
    path.write_bytes(content)
    with pytest.raises(PatchError, match=r"sound file .*broken\.wav must be a readable WAV file"):
        load_sound(path, RATE, "mix")


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    """Whatever bytes are wrong, nothing but a PatchError is raised."""
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
            assert "must be a readable WAV file" in str(problem)


def test_a_missing_file_is_named_and_no_file_is_asked_for(tmp_path: Path) -> None:
    """The node says which file and what to do, and the frame goes on."""
    patch = Patch()
    load, empty = patch.add("io.load_audio", file=tmp_path / "gone.wav"), patch.add("io.load_audio")
    with Engine(patch, device="host") as engine:
        texts = {problem.node: problem.message for problem in engine.step().diagnostics}
    assert str(tmp_path / "gone.wav") in texts[load.id] and "choose another file" in texts[load.id]
    assert texts[empty.id] == "file must name a sound, got nothing"
