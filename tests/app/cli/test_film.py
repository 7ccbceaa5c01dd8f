"""`warploom run --out film.mp4`: the frames of a port as a film, with sound."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import soundfile

from tests.app.cli.cli_support import Warploom
from warploom import Engine, Patch
from warploom.app.cli.film_out import FilmOut
from warploom.app.exit_status import INTERRUPTED, PATCH_WRONG, USAGE_WRONG
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import load_patch, save_patch


@pytest.fixture
def patch_file(tmp_path: Path) -> Path:
    """A patch whose viewer shows an image that becomes brighter, by a stop a second."""
    patch = Patch()
    image = patch.add("io.image_array", data=np.full((6, 8), 0.3, np.float32))
    tone = patch.add("image.tone", node_id="tone")
    clock = patch.add("value.time")
    viewer = patch.add("io.viewer", node_id="viewer")
    patch.connect(image["out"], tone["image"])
    patch.connect(clock["seconds"], tone["exposure"])
    patch.connect(tone["out"], viewer["image"])
    path = tmp_path / "brighter.loom"
    save_patch(patch, path)
    return path


def frames_of(path: Path) -> tuple[list[float], list[np.ndarray[Any, Any]]]:
    """Return the times of a film's frames, and these as RGB."""
    with av.open(str(path)) as film:
        frames = list(film.decode(video=0))
    return [float(frame.time or 0) for frame in frames], [frame.to_ndarray(format="rgb24") for frame in frames]


def test_frames_become_a_film(warploom: Warploom, patch_file: Path) -> None:
    """The film has the asked frames, at their rate, as the viewer's port holds them."""
    film = patch_file.parent / "film.avi"
    result = warploom("run", patch_file, "--device", "host", "--frames", "3-6", "--rate", 10, "--out", film, "--json")
    assert result.status == 0, result.err
    assert [Path(each["path"]) for each in result.json["outputs"]] == [film]
    times, pictures = frames_of(film)
    np.testing.assert_allclose(times, [0, 0.1, 0.2, 0.3], atol=1e-6)
    patch = load_patch(patch_file)
    with Engine(patch, device="host", time_step_s=0.1) as engine:
        light = []
        for _ in range(7):
            engine.step()
            light.append(engine.read(PortRef("tone", "out"))[0, 0, 0])
    expected = 255 * (1.055 * np.array(light[3:]) ** (1 / 2.4) - 0.055)
    np.testing.assert_allclose([picture[0, 0, 0] for picture in pictures], expected, atol=0.6)
    assert len({int(value) for value in expected}) > 1


def test_another_port_is_filmed(warploom: Warploom, patch_file: Path) -> None:
    """With --port, any image is filmed; the film is played by the usual time step without a rate."""
    film = patch_file.parent / "film.mp4"
    result = warploom("run", patch_file, "--device", "host", "--frames", 3, "--port", "image_array.out", "--out", film)
    assert result.status == 0, result.err
    assert f"wrote {film}" in result.out.replace("\n", "")
    assert frames_of(film)[0] == pytest.approx([0, 1 / 60, 2 / 60])


def test_an_interrupt_finishes_the_film(warploom: Warploom, patch_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl+C, the film has the frames up to there, and the command says how many."""
    take, film, taken = FilmOut.take, patch_file.parent / "film.mp4", []

    def interrupted(self: FilmOut, client: Any, report: Any) -> None:
        take(self, client, report)
        taken.append(client)
        if len(taken) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(FilmOut, "take", interrupted)
    result = warploom("run", patch_file, "--device", "host", "--frames", 100, "--out", film)
    assert result.status == INTERRUPTED
    assert "ends after 4 frames" in result.err
    assert len(frames_of(film)[0]) == 4


def test_what_cannot_be_filmed_is_named(warploom: Warploom, patch_file: Path) -> None:
    """A patch without a viewer, a port that is no image, a wrong port, and --port without a film are refused."""
    film = patch_file.parent / "film.mp4"
    result = warploom("run", patch_file, "--port", "time.seconds", "--out", film, "--device", "host")
    assert result.status == PATCH_WRONG and "must hold an image" in result.err
    assert warploom("run", patch_file, "--port", "none.out", "--out", film).status == USAGE_WRONG
    assert warploom("run", patch_file, "--port", "tone.out").status == USAGE_WRONG
    patch = Patch()
    patch.add("io.array")
    save_patch(patch, patch_file)
    result = warploom("run", patch_file, "--out", film)
    assert result.status == PATCH_WRONG and "must have one viewer" in result.err


def test_a_film_has_the_sound_that_the_patch_plays(warploom: Warploom, patch_file: Path) -> None:
    """The blocks Audio Out are mixed by their volumes, also driven ones, from the film's first frame on."""
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, (30000, 2)).astype(np.float32)
    soundfile.write(patch_file.parent / "noise.wav", noise, 48000, "FLOAT")
    patch = load_patch(patch_file)
    volume = patch.add("value.slider", setting=0.5)
    for channels, loudness in ((2, 1.5), (1, 0.0)):
        player = patch.add("io.play_audio", file="noise.wav", channels=channels)
        speaker = patch.add("io.audio_out", volume=loudness)
        patch.connect(player["out"], speaker["x"])
        if not loudness:
            patch.connect(volume["value"], speaker["volume"])
    save_patch(patch, patch_file)
    film = patch_file.parent / "film.mov"
    result = warploom("run", patch_file, "--device", "host", "--frames", "3-12", "--rate", 25, "--out", film)
    assert result.status == 0, result.err
    resampler = av.AudioResampler("fltp")
    with av.open(str(film)) as opened:
        parts = [each.to_ndarray() for frame in opened.decode(audio=0) for each in resampler.resample(frame)]
    expected = noise * 1.5 + noise.mean(axis=1, keepdims=True) * 0.5
    np.testing.assert_allclose(np.concatenate(parts, 1), expected[3 * 1920 : 13 * 1920].T, atol=1e-5)
    assert len(frames_of(film)[0]) == 10
