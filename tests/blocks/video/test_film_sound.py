"""The sound track of a film, at any sample."""

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.blocks.video.films import encode, pictures
from warploom.blocks.io import decode_sound
from warploom.blocks.io.decode_sound import load_sound
from warploom.blocks.sound.sound_reader import SoundReader
from warploom.blocks.video.films.film_sound import FilmSound
from warploom.blocks.video.films.film_writer import FilmWriter
from warploom.engine.diagnostics import PatchError

RATE = 48000


@pytest.fixture(scope="module")
def sound() -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Two channels of a sweep, 2 s long."""
    time_s = np.arange(2 * RATE) / RATE
    return np.stack([np.sin(2 * np.pi * (200 * time_s + shift)) * 0.5 for shift in (0, 0.25)]).astype(np.float32)


@pytest.mark.parametrize(("name", "near"), [("film.avi", 1e-4), ("film.mp4", 0.03)])
def test_samples_are_those_of_the_track_after_any_seek(
    name: str, near: float, sound: np.ndarray[tuple[int, int], np.dtype[np.float32]], tmp_path: Path
) -> None:
    """A film's samples are those that were written, at their places, in order and after seeks."""
    writer = FilmWriter(tmp_path / name, 34, 18, 30, codec="H.264", sound_rate=RATE)
    for number, frame in enumerate(pictures(60, 34, 18, 4)):
        writer.write(frame)
        writer.write_sound(sound[:, number * 1600 : (number + 1) * 1600])
    writer.close()
    film = FilmSound(tmp_path / name)
    assert (film.samplerate, film.channels) == (RATE, 2)
    assert film.frames == pytest.approx(2 * RATE, abs=3000)
    for begin, count in ((4800, 10000), (14800, 5000), (60000, 2000), (20000, 30000), (0, 2000)):
        if film.tell() != begin:
            film.seek(begin)
        read = film.read(count)
        inside = slice(1200, None)  # the first samples of the track may fade in
        np.testing.assert_allclose(read[inside], sound.T[begin : begin + count][inside], atol=near)
    film.close()
    reader = SoundReader(tmp_path / name)
    played = reader.read(30000, 4000)
    reader.close()
    assert played is not None
    np.testing.assert_allclose(played, sound.T[30000:34000], atol=near)
    whole = load_sound(tmp_path / name, RATE, "left")
    np.testing.assert_allclose(whole[4000:80000], sound[0, 4000:80000], atol=near)


def test_a_film_without_sound_is_named(tmp_path: Path) -> None:
    """A film without a sound track is refused by name."""
    path = encode(tmp_path / "silent.mp4", pictures(3))
    with pytest.raises(PatchError, match=r"silent\.mp4 must be a readable sound"):
        SoundReader(path)


@pytest.mark.parametrize(
    ("name", "codec", "near"), [("a.m4a", "aac", 0.03), ("a.m4a", "alac", 1e-4), ("a.mka", "pcm_f32le", 1e-6)]
)
def test_a_container_without_pictures_is_a_sound(
    name: str,
    codec: str,
    near: float,
    sound: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Samples of M4A, as phones record, and of MKA are at their places, at once and in pieces."""
    with av.open(tmp_path / name, "w") as file:
        stream = file.add_stream(codec, rate=RATE)
        stream.layout = "stereo"
        kind = stream.codec.audio_formats[0].name  # type: ignore[union-attr, index]
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(sound), format="fltp", layout="stereo")
        frame.sample_rate, frame.time_base, frame.pts = RATE, Fraction(1, RATE), 0
        for part in av.AudioResampler(kind, "stereo", RATE, frame_size=1024).resample(frame):
            file.mux(stream.encode(part))  # type: ignore[union-attr, arg-type]
        file.mux(stream.encode(None))  # type: ignore[union-attr]
    held = (tmp_path / name).read_bytes()
    damaged, rng = tmp_path / f"b{name}", np.random.default_rng(5)
    for _ in range(25):
        at = held.find(b"moov") + int(rng.integers(900)) if name == "a.m4a" else int(rng.integers(900))
        damaged.write_bytes(held[:at] + bytes([rng.integers(256)]) + held[at + 1 :])
        with suppress(PatchError):
            assert len(load_sound(damaged, RATE, "right")) < 1 << 24
    copy, copied = FilmSound._copy, list[int]()

    def counted(film: FilmSound, samples: Any, begin: int) -> None:
        copied.append(len(film._held))
        copy(film, samples, begin)

    with monkeypatch.context() as patched:
        patched.setattr(decode_sound, "_PIECE", 4096)
        patched.setattr(FilmSound, "_copy", counted)
        whole = load_sound(tmp_path / name, RATE, "right")
    assert max(copied) < 4096 + 2 * 1024 + RATE // 10  # however long the track is
    np.testing.assert_allclose(whole[4000:80000], sound[1, 4000:80000], atol=near)
    assert len(whole) == pytest.approx(2 * RATE, abs=3000)
    reader = SoundReader(tmp_path / name)
    played = reader.read(70000, 4000)
    reader.close()
    assert played is not None
    late = 25 if name == "a.mka" else 1  # Matroska rounds times to 1 ms, so that a seek goes to a place near by
    off = [np.abs(played - sound.T[70000 + k : 74000 + k]).max() for k in range(1 - late, late)]
    assert min(off) < near
