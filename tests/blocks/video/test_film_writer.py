"""A film that was written is read by PyAV: the same pictures at the same times, with the sound beside them."""

import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.blocks.video.films import decoded, pictures
from warploom.blocks.video.films.codecs import check_encoding, choose_encoding
from warploom.blocks.video.films.film_writer import FilmWriter
from warploom.blocks.video.picture_writer import WAITING
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: For each film: codec, quality, and how far a picture may be off on average, in steps of 255.
FILMS = {
    "h264.mp4": ("H.264", "high", 8.0),
    "hevc.mp4": ("HEVC", "good", 10.0),
    "av1.webm": ("by file name", "high", 8.0),
    "prores.mov": ("by file name", "high", 1.0),
    "ffv1.mkv": ("FFV1", "good", 0.0),
    "ffv1.avi": ("by file name", "lossless", 0.0),
    "lossless.mp4": ("H.264", "lossless", 0.0),
    "lossless.mkv": ("HEVC", "lossless", 0.0),
}


def _rgba(path: Path) -> list[Array]:
    return [frame.to_ndarray(format="rgba") for _, frame in decoded(path)]


@pytest.mark.parametrize("name", FILMS)
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    """Each codec gives back all pictures at their times, as near as its quality promises."""
    codec, quality, near = FILMS[name]
    frames = pictures(12, 64, 48, 4)
    writer = FilmWriter(tmp_path / name, 64, 48, 24, codec=codec, quality=quality, at_once="lossless" in name)
    deep = "av1" in name or "prores" in name
    for frame in frames:
        assert writer.write(frame.astype(np.uint16) * 257 if deep else frame)
    writer.close()
    times = [start for start, _ in decoded(tmp_path / name)]
    np.testing.assert_allclose(times, np.arange(12) / 24, atol=0.001)
    channels = 4 if "prores" in name or "ffv1" in name else 3
    for made, frame in zip(_rgba(tmp_path / name), frames, strict=True):
        assert np.abs(made[..., :channels].astype(int) - frame[..., :channels]).mean() <= near


@pytest.mark.parametrize(("name", "codec"), [("film.mp4", "H.264"), ("film.mov", "ProRes"), ("film.mkv", "FFV1")])
def test_sound_is_beside_the_pictures(name: str, codec: str, tmp_path: Path) -> None:
    """A click that begins with a picture begins with it in the file too, within 5 ms."""
    writer = FilmWriter(tmp_path / name, 34, 18, 30, codec=codec, sound_rate=48000)
    samples = np.zeros((2, 48000), np.float32)
    samples[:, 24000:26400] = np.sin(np.arange(2400) / 5)
    for number, frame in enumerate(pictures(30, 34, 18, 4)):
        writer.write(frame.astype(np.uint16) * 257 if codec == "ProRes" else frame)
        writer.write_sound(samples[:, number * 1600 : (number + 1) * 1600])
    writer.close()
    assert decoded(tmp_path / name)[15][0] == pytest.approx(0.5, abs=0.001)
    with av.open(str(tmp_path / name)) as film:
        starts = [frame.time for frame in film.decode(video=0)]
    with av.open(str(tmp_path / name)) as film:
        parts = list(film.decode(audio=0))
    resampler = av.AudioResampler("fltp")
    played = np.concatenate([each.to_ndarray()[0] for part in parts for each in resampler.resample(part)])
    assert parts[0].time is not None and starts[0] == pytest.approx(0, abs=0.001)
    assert np.argmax(np.abs(played) > 0.3) / 48000 + parts[0].time == pytest.approx(0.5, abs=0.005)


def test_odd_sizes_get_another_row_and_column(tmp_path: Path) -> None:
    """H.264 repeats the last column and row of an odd size, and FFV1 keeps the size."""
    frames = pictures(3, 33, 17, 4)
    for name, size in (("film.mp4", (18, 34)), ("film.avi", (17, 33))):
        writer = FilmWriter(tmp_path / name, 33, 17, 30)
        for frame in frames:
            writer.write(frame)
        writer.close()
        assert _rgba(tmp_path / name)[2].shape[:2] == size


def test_a_picture_lasts_until_the_next_one(tmp_path: Path) -> None:
    """Pictures with numbers have the times of these numbers."""
    writer = FilmWriter(tmp_path / "film.mp4", 34, 18, 30)
    for frame, number in zip(pictures(4, 34, 18, 4), (0, 1, 5, 9), strict=True):
        writer.write(frame, number)
    writer.close()
    np.testing.assert_allclose([start for start, _ in decoded(tmp_path / "film.mp4")], np.array([0, 1, 5, 9]) / 30)


