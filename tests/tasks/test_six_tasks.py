"""Six tasks from an empty canvas, and the first hour of the book, by mouse and keys alone; the facts at the end."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.app.conftest import deletes_widgets, protects_overrides  # noqa: F401  # fixtures
from tests.fuzzing import FACTOR
from tests.tasks.hands import QtHand, XHand
from tests.tasks.places import Screen
from tests.tasks.player import Player
from warploom import Engine, ProfilingLevel
from warploom.app.documents.engines import Engines
from warploom.app.edits.organise.frames import frame_of
from warploom.app.window.main_window import MainWindow
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import load_patch
from warploom.engine.patch.regions import TOP

_SCRIPTS = Path(__file__).parent / "scripts"
_MEDIA = Path(__file__).parents[2] / "resources" / "media"
Play = Callable[[str], MainWindow]
_SLOW = pytest.mark.skipif(
    FACTOR == 1 and os.environ.get("QT_QPA_PLATFORM") != "xcb", reason="`make tasks` and `make fuzz` play all tasks"
)


@pytest.fixture
def play(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Plays the script of a task in a new window, and returns the window."""
    is_x = QGuiApplication.platformName() == "xcb"
    engines = Engines("host", None, in_process=False)

    def make_engine(patch: Patch, profiling: ProfilingLevel) -> Any:
        return engines.make(patch, profiling) if is_x else Engine(patch, "host", profiling=profiling)

    window = MainWindow(make_engine, tmp_path / "state")
    window.resize(1440, 900)
    window.showMaximized() if is_x else window.show()

    def play(name: str) -> MainWindow:
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        player = Player(Screen(window), XHand() if is_x else QtHand(), tmp_path)
        player.play(name, (_SCRIPTS / f"{name}.txt").read_text())
        sys.stdout.write(f"\n{name}: {player.score.gestures} gestures, {player.score.seconds:.1f} s\n")
        with qtbot.waitSignal(window.bridge.report) as told:
            pass
        assert told.args is not None and not told.args[0].failed
        assert window.problem_count.text() == "No problems"
        return window

    yield play
    monkeypatch.setattr("warploom.app.documents.dialogs.ask_about_changes", _discard)
    window.close()
    engines.close()
    block_folders.remove(tmp_path / "blocks")
    block_folders.reload([]).result()


def _discard(*_: object) -> Any:
    from warploom.app.documents.dialogs import UnsavedChoice

    return UnsavedChoice.DISCARD


def shown(window: MainWindow, viewer: str = "viewer") -> np.ndarray[Any, Any]:
    """Return the picture of a viewer."""
    pixels = window.viewers.viewer(viewer).picture.pixels
    assert pixels is not None
    return pixels


def connections(patch: Patch | None) -> set[str]:
    """Return the connections of a patch as text."""
    assert patch is not None
    return {str(connection) for connection in patch.connections}


def test_an_image_pipeline(play: Play, tmp_path: Path) -> None:
    """A picture is made, blurred by a slider, shown and saved."""
    window = play("image_pipeline")
    saved = load_patch(tmp_path / "pipeline.loom")
    assert connections(saved) == {"noise.out -> gaussian_blur.image", "gaussian_blur.out -> viewer.image"}
    assert saved.value("gaussian_blur", "sigma") > 15
    assert shown(window).shape == (48, 64, 4)
    assert 0 < shown(window)[..., 0].std() < 20


@_SLOW
def test_feedback_particles_with_an_lfo(play: Play) -> None:
    """Particles leave trails through a frame delay, and an LFO drives a parameter."""
    window = play("feedback_particles")
    assert connections(window.session.patch) == {
        "emitter.particles -> forces.particles",
        "forces.out -> integrate.particles",
        "integrate.out -> render_points.particles",
        "render_points.image -> mix.a",
        "mix.out -> frame_delay.x",
        "frame_delay.out -> mix.b",
        "mix.out -> viewer.image",
        "lfo.value -> emitter.lean",
    }
    assert shown(window).shape == (18, 32, 4)
    assert shown(window)[..., :3].any()


