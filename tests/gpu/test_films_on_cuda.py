"""Films that the GPU's video decoder decodes: the pictures of the CPU's decoder, in files and in a patch."""

import ctypes
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.blocks.video.films import decoded, encode, pictures
from warploom import Engine, Patch
from warploom.api import LentMemory
from warploom.blocks.video.films.film_reader import FilmReader
from warploom.engine.blocktypes.shared_device import SharedDevices
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device

pytestmark = pytest.mark.gpu
FILMS: dict[str, dict[str, Any]] = {
    "h264.mp4": {},
    "full_range.mp4": {"pixel_format": "yuvj420p"},
    "hevc.mkv": {"codec": "libx265", "options": {"x265-params": "log-level=none"}},
    "deep.mp4": {"codec": "libx265", "pixel_format": "yuv420p10le", "options": {"x265-params": "log-level=none"}},
    "vp9.webm": {"codec": "libvpx-vp9"},
    "av1.mkv": {"codec": "libsvtav1"},
}


@pytest.fixture(autouse=True, scope="module")
def nvdec() -> None:
    """The driver's library of the video decoder; containers without the capability "video" lack it."""
    try:
        ctypes.CDLL("libnvcuvid.so.1")
    except OSError as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("name", FILMS)
def test_the_gpu_decodes_the_frames_of_the_cpu(cuda: Device, name: str, tmp_path: Path) -> None:
    """Played and after seeks, each frame that the GPU decodes is, byte for byte, that of the CPU's decoder."""
    path = encode(tmp_path / name, pictures(40, 322, 198), **FILMS[name])
    expected = decoded(path)
    reader = FilmReader(str(path), 0, SharedDevices(cuda).share)
    try:
        layout = reader.info.layout
        if name == "av1.mkv" and not reader.is_on_gpu:
            pytest.skip(f"not every GPU decodes AV1: {reader.why_not_gpu}")
        assert reader.is_on_gpu, reader.why_not_gpu
        order = [*range(40), *random.Random(name).choices(range(40), k=20)]
        for number in order:
            shown = reader.frame_at(expected[number][0] + 0.005, True)
            assert shown is not None and shown[1] == pytest.approx(expected[number][0], abs=1e-6)
            assert isinstance(shown[0], LentMemory)  # it has stayed on the GPU
            found = np.empty(layout.size_bytes, np.uint8)
            cuda.read(shown[0].memory, found)
            np.testing.assert_array_equal(found, layout.pack(expected[number][1]), err_msg=f"frame {number}")
    finally:
        reader.close()


def test_damage_does_not_end_a_film(cuda: Device, tmp_path: Path) -> None:
    """At any time, a damaged film has a frame where the CPU's decoder has one, whichever decoder shows it."""
    path = encode(tmp_path / "a.mp4", pictures(40, 320, 192))
    held, draw = path.read_bytes(), random.Random(5)
    for _ in range(12):
        harmed = bytearray(held)
        for _ in range(40):
            harmed[draw.randrange(2000, len(held) - 3000)] = draw.randrange(256)
        path.write_bytes(harmed)
        for reader in (FilmReader(str(path)), FilmReader(str(path), 0, SharedDevices(cuda).share)):
            try:
                assert all(reader.frame_at(time_s, True) is not None for time_s in (0.0, 1.2, 0.5, 0.1, 0.9))
            finally:
                reader.close()


def test_a_film_may_outlast_the_device(tmp_path: Path) -> None:
    """A reader keeps the context that it shares until it ends, which may be after the device is closed."""
    path = encode(tmp_path / "a.mp4", pictures(40, 320, 192))
    for _ in range(3):
        device = open_device("cuda:0")
        reader = FilmReader(str(path), 0, SharedDevices(device).share)
        assert reader.frame_at(0.5, True) is not None and reader.is_on_gpu
        device.close()
        assert reader.frame_at(0.1, True) is not None and reader.is_on_gpu
        reader.close()
        reader._thread.join(30)
        assert not reader._thread.is_alive()


def test_a_patch_on_the_gpu_decodes_there(cuda: Device, tmp_path: Path) -> None:
    """Load Video uses the GPU's decoder where there is one, says so, and shows the frames of the CPU's decoder."""
    path = encode(tmp_path / "film.mp4", pictures(6, 320, 192))
    patch = Patch()
    films = {decoder: patch.add("io.load_video", file=path, decoder=decoder) for decoder in ("automatic", "GPU", "CPU")}
    with Engine(patch, cuda) as engine:
        for _ in range(10):
            assert not engine.step().diagnostics
            found = {decoder: engine.read(film["out"]) for decoder, film in films.items()}
            np.testing.assert_array_equal(found["automatic"], found["CPU"])
            np.testing.assert_array_equal(found["GPU"], found["CPU"])
        assert [bool(engine.read(film["on_gpu"])) for film in films.values()] == [True, True, False]


def test_what_the_gpu_cannot_decode_is_decoded_by_the_cpu(cuda: Device, tmp_path: Path) -> None:
    """ProRes, and H.264 with 4:4:4 colours, fall back to the CPU; only the choice "GPU" warns, with the codec."""
    deep = encode(tmp_path / "prores.mov", pictures(3, 320, 192), "prores_ks", "yuv422p10le")
    full = encode(tmp_path / "full.mp4", pictures(3, 320, 192), "libx264", "yuv444p")
    for path, text in ((deep, "prores, yuv422p10le"), (full, "h264, yuv444p")):
        patch = Patch()
        film = patch.add("io.load_video", file=path)
        with Engine(patch, cuda) as engine:
            assert not engine.step().diagnostics and not engine.read(film["on_gpu"])
            before = engine.read(film["out"])
            patch.set(film, decoder="GPU")
            (told,) = engine.step().diagnostics
            assert text in told.message and told.message.endswith("; the CPU decodes it")
            np.testing.assert_array_equal(engine.read(film["out"]), before)