def test_late_pictures_are_dropped_or_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the encoder is busy, so many pictures wait; without waiting, others are dropped and not in the film."""
    writer = FilmWriter(tmp_path / "film.avi", 34, 18, 30)
    hold, original = threading.Event(), writer._encode
    monkeypatch.setattr(writer, "_encode", lambda *given: (hold.wait(), original(*given)))
    frames = pictures(30, 34, 18, 4)
    kept = [frame for frame in frames if writer.write(frame, wait=False)]
    assert WAITING <= len(kept) <= WAITING + 1
    hold.set()
    assert writer.write(frames[-1])
    writer.close()
    np.testing.assert_array_equal(_rgba(tmp_path / "film.avi"), [*kept, frames[-1]])


_CRASH = """
import os, sys, time
from pathlib import Path
from warploom.blocks.video.films.film_writer import FilmWriter
from tests.blocks.video.films import pictures
writer = FilmWriter(Path(sys.argv[1]), 34, 18, 30)
for frame in pictures(150, 34, 18, 4):
    writer.write(frame)
while writer.waiting:
    time.sleep(0.001)
os._exit(9)
"""


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm"])
def test_a_crash_leaves_a_playable_film(suffix: str, tmp_path: Path) -> None:
    """A process that ends in the middle of a film leaves all but the last two seconds of it."""
    path = tmp_path / f"film{suffix}"
    done = subprocess.run([sys.executable, "-c", _CRASH, path], cwd=Path(__file__).parents[3], env=dict(os.environ))
    assert done.returncode == 9
    assert len(decoded(path)) >= 60


def test_problems_are_named(tmp_path: Path) -> None:
    """A wrong suffix, a codec that the container can't hold, a quality it lacks and a file as its folder are named."""
    for name, codec, quality, text in (
        ("film.xyz", "by file name", "good", "film's file must end in one of .mp4"),
        ("film.mp4", "FFV1", "good", ".mp4 must hold H.264 or HEVC or AV1, got FFV1, which goes into .mkv, .avi"),
        ("film.mov", "ProRes", "lossless", "quality of ProRes must not be lossless"),
    ):
        with pytest.raises(PatchError, match=text):
            check_encoding(Path(name), codec, quality)
    with pytest.raises(PatchError, match=r"HEVC must be possible for a film of 48 x 32 pixels, got: .*below 64 x 64"):
        FilmWriter(tmp_path / "film.mp4", 48, 32, 30, codec="HEVC")
    assert not (tmp_path / "film.mp4").exists()
    writer = FilmWriter(tmp_path / "film.mp4", 48, 32, 30, codec="HEVC", at_once=True)  # it opens on its own thread
    with pytest.raises(PatchError, match="HEVC must be possible for a film of 48 x 32 pixels"):
        writer.close()
    assert not (tmp_path / "film.mp4").exists()
    (tmp_path / "file").touch()
    with pytest.raises(PatchError, match="must be writable, got: File exists"):
        FilmWriter(tmp_path / "file" / "film.mp4", 34, 18, 30)


def test_planes_of_all_even_sizes_are_what_is_encoded(tmp_path: Path) -> None:
    """Planes are taken as they are, whatever the size: FFmpeg converts none, and PyAV's own reader sees the same."""
    for width, height in ((2, 2), (34, 18), (66, 32), (128, 6)):
        planes = np.random.default_rng(width).integers(0, 256, (height * 3 // 2, width), np.uint8)
        made = choose_encoding(av, tmp_path / "a.mp4", "H.264", "high", width, height, Fraction(30), True)
        frame = made.frame_of(planes)
        assert (frame.width, frame.height, frame.format.name) == (width, height, "yuv420p")
        parts = [np.frombuffer(part, np.uint8).reshape(-1, part.line_size)[:, : part.width] for part in frame.planes]
        np.testing.assert_array_equal(np.concatenate([part.ravel() for part in parts]), planes.ravel())


def test_encoders_leave_the_scheduling_of_threads_as_it_is(tmp_path: Path) -> None:
    """SVT-AV1 would run at real-time priority, and the thread that opens it too, so kernels could not be stopped."""
    writer = FilmWriter(tmp_path / "film.webm", 64, 48, 30)
    policies = {os.sched_getscheduler(int(task.name)) for task in Path("/proc/self/task").iterdir()}
    writer.write(np.zeros((48, 64, 4), np.uint8))
    writer.close()
    assert policies == {os.SCHED_OTHER} == {os.sched_getscheduler(0)}
