"""A film's reader gives the right frame at the right time, as PyAV decodes the film from its start to its end."""

import builtins
import os
import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.blocks.video.films import decoded, encode, pictures
from tests.fuzzing import many
from warploom.blocks.sound.sound_reader import SoundReader
from warploom.blocks.video.films.film_reader import FilmReader
from warploom.blocks.video.films.film_source import FilmSource, load_av
from warploom.blocks.video.films.frame_layout import FrameLayout, layout_of
from warploom.engine.diagnostics import PatchError

_UNEVEN = np.cumsum(np.random.default_rng(0).integers(1, 90, 30)).tolist()
_LOSSLESS = {"codec": "ffv1", "pixel_format": "bgr0"}
FILMS: dict[str, dict[str, Any]] = {
    "h264.mp4": {},
    "rate.mkv": {"rate": Fraction(30000, 1001)},
    "prores.mov": {"codec": "prores_ks", "pixel_format": "yuv422p10le"},
    "ffv1.mkv": _LOSSLESS,
    "ffv1.avi": _LOSSLESS,
    "alpha.webm": {"codec": "libvpx-vp9", "pixel_format": "yuva420p"},
    "uneven.mp4": {"times": _UNEVEN, "time_base": Fraction(1, 1000)},
    "uneven.mkv": {"times": _UNEVEN, "time_base": Fraction(1, 1000)},
    "stream.ts": {},
    "turned.mp4": {"rotation": 90},
    "few_keys.mkv": {"gop_size": 300},
}


@contextmanager
def reading(path: Path | str) -> Iterator[FilmReader]:
    reader = FilmReader(str(path))
    try:
        yield reader
    finally:
        reader.close()


@pytest.mark.parametrize("name", FILMS)
def test_the_right_frame_at_the_right_time(name: str, tmp_path: Path) -> None:
    """At any time, after seeks and at any speed, the frame is the last one that starts by then, byte for byte."""
    channels = 4 if name == "alpha.webm" else 3
    path = encode(tmp_path / name, pictures(30, channels=channels), **FILMS[name])
    expected = decoded(path)
    starts = np.array([start for start, _ in expected])
    tick = expected[0][1].time_base
    assert tick is not None
    tolerance = min(float(tick) / 2, 0.0005)  # a file's times are rounded to its ticks
    random_times = random.Random(name)
    end = float(starts[-1]) + 0.1
    forward = np.arange(0, end, 1 / 60).tolist()
    asked = [(random_times.uniform(0, end), random_times.choice((-1, 0, 0.5, 1, 3))) for _ in range(many(25))]
    asked += [(each, 1) for each in forward] + [(each, 3) for each in forward[::3]] + [(e, -1) for e in forward[::-1]]
    with reading(path) as reader:
        layout = reader.info.layout
        packed = [layout.pack(frame) for _, frame in expected]
        for time_s, speed in asked:
            shown = reader.frame_at(time_s, True, speed=speed, loop=random_times.random() < 0.5)
            assert shown is not None
            number = max(0, int(np.searchsorted(starts, time_s + tolerance, "right")) - 1)
            assert shown[1] == pytest.approx(starts[number], abs=1e-6), (time_s, speed)
            np.testing.assert_array_equal(shown[0], packed[number])
        assert reader.length_s == pytest.approx(end - 0.1 + 1 / 30, abs=0.1)


@pytest.mark.parametrize("name", ["h264.mp4", "prores.mov", "alpha.webm"])
def test_without_a_decoder_of_the_gpu_the_cpu_decodes(name: str, tmp_path: Path) -> None:
    """A film that no GPU decodes is decoded by the CPU, and the reason is kept."""
    path = encode(tmp_path / name, pictures(12, channels=4 if name == "alpha.webm" else 3), **FILMS[name])
    source = FilmSource(str(path), gpu=99)
    assert not source.is_on_gpu and source.why_not_gpu
    expected = decoded(path)
    for _ in range(2):
        for start, frame in expected:
            read = source.read()
            assert read is not None and read[0] * source.tick_s == pytest.approx(start, abs=1e-6)
            np.testing.assert_array_equal(source.info.layout.pack(read[1]), source.info.layout.pack(frame))
        assert source.read() is None
        source.seek(0)
    source.close()