@_SLOW
def test_a_new_block_is_broken_and_mended(play: Play, tmp_path: Path) -> None:
    """A block is made with its kernel; a mistake is listed, and gone when it is mended at its line."""
    window = play("new_block")
    assert "make_float4(light, 0.5f * light" in (tmp_path / "blocks" / "rings_of_light.cu").read_text()
    assert connections(window.session.patch) == {"rings_of_light.out -> viewer.image"}
    assert shown(window).shape == (64, 64, 4)
    assert shown(window)[..., 0].std() > 50


@_SLOW
def test_forty_blocks_are_tidied(play: Play) -> None:
    """Forty blocks become three groups, each in a frame with a title and a comment; undo takes all of it back."""
    window = play("tidy")
    patch = window.session.patch
    assert patch is not None
    groups = [node for node in patch.nodes.values() if node.region == TOP]
    assert sorted(patch.title(group.id) for group in groups) == ["Morning", "Night", "Noon"]
    inside = [sum(node.region == group.id for node in patch.nodes.values()) for group in groups]
    assert sorted(inside) == [10 + 2, 15 + 2, 15 + 2]  # each group has two blocks for its ports
    notes = {frame.title: frame.comment for frame in map(partial(frame_of, patch), window.canvas.scene.frames.views)}
    assert notes == {"MORNING": "The first pictures", "NOON": "More of them", "NIGHT": "The last ten blocks"}


def test_a_wrong_pixel_is_traced(play: Play, tmp_path: Path) -> None:
    """An infinite pixel is followed from the result to the block that makes it, whose code is mended."""
    window = play("wrong_pixel")
    assert "light / (1 + abs(x - 16) + abs(y - 12))" in (tmp_path / "blocks" / "lamp.cu").read_text()
    assert shown(window).shape == (24, 32, 4)
    assert shown(window)[12, 16, :3].any()  # an infinite pixel is shown in black


@_SLOW
def test_two_kernels_are_compared(play: Play, tmp_path: Path) -> None:
    """The code before and after runs on the same input: one change is rolled back, the other one kept."""
    window = play("two_kernels")
    code = (tmp_path / "blocks" / "ripples.cu").read_text()
    assert "cosf(6.2831853f * rings * fabsf(" in code
    assert not window.files.drafts.all()


@pytest.fixture
def with_media(tmp_path: Path) -> None:
    """Has the media of a checkout in the folder of the test."""
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "media").symlink_to(_MEDIA)


@_SLOW
@pytest.mark.usefixtures("with_media")
def test_the_first_hour_of_the_book(play: Play, tmp_path: Path) -> None:
    """The gestures of the book's first hour make particles that move with music."""
    window = play("first_hour")
    saved = load_patch(tmp_path / "first_hour.loom")
    assert connections(saved) == {
        "play_audio.out -> bands.x",
        "bands.bass -> map.input",
        "map.value -> emitter.speed",
        "bands.out -> beat.x",
        "beat.beat -> envelope.input",
        "envelope.value -> render_points.exposure",
        "emitter.particles -> forces.particles",
        "forces.out -> integrate.particles",
        "integrate.out -> render_points.particles",
        "render_points.image -> glow.image",
        "glow.out -> viewer.image",
    }
    assert shown(window)[..., :3].max() > 200


@_SLOW
@pytest.mark.usefixtures("with_media")
def test_the_book_for_image_people(play: Play, tmp_path: Path) -> None:
    """The gestures of the tutorial make a study of a photo, and write it in linear light."""
    play("pictures")
    saved = load_patch(tmp_path / "study.loom")
    assert "expression.out -> gaussian_blur.image" in connections(saved)
    assert saved.value("expression", "warmth") > 0.6
    assert (tmp_path / "study.exr").stat().st_size > 100_000


@_SLOW
def test_the_book_for_gpu_engineers(play: Play, tmp_path: Path) -> None:
    """The gestures of the tutorial make a kernel, mend it, try it against its old version and keep the new one."""
    play("kernels")
    code = (tmp_path / "blocks" / "rings.cu").read_text()
    assert "rings * fabsf(u * u + v * v)" in code and "make_float4(light, 0.5f" in code
