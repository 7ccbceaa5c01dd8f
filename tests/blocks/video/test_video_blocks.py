"""Blocks that bring films, cameras, pictures and the screen into a patch, and record films."""

import errno
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import problems, run
from tests.blocks.video.films import decoded, encode, pictures
from tests.waiting import until
from warploom import Engine, Patch
from warploom.blocks.io.decode_image import load_linear
from warploom.blocks.video.films.film_source import FilmSource
from warploom.blocks.video.films.film_writer import FilmWriter
from warploom.blocks.video.films.frame_layout import layout_of
from warploom.blocks.video.image_sequence import find_pictures
from warploom.blocks.video.live_reader import LiveReader
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.drawings.pictures import encode_picture
from warploom.engine.protocol.messages import Seek

Array = np.ndarray[Any, Any]

FILMS: dict[str, dict[str, Any]] = {
    "usual.mp4": {},
    "turned.mp4": {"rotation": 90},
    "deep.mov": {"codec": "prores_ks", "pixel_format": "yuv422p10le"},
    "alpha.webm": {"codec": "libvpx-vp9", "pixel_format": "yuva420p"},
    "odd.mkv": {"codec": "ffv1", "pixel_format": "yuv420p"},
    "wide.mkv": {"codec": "ffv1", "pixel_format": "yuv420p"},
    "grey.mkv": {"codec": "ffv1", "pixel_format": "gray"},
    "rgb.avi": {"codec": "ffv1", "pixel_format": "bgr0"},
}