def test_frames_come_without_waiting(tmp_path: Path) -> None:
    """While a film plays without waiting, each frame appears soon, and none is older than the one before."""
    path = encode(tmp_path / "film.mp4", pictures(20))
    with reading(path) as reader:
        last = -1.0
        for number in range(20):
            for _ in range(2000):
                shown = reader.frame_at(number / 30)
                if shown is not None and shown[1] == pytest.approx(number / 30, abs=1e-4):
                    break
                time.sleep(0.001)
            assert shown is not None and shown[1] > last
            last = shown[1]
        assert reader.frame_at(100, True) == reader.frame_at(19 / 30, True)


def test_a_film_is_upright(tmp_path: Path) -> None:
    """A film that names a rotation has the picture, width and height of the upright film."""
    frames = pictures(2, 16, 8)
    path = encode(tmp_path / "turned.mp4", frames, "libx264rgb", "rgb24", rotation=90, options={"crf": "0"})
    with reading(path) as reader:
        shown = reader.frame_at(0, True)
        assert shown is not None
        picture = reader.info.layout.to_linear(shown[0])
    assert (reader.info.layout.width, reader.info.layout.height) == (8, 16)
    np.testing.assert_allclose(_encoded(picture), np.rot90(frames[0]), atol=0.01)  # 90 degrees counter-clockwise


_SOURCE = np.indices((12, 16)).transpose(1, 2, 0).astype(np.uint8) * 13


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    "pixel_format", ["yuv444p", "yuva444p10le", "yuv444p12le", "yuv422p", "gray", "gbrp", "gbrap16le"]
)
def test_colours_are_those_of_the_matrix_and_range(pixel_format: str, full: bool) -> None:
    """A frame's linear light is what FFmpeg's own conversion to RGB gives, for each matrix and range."""
    av = load_av()
    rgb = np.dstack([_SOURCE, 200 - _SOURCE[..., :1] // 2]) if pixel_format != "gray" else _SOURCE[..., :1].repeat(3, 2)
    for matrix, number in (("ITU709", 1), ("ITU601", 5), ("BT2020", 9)):
        source = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
        frame = source.reformat(format=pixel_format, dst_colorspace=matrix, dst_color_range="JPEG" if full else "MPEG")
        if pixel_format[0] == "y":
            frame.colorspace, frame.color_range = number, 2 if full else 1
        layout = layout_of(frame, 0)
        light = layout.to_linear(layout.pack(frame))
        flat = 40.0 if pixel_format == "yuv422p" else 3.0  # half of the colours lie between
        np.testing.assert_allclose(_encoded(light), rgb, atol=flat)


@pytest.mark.parametrize("pixel_format", ["rgb24", "bgra", "nv12", "p010le", "rgb48le", "ya8", "yuyv422", "rgb565le"])
def test_every_pixel_format_is_read(pixel_format: str) -> None:
    """Formats that mix their components within a plane give the same picture as those that don't, each time."""
    av = load_av()
    rgb = np.full((6, 10, 3), (200, 90, 60), np.uint8) if pixel_format != "ya8" else np.full((6, 10, 3), 90, np.uint8)
    frame = av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format=pixel_format, dst_colorspace="ITU601")
    layout = layout_of(frame, 0)
    packed = layout.pack(frame)
    np.testing.assert_allclose(_encoded(layout.to_linear(packed)), rgb, atol=9)
    for _ in range(300):
        np.testing.assert_array_equal(layout.pack(frame), packed)


def test_bright_films_have_the_light_of_their_curves() -> None:
    """The code of 203 cd/m² in PQ and in HLG is 1, and wide primaries become those of Rec. 709."""
    for transfer, code in ((16, 0.58069), (18, 0.75)):
        layout = FrameLayout(1, 1, 0, "gbrp10le", 10, True, transfer=transfer, primaries=9, is_full_range=True)
        white = np.full(3, round(code * 1023), np.uint16).view(np.uint8)
        np.testing.assert_allclose(layout.to_linear(white)[0, 0], (1, 1, 1, 1), rtol=0.02)
    red = FrameLayout(1, 1, 0, "gbrp", 8, True, transfer=8, primaries=9, is_full_range=True)
    light = red.to_linear(np.array([0, 0, 255], np.uint8))[0, 0]
    np.testing.assert_allclose(light[:3], (1.6605, -0.1246, -0.0182), atol=2e-4)  # ITU-R BT.2087


def test_what_is_no_film_is_named(tmp_path: Path) -> None:
    """A missing file, a damaged one, one without pictures, a pipe and a folder are named, each with the reason."""
    (tmp_path / "folder.mp4").mkdir()
    os.mkfifo(tmp_path / "pipe.mp4")  # opening it would wait for a writer
    for name in ("pipe.mp4", "folder.mp4"):
        with pytest.raises(PatchError, match=rf"film .*{name} must be a readable film, got: it is not a file"):
            FilmSource(str(tmp_path / name))
        with pytest.raises(PatchError, match=rf"sound file .*{name} must be a readable sound, got: it is not a file"):
            SoundReader(tmp_path / name)
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(b"nothing of a film" * 100)
    for name, text in ((tmp_path / "none.mp4", "must exist"), (damaged, "must be a readable film, got: Invalid data")):
        with pytest.raises(PatchError, match=f"film .*{re.escape(name.name)} {text}|film must exist"):
            FilmSource(str(name))
    with pytest.raises(PatchError, match="no picture in it"):
        FilmSource(str(Path(__file__).parents[3] / "resources/media/dawn.wav"))


def test_titles_in_other_codes_and_unknown_codecs(tmp_path: Path) -> None:
    """A text that is no UTF-8 doesn't keep a film from playing; pictures that nobody can decode are named."""
    path = encode(tmp_path / "a.mp4", pictures(3))
    held = path.read_bytes()
    assert b"Lavf" in held and b"avc1" in held
    path.write_bytes(held.replace(b"Lavf", b"\xff\xfe\xe9\x80"))
    source = FilmSource(str(path))
    assert sum(iter(lambda: source.read() is not None, False)) == 3
    source.close()
    path.write_bytes(held.replace(b"avc1", b"zzz1"))
    with pytest.raises(PatchError, match=r"a\.mp4 must be a readable film, got: pictures of an unknown codec"):
        FilmSource(str(path))


def test_times_in_disorder_leave_no_moment_without_a_frame(tmp_path: Path) -> None:
    """A film whose frames come out of order, and that claims to be shorter, shows some frame at any time."""
    path, times = tmp_path / "a.mkv", [*range(0, 900, 33), 1013, 933, 967]
    with load_av().open(str(path), "w") as container:
        stream: Any = container.add_stream("ffv1", rate=30)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "bgr0"
        frames = [load_av().VideoFrame.from_ndarray(frame, format="rgb24") for frame in pictures(len(times))]
        packets = [packet for frame in (*frames, None) for packet in stream.encode(frame)]
        for number, (packet, time_ms) in enumerate(zip(packets, times, strict=True)):
            packet.pts, packet.dts, packet.time_base = time_ms, number, Fraction(1, 1000)
            container.mux(packet)
    path.write_bytes(path.read_bytes().replace(b"00:00:01.046", b"00:00:01.000"))
    with ThreadPoolExecutor(1) as waiting, reading(path) as reader:
        for time_s in (0.0, 0.99, 0.95, 0.1, 5.0, 0.92, 0.5):
            for speed in (1.0, -1.0):
                shown = waiting.submit(reader.frame_at, time_s, True, speed=speed).result(60)
                assert shown is not None and shown[1] <= time_s + 0.001


def test_a_film_whose_first_frame_has_no_time(tmp_path: Path) -> None:
    """It begins at 0, and the first frame is shown there, also after others."""
    path = encode(tmp_path / "a.ts", pictures(6))
    held = bytearray(path.read_bytes())
    at = held.index(b"\0\0\1\xe0")  # the header of the first frame: its flags say whether it has a time
    assert held[at + 7] & 0xC0
    held[at + 7] &= 0x3F
    path.write_bytes(held)
    with ThreadPoolExecutor(1) as waiting, reading(path) as reader:
        for time_s in (0.0, 0.1, 0.0):
            shown = waiting.submit(reader.frame_at, time_s, True).result(60)
            assert shown is not None and shown[1] <= time_s + 0.001


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyAV, the message has the command that installs it."""
    original = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name == "av":
            raise ImportError("No module named 'av'")
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(PatchError, match=re.escape("pip install 'warploom[media]'")):
        FilmSource("film.mp4")


def _encoded(light: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return sRGB from 0 to 255 for the colours of linear light, by IEC 61966-2-1."""
    colours = np.clip(light[..., :3].astype(np.float64), 0, 1)
    return 255 * np.where(colours <= 0.0031308, 12.92 * colours, 1.055 * colours ** (1 / 2.4) - 0.055)