@pytest.mark.parametrize("name", FILMS)
def test_load_video_shows_each_frame(name: str, tmp_path: Path) -> None:
    """In each frame of the patch, Load Video's image is the film's frame of that time in linear light."""
    size = {"odd.mkv": (33, 17), "wide.mkv": (515, 9)}.get(name, (48, 32))
    path = encode(tmp_path / name, pictures(6, *size, channels=4 if "alpha" in name else 3), **FILMS[name])
    frames = [frame for _, frame in decoded(path)]
    layout = layout_of(frames[0], -int(frames[0].rotation))
    patch = Patch()
    film = patch.add("io.load_video", file=path, loop=False)
    with Engine(patch, device="host") as engine:
        for number in range(14):
            assert not engine.step().diagnostics
            expected = layout.to_linear(layout.pack(frames[min(number // 2, 5)]))
            np.testing.assert_allclose(engine.read(film["out"]), expected, atol=1e-5)
            assert bool(engine.read(film["is_new"])) == (number % 2 == 0 and number < 12)
            assert engine.read(film["position_s"]) == pytest.approx(min(number // 2, 5) / 30, abs=0.001)
        assert engine.read(film["length_s"]) == pytest.approx(0.2, abs=0.01)


def test_a_film_for_the_gpu_alone_says_why_the_cpu_decodes_it(film: Path) -> None:
    """With the decoder "GPU", an engine on the CPU warns and shows the film; the choice "automatic" is silent."""
    patch = Patch()
    block = patch.add("io.load_video", file=film)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        patch.set(block, decoder="GPU")
        (told,) = engine.step().diagnostics
        assert told.severity is Severity.WARNING
        assert told.message == "film must be decoded by the GPU, got an engine on the CPU; the CPU decodes it"
        assert engine.read(block["on_gpu"]) == 0


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A film of 10 frames a second whose pixels tell their frame: 20 times its number in each channel."""
    frames = [np.full((4, 6, 3), 20 * number, np.uint8) for number in range(10)]
    return encode(tmp_path / "numbers.avi", frames, "ffv1", "bgr0", rate=10)


def _numbers(patch: Patch, port: Any, frames: int, edits: dict[int, dict[str, Any]] | None = None) -> list[int]:
    """Return the numbers of the shown frames, of `film`; `edits` of the block happen before frames."""
    shown = []
    with Engine(patch, device="host", time_step_s=0.1) as engine:
        for number in range(frames):
            if edits and number in edits:
                patch.set(port.node, **edits[number])
            assert not engine.step().diagnostics
            shown.append(_number(engine.read(port)))
    return shown


def _number(picture: Array) -> int:
    red = float(picture[0, 0, 0])
    return round(255 * (12.92 * red if red < 0.0031 else 1.055 * red ** (1 / 2.4) - 0.055) / 20)


def test_speed_loop_clock_and_position(film: Path) -> None:
    """A film plays at any speed and backwards, around its end, by its own clock with pauses, and where it is put."""
    patch = Patch()
    block = patch.add("io.load_video", file=film)
    out = block["out"]
    assert _numbers(patch, out, 12) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    patch.set(block, speed=-2.0)
    assert _numbers(patch, out, 6) == [0, 8, 6, 4, 2, 0]
    patch.set(block, speed=1.0, loop=False, at=0.75)
    assert _numbers(patch, out, 4) == [7, 8, 9, 9]
    patch.set(block, clock="own", at=0.0, loop=True)
    edits = {3: {"playing": False}, 5: {"playing": True, "speed": -1.0}, 7: {"restart": True, "speed": 1.0}}
    assert _numbers(patch, out, 9, edits) == [0, 1, 2, 2, 2, 1, 0, 0, 1]
    patch.set(block, clock="position")
    assert _numbers(patch, out, 3, {0: {"at": 0.5}, 1: {"at": 0.21}, 2: {"at": 99.0}}) == [5, 2, 9]


def test_a_film_goes_on_from_a_saved_state(film: Path) -> None:
    """By its own clock, a film that goes on from a saved state shows the frames of a run from the start."""
    patch = Patch()
    block = patch.add("io.load_video", file=film, clock="own", speed=3.0)
    with Engine(patch, device="host", time_step_s=0.1) as engine:
        for _ in range(4):
            engine.step()
        state = engine.read_state()
        engine.step()
        expected = engine.read(block["out"])
    with Engine(patch, device="host", time_step_s=0.1) as engine:
        engine.put_state(state)
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(block["out"]), expected)
        assert engine.read(block["position_s"]) == pytest.approx(0.2)  # after 1.2 s of 1 s


@pytest.mark.parametrize("clock", ["patch", "own"])
def test_frames_that_are_gone_to_are_those_of_a_run(clock: str, film: Path) -> None:
    """A frame that is gone to from a kept state is that of a run from frame 0, also where both show one of the film."""
    patch = Patch()
    out = patch.add("io.load_video", file=film, clock=clock)["out"]
    patch.set_timeline(rate=10, length=99)
    expected = _numbers(patch, out, 46)
    with Engine(patch, device="host") as engine:
        engine.step()
        for frame in (40, 30, 45, 33, 30, 4, 30, 31):
            engine.post(Seek(frame, exact=True))
            while engine.step().frame < frame:
                pass
            assert _number(engine.read(out)) == expected[frame]


def test_a_film_that_plays_in_every_frame_records_those_of_a_run(film: Path, tmp_path: Path) -> None:
    """From the first to the last one, with the film's frames and with state, however fast the patch plays."""
    recorded = {}
    for name in ("steps", "plays"):
        patch = Patch()
        shown = patch.add("io.load_video", file=film)
        mixed, delayed = patch.add("image.mix"), patch.add("buffer.frame_delay")
        save = patch.add("io.save_video", file=tmp_path / f"{name}.avi", rate=10, recording=True)
        for source, target in ((shown["out"], "a"), (delayed["out"], "b")):
            patch.connect(source, mixed[target])
        patch.connect(mixed["out"], delayed["x"])
        patch.connect(mixed["out"], save["image"])
        patch.animate(mixed, "amount", [(0, 0.1, "linear"), (1, 0.9)])
        patch.set_timeline(rate=10, length=9, loop=False, every_frame=True)
        with Engine(patch, device="host") as engine:
            if name == "steps":
                for _ in range(9):
                    engine.step()
            else:
                engine.start(rate=1000)
                while engine.read(save["frames"]) < 9:
                    time.sleep(0.01)
                engine.stop()
        recorded[name] = [frame.to_ndarray(format="rgba") for _, frame in decoded(tmp_path / f"{name}.avi")]
    assert len(recorded["steps"]) == 9
    np.testing.assert_array_equal(recorded["plays"], recorded["steps"])


def test_a_film_that_takes_the_place_of_another_one_is_played(tmp_path: Path) -> None:
    """A film that is saved again is played from the same position, even at another size; a damaged one is named."""
    path, spare = tmp_path / "film.avi", tmp_path / "spare.avi"

    def save(first: int, size: int) -> None:
        frames = [np.full((size, size, 3), 20 * (first + number), np.uint8) for number in range(4)]
        encode(spare, frames, "ffv1", "bgr0", rate=10).replace(path)

    save(0, 4)
    patch = Patch()
    film = patch.add("io.load_video", file=path, clock="own")
    twin = patch.add("io.load_video", file=path, clock="position", at=0.2)
    with Engine(patch, device="host", time_step_s=0.1) as engine, Engine(patch, device="host") as unwatched:
        engine.watch_files([tmp_path])
        unwatched.step()

        def shown() -> list[int]:
            report = engine.step()
            assert not [item for item in report.diagnostics if item.severity is Severity.ERROR], report.diagnostics
            return [_number(engine.read(block["out"])) for block in (film, twin)]

        assert [shown(), shown()] == [[0, 2], [1, 2]]
        for first, size in ((4, 4), (8, 6)):
            number = [shown()[0]]
            save(first, size)
            until(lambda: number.append(shown()[0]) or number[-1] >= first)  # noqa: B023 - used at once
            assert [(after - before) % 4 for before, after in pairwise(number)] == [1] * (len(number) - 1)
            assert shown()[1] == first + 2
            assert engine.read(film["out"]).shape == (size, size, 4)
        path.write_bytes(b"no film")
        until(lambda: any("film.avi must be a readable film" in item.message for item in engine.step().diagnostics))
        assert _number(engine.read(twin["out"])) == 10


def test_a_film_plays_by_itself(film: Path) -> None:
    """While the engine plays, nobody waits: frames come, and their numbers grow."""
    patch = Patch()
    block = patch.add("io.load_video", file=film, clock="own", speed=2.0)
    positions: set[float] = set()
    with Engine(patch, device="host") as engine:
        engine.start()
        deadline = time.monotonic() + 20
        while len(positions) < 5 and time.monotonic() < deadline:
            positions.add(round(float(engine.read(block["position_s"])), 3))
            time.sleep(0.02)
        engine.stop()
    assert len(positions) >= 5


def test_save_video_records_while_it_is_asked_to(tmp_path: Path) -> None:
    """Frames in which `recording` is true are the film's, without loss; the next recording is another file."""
    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    image = patch.add("io.image_array")
    save = patch.add("io.save_video", file=tmp_path / "film.avi", rate=30)
    patch.connect(image["out"], save["image"])
    frames = pictures(12, 16, 12, 4)
    with Engine(patch, device="host") as engine:
        for number, frame in enumerate(frames):
            patch.set(save, recording=number in (2, 3, 4, 8, 9))
            patch.set(image, data=_linear(frame))
            assert not engine.step().diagnostics
    for name, part in (("film.avi", frames[2:5]), ("film-2.avi", frames[8:10])):
        made = [frame.to_ndarray(format="rgba") for _, frame in decoded(tmp_path / name)]
        np.testing.assert_array_equal(made, part)


def test_a_recording_that_fails_is_left_out_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame reports a full disk, also after the recording; no other film begins before the next one."""

    def encode_nothing(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    image = patch.add("io.image_array", data=np.zeros((8, 8, 4), np.float32))
    save = patch.add("io.save_video", file=tmp_path / "film.avi", recording=True)
    patch.connect(image["out"], save["image"])
    with Engine(patch, device="host") as engine:
        with monkeypatch.context() as full:
            full.setattr(FilmWriter, "_encode", encode_nothing)
            until(lambda: bool(engine.step().diagnostics))
            for recording in (True, True, True, False, False, False):
                patch.set(save, recording=recording)
                (told,) = engine.step().diagnostics
                assert "No space left on device" in told.message
        assert [path.name for path in tmp_path.iterdir()] == ["film.avi"]
        patch.set(save, recording=True)
        engine.step()
        assert not engine.step().diagnostics and not engine.step().diagnostics
    assert len(decoded(tmp_path / "film-2.avi")) == 3


def test_a_recording_that_fails_to_the_end_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The end of the run doesn't report again what the frames have reported."""
    (tmp_path / "file").touch()
    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    image = patch.add("io.image_array", data=np.zeros((8, 8, 4), np.float32))
    save = patch.add("io.save_video", file=tmp_path / "file" / "shot_##.png", recording=True)
    patch.connect(image["out"], save["image"])
    with Engine(patch, device="host") as engine:
        until(lambda: bool(engine.step().diagnostics))
        engine.step()
    assert len([record for record in caplog.records if "must be writable" in record.getMessage()]) == 1


@pytest.mark.parametrize("suffix", [".exr", ".png"])
def test_numbered_pictures_are_recorded(suffix: str, tmp_path: Path) -> None:
    """A name with # makes a picture of each frame, which Load Images plays; another recording overwrites none.

    The folder is made; EXR keeps all bits of the floats, except those that the product with alpha rounds.
    """
    frames, tolerance = pictures(3, 12, 8, 4), {".exr": 1e-7, ".png": 1e-3}[suffix]
    for name in (f"shot_###{suffix}", f"shot_###-2{suffix}"):
        patch = Patch()
        patch.path = tmp_path / "patch.loom"
        image = patch.add("io.image_array")
        save = patch.add("io.save_video", file=tmp_path / "shots" / f"shot_###{suffix}", recording=True)
        patch.connect(image["out"], save["image"])
        with Engine(patch, device="host") as engine:
            for frame in frames:
                patch.set(image, data=_linear(frame))
                assert not engine.step().diagnostics
        made = [load_linear(path) for path in find_pictures(tmp_path / "shots" / name)]
        np.testing.assert_allclose(made, [_linear(frame) for frame in frames], atol=tolerance)


@pytest.mark.parametrize("size", [(64, 48), (33, 17), (1, 1)])
def test_planes_are_the_picture(size: tuple[int, int], tmp_path: Path) -> None:
    """Planes that the device makes for an encoder are the picture; behind an odd size, its edge is repeated."""
    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    y, x = np.mgrid[: size[1], : size[0]]
    frame = np.stack([40 + 3 * x, 200 - 2 * x, 20 + 4 * y, np.full_like(x, 255)], -1).astype(np.uint8)
    image = patch.add("io.image_array", data=_linear(frame))
    save = patch.add("io.save_video", file=tmp_path / "film.mp4", recording=True)
    patch.connect(image["out"], save["image"])
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            assert not engine.step().diagnostics
    even = np.pad(frame, [(0, size[1] % 2), (0, size[0] % 2), (0, 0)], "edge")
    for _, made in decoded(tmp_path / "film.mp4"):
        difference = made.to_ndarray(format="rgb24").astype(int) - even[..., :3]
        assert np.abs(difference).max() <= 16
        assert np.abs(difference.mean((0, 1))).max() <= 2


def test_real_time_keeps_the_pace(tmp_path: Path) -> None:
    """In real time, frames of the patch that are longer than the film's last for several of these."""
    patch = Patch()
    patch.path = tmp_path / "patch.loom"
    image = patch.add("io.image_array", data=np.zeros((12, 16), np.float32))
    save = patch.add("io.save_video", file=tmp_path / "film.mp4", rate=30, timing="real time", recording=True)
    patch.connect(image["out"], save["image"])
    with Engine(patch, device="host", time_step_s=0.1) as engine:
        for _ in range(4):
            assert not engine.step().diagnostics
    np.testing.assert_allclose([start for start, _ in decoded(tmp_path / "film.mp4")], [0, 0.1, 0.2, 0.3], atol=1e-4)


def test_a_camera_is_shown_and_a_missing_one_named() -> None:
    """Webcam shows frames of its source, scaled to its size; a missing camera is a warning, and the patch runs."""
    patch = Patch()
    camera = patch.add("io.webcam", device="lavfi:color=red:size=40x24:rate=100", width=32, height=16)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        np.testing.assert_allclose(engine.read(camera["out"])[8, 16], (1, 0, 0, 1), atol=0.02)
        patch.set(camera, device="/dev/none")
        for _ in range(3):
            report = engine.step()
    assert ["/dev/none" in item.message for item in report.diagnostics] == [True]


def test_a_stream_is_shown_and_opened_again(tmp_path: Path) -> None:
    """A stream on a server is shown; when it breaks off, the block says so, and shows the next one."""
    path = encode(tmp_path / "stream.ts", [np.full((16, 16, 3), 255, np.uint8)] * 5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):  # the server was closed
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(path.read_bytes())

        threading.Thread(target=serve, daemon=True).start()
        patch = Patch()
        film = patch.add("io.load_video", address=f"tcp://127.0.0.1:{server.getsockname()[1]}")
        with Engine(patch, device="host") as engine:
            notices: list[str] = []
            while not notices:
                notices = [item.message for item in engine.step().diagnostics]
                np.testing.assert_allclose(engine.read(film["out"])[8, 8], 1, atol=0.02)
        assert "got its end; it is tried again" in notices[0]


def test_a_frame_that_came_before_a_stream_broke_off_is_shown_first(film: Path) -> None:
    """A short stream that ends before the first update is shown, too; then the reader says that it has ended."""
    source = FilmSource(str(film))
    source.close()
    reader = LiveReader(str(film), source.info.layout)
    until(lambda: reader._problem)
    newest = reader.newest(wait=True)
    assert newest is not None and newest[1] == 10
    with pytest.raises(PatchError, match="must go on, got its end"):
        reader.newest(wait=True)
    reader.close()


def _linear(pixels: Array) -> Array:
    shares = pixels / 255
    light = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    light[..., 3] = shares[..., 3]
    return light.astype(np.float32)


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    folder = tmp_path / "shots"
    folder.mkdir()
    for number in (1, 2, 10, 9):
        (folder / f"frame_{number}.exr").write_bytes(encode_picture(np.full((3, 5, 4), number, np.float32), ".exr"))
    (folder / "frame_3.png").write_bytes(encode_picture(np.full((3, 5, 4), 3, np.uint8), ".png"))
    return folder


def test_pictures_play_in_the_order_of_their_numbers(shots: Path) -> None:
    """Load Images plays a pattern's pictures by time, also backwards, and shows the one of an index."""
    patch = Patch()
    block = patch.add("io.load_images", files=shots / "frame_*.exr", rate=10.0)

    def shown(frames: int) -> list[float]:
        with Engine(patch, device="host", time_step_s=0.1) as engine:
            found = []
            for _ in range(frames):
                assert not engine.step().diagnostics
                found.append(float(engine.read(block["out"])[2, 4, 0]))
            assert engine.read(block["count"]) == 4
            return found

    assert shown(6) == [1, 2, 9, 10, 1, 2]
    patch.set(block, rate=-10.0)
    assert shown(3) == [1, 10, 9]
    patch.set(block, by="index", index=2.7)
    assert shown(1) == [9]
    patch.set(block, index=50.0, loop=False)
    assert shown(1) == [10]


def test_a_picture_of_another_size_is_named(shots: Path) -> None:
    """The last picture that fits stays; the error says what can be done."""
    (shots / "frame_2.exr").write_bytes(encode_picture(np.full((4, 2, 4), 2, np.float32), ".exr"))
    patch = Patch()
    block = patch.add("io.load_images", files=shots, by="index", sizes="same")
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(block, index=1.0)
        (problem,) = engine.step().diagnostics
        assert problem.message.startswith("frame_2.exr must have the first picture's size, 5 x 3, got 2 x 4; leave it")
        assert engine.read(block["out"])[2, 4, 0] == 1
        patch.set(block, index=2.0)
        assert not engine.step().diagnostics


def test_pictures_of_other_sizes_are_fitted(tmp_path: Path) -> None:
    """They keep their shape and colours, in the middle of a transparent picture of the first one's size."""
    ramp = np.linspace(0, 1, 40, dtype=np.float32)[:, None, None].repeat(20, 1).repeat(4, 2)
    ramp[..., 3] = 1
    clear = np.zeros((30, 60, 4), np.float32)
    clear[:, :30] = (0.5, 2.0, 0.25, 1.0)
    pictures = {"1": np.full((20, 30, 4), 1, np.float32), "2": ramp, "3": clear, "4": np.full((1, 1, 4), 0.5)}
    for name, pixels in pictures.items():
        (tmp_path / f"{name}.exr").write_bytes(encode_picture(pixels.astype(np.float32), ".exr"))
    patch = Patch()
    block = patch.add("io.load_images", files=tmp_path, by="index")
    with Engine(patch, device="host") as engine:
        shown = []
        for index in range(4):
            patch.set(block, index=float(index))
            assert not engine.step().diagnostics
            shown.append(engine.read(block["out"]))
    assert (shown[0] == 1).all()
    assert not shown[1][:, :10].any() and not shown[1][:, 20:].any()  # 20 x 40 becomes 10 x 20
    np.testing.assert_allclose(
        shown[1][1:-1, 10:20, 0], ramp[:, 0, 0].reshape(20, 2).mean(1)[1:-1, None].repeat(10, 1), atol=0.01
    )
    assert (shown[1][:, 10:20, 3] == 1).all()
    assert not shown[2][:2].any() and not shown[2][17:].any() and not shown[2][:, 17:].any()  # 30 x 15
    np.testing.assert_allclose(
        shown[2][2:17, :13], np.float32((0.5, 2.0, 0.25, 1.0)) + np.zeros((15, 13, 4)), atol=1e-3
    )
    colour = shown[2][2:17, 13:17]
    assert np.abs(colour[colour[..., 3] > 0][:, :3] - (0.5, 2.0, 0.25)).max() < 1e-3  # no dark edge
    np.testing.assert_allclose(shown[3][:, 5:25], 0.5, atol=1e-3)  # 1 x 1 becomes 20 x 20
    assert not shown[3][:, :5].any() and not shown[3][:, 25:].any()


def test_patterns_and_their_problems(shots: Path) -> None:
    """A # stands for a digit at least, a folder for all of its pictures; what fits nothing is named."""
    names = [path.name for path in find_pictures(shots)]
    assert names == ["frame_1.exr", "frame_2.exr", "frame_3.png", "frame_9.exr", "frame_10.exr"]
    assert [path.name for path in find_pictures(shots / "frame_##.exr")] == ["frame_10.exr"]
    patch = Patch()
    patch.add("io.load_images", files=shots / "none_####.png")
    assert "images must be there, got none that fit" in problems(patch)[0][2]
    patch = Patch()
    patch.add("io.load_images", files=shots / "frame_1.exr")
    assert "which is neither" in problems(patch)[0][2]


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A virtual display with an empty screen."""
    if shutil.which("Xvfb") is None:
        pytest.skip("needs Xvfb")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-noreset", "-displayfd", str(write), "-screen", "0", "64x48x24"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    monkeypatch.setenv("DISPLAY", f":{number}")
    yield number
    server.terminate()
    server.wait()


def test_a_part_of_the_screen_is_shown(display: str) -> None:
    """Screen shows its part; a part beyond the monitor is refused."""
    patch = Patch()
    screen = patch.add("io.screen", left=10, top=20, width=54, height=28)
    np.testing.assert_array_equal(run(patch, screen["out"])[0], np.broadcast_to((0, 0, 0, 1), (28, 54, 4)))
    patch.set(screen, width=55)
    assert "part must lie on the monitor of 64 x 48 pixels, got 55 x 28 at 10, 20" in problems(patch)[0][2]


def test_without_a_screen_the_block_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a display, Screen names what is missing."""
    monkeypatch.setenv("DISPLAY", ":98765")
    patch = Patch()
    patch.add("io.screen")
    assert "screen must be there" in problems(patch)[0][2]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "file must name a film"),
        ({"file": "/nowhere/film.mp4"}, "film must exist, got /nowhere/film.mp4"),
        ({"address": "host/stream"}, "address must be like rtsp://host/stream"),
    ],
)
def test_what_a_film_lacks_is_named(values: dict[str, str], text: str) -> None:
    """Load Video names a missing file and a wrong address."""
    patch = Patch()
    patch.add("io.load_video", **values)
    assert text in problems(patch)[0][2]
